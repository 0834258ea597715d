"""Prompt templates in the real program: a slash and a name become a prompt, in every mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.terminal.conftest import open_zot
from tests.terminal.scripts import user_texts
from zot.sdk import Runtime

__all__ = ["open_zot"]

FIX = "---\ndescription: Fix one issue\nargument-hint: [number]\n---\nFix issue $1, with $ARGUMENTS.\n"


def write(folder: Path, name: str = "fix.md", text: str = FIX) -> None:
    (folder / "commands" / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / "commands" / name).write_text(text)


@pytest.mark.parametrize(
    ("mode", "place"),
    [("-p", ".zot"), ("-p", ".claude"), ("-p", "home"), ("-p", "user"), ("--json", ".zot"), ("--stream", ".zot")],
)
def test_template_name_expands_to_template(zot: Zot, serve: Any, mode: str, place: str) -> None:
    folders = {"home": zot.home / "zot", "user": zot.home / ".claude"}
    write(folders.get(place, zot.project / place))
    server = serve([Say("fixed")])
    ran = zot(mode, "/fix 12 care")
    assert ran.code == 0, ran.err
    assert user_texts(server.requests[0]) == ["Fix issue 12, with 12 care."]


def test_path_is_a_plain_prompt(zot: Zot, serve: Any) -> None:
    write(zot.project / ".zot")
    server = serve([Say("a")])
    zot("-p", "/fix/12 is a path")
    assert [user_texts(request) for request in server.requests] == [["/fix/12 is a path"]]


def test_piped_text_follows_template_arguments(zot: Zot, serve: Any) -> None:
    write(zot.project / ".claude", "sub/sum.md", "Sum up:\n$ARGUMENTS")
    server = serve([Say("sum")])
    zot("-p", "/sub:sum briefly", stdin="a long text\n")
    assert user_texts(server.requests[0]) == ["Sum up:\nbriefly\na long text"]


def test_template_model_answers_this_prompt_only(zot: Zot, serve: Any) -> None:
    write(zot.project / ".zot", "cheap.md", "---\nmodel: haiku\n---\nDo it")
    write(zot.project / ".zot", "odd.md", "---\nmodel: gpt-nobody\n---\nDo it")
    server = serve([Say("one"), Say("two"), Say("three")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.prompt("/cheap")
    client.prompt("hello")
    client.prompt("/odd")
    models = [request.json["model"] for request in server.requests]
    assert "haiku" in models[0] and "haiku" not in models[1] and models[2] == models[1]


def test_a_client_lists_and_runs_them(zot: Zot, serve: Any) -> None:
    write(zot.project / ".zot")
    server = serve([Say("fixed"), Say("again")])
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.ask("hello", protocol_version=1, capabilities=["commands"])
    assert client.ask("get_commands")["data"]["commands"] == [
        {"name": "fix", "description": "Fix one issue", "extension": "", "arguments": "[number]"}
    ]
    assert client.ask("run_command", name="fix", args="7")["data"] == {"action": "prompt", "started": True}
    client.until("done")
    assert user_texts(server.requests[0]) == ["Fix issue 7, with 7."]
    assert client.ask("run_command", name="nope")["success"] is False


async def test_sdk_expands_templates(zot: Zot, serve: Any) -> None:
    write(zot.project / ".zot")
    server = serve([Say("fixed")])
    async with Runtime(
        provider="anthropic", base_url=server.url, api_key="k", cwd=zot.project, home=zot.home / "zot"
    ) as runtime:
        assert await runtime.ask("/fix 3") == "fixed"
    assert user_texts(server.requests[0]) == ["Fix issue 3, with 3."]


def test_terminal_lists_completes_and_expands_templates(zot: Zot, serve: Any, open_zot: Any) -> None:
    write(zot.project / ".zot")
    write(zot.project / ".claude", "speckit.plan.md", "Plan $ARGUMENTS")
    server = serve([Say("fixed it"), Say("planned it")])
    terminal = open_zot()
    terminal.type("/fi")
    terminal.wait_for("Fix one issue")
    terminal.press("ctrl+u")
    terminal.submit("/fix 12")
    terminal.wait_for("fixed it")
    terminal.submit("/speckit.plan all")
    terminal.wait_for("planned it")
    assert user_texts(server.requests[0]) == ["Fix issue 12, with 12."]
    assert user_texts(server.requests[1])[-1] == "Plan all"
