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
    assert client.ask("get_commands")["data"]["commands"][-1:] == [
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


# --- commands and files of a template

COMMIT = (
    "---\nallowed-tools: Bash(echo:*), Bash(touch:*)\n---\nState: !`echo one > made; cat made`\n"
    "Said: !`echo $1`\n```!\necho two\necho three\n```\nNow write it.\n"
)


def prompt_of(server: Any) -> str:
    return user_texts(server.requests[0])[-1]


def test_own_template_runs_its_commands(zot: Zot, serve: Any) -> None:
    write(zot.home / ".claude", "commit.md", COMMIT)
    server = serve([Say("committed")])
    ran = zot("-p", "/commit '; touch injected' !`touch typed`")
    assert ran.code == 0 and ran.err == ""
    text = prompt_of(server)
    assert text.startswith("State: one\nSaid: ; touch injected\ntwo\nthree\nNow write it.")
    assert not (zot.project / "injected").exists() and not (zot.project / "typed").exists()


def test_arguments_never_run_inside_a_substitution(zot: Zot, serve: Any) -> None:
    write(zot.home / ".claude", "deep.md", 'Found: !`echo "$(echo got $1)" and "$ARGUMENTS"`')
    server = serve([Say("done")])
    zot("-p", "/deep '7; touch injected' $(touch injected)")
    assert prompt_of(server) == "Found: got 7; touch injected and 7; touch injected $(touch injected)"
    assert not (zot.project / "injected").exists()


def test_failed_template_command_shows_its_status(zot: Zot, serve: Any) -> None:
    write(zot.home / ".claude", "bad.md", "Tests: !`echo red; exit 3`")
    server = serve([Say("done")])
    zot("-p", "/bad")
    assert "red" in prompt_of(server) and "[exit 3]" in prompt_of(server)


def test_project_template_commands_need_trust(zot: Zot, serve: Any) -> None:
    (zot.project / "a.txt").write_text("the text")
    write(zot.project / ".claude", "look.md", "---\nallowed-tools: Bash\n---\n!`cat a.txt` !`touch made`")
    server = serve([Say("one")])
    zot("-p", "/look")
    text = prompt_of(server)
    assert "the text [not run: it is a command of an untrusted project; allow it with --trust-project]" in text
    assert not (zot.project / "made").exists()
    server = serve([Say("two")])
    zot("-p", "--trust-project", "/look")
    assert (zot.project / "made").exists() and "not run" not in prompt_of(server)


def test_template_commands_obey_the_mode_and_deny_rules(zot: Zot, serve: Any) -> None:
    write(
        zot.home / ".claude", "do.md", "---\nallowed-tools: Bash(touch:*)\n---\n!`touch made` !`touch other; echo x >y`"
    )
    server = serve([Say("one")])
    zot("-p", "--permission-mode", "plan", "/do")
    assert not (zot.project / "made").exists() and "plan mode" in prompt_of(server)
    server = serve([Say("two")])
    zot("-p", "--permission-mode", "ask", "/do")
    assert (zot.project / "made").exists() and not (zot.project / "other").exists()
    assert "requires approval" in prompt_of(server)
    (zot.project / ".claude").mkdir()
    (zot.project / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash(touch:*)"]}}')
    (zot.project / "made").unlink()
    serve([Say("three")])
    zot("-p", "/do")
    assert not (zot.project / "made").exists()


def test_terminal_asks_about_project_template_commands(zot: Zot, serve: Any, open_zot: Any) -> None:
    write(zot.project / ".claude", "make.md", "Made: !`touch made; echo yes`")
    server = serve([Say("done with it"), Say("done again")])
    terminal = open_zot()
    terminal.submit("/make")
    terminal.wait_for("requested by the template /make")
    terminal.type("1")
    terminal.wait_for("done with it")
    assert (zot.project / "made").exists() and prompt_of(server) == "Made: yes"


def test_files_named_in_a_template_are_attached(zot: Zot, serve: Any) -> None:
    (zot.home / "secret.txt").write_text("private")
    (zot.project / "src").mkdir()
    (zot.project / "src" / "a.py").write_text("print(1)\n")
    (zot.project / "b.py").write_text("print(2)\n")
    write(zot.project / ".zot", "check.md", "Review @src/a.py and $ARGUMENTS, not ~ @~/secret.txt or x@y.z.")
    server = serve([Say("reviewed")])
    zot("-p", "/check @b.py")
    text = prompt_of(server)
    assert '<file path="src/a.py">\nprint(1)\n</file>' in text and '<file path="b.py">\nprint(2)\n</file>' in text
    assert "private" not in text and "outside the project" in text


def test_recorded_template_commands_replay(zot: Zot, serve: Any) -> None:
    write(zot.home / ".claude", "state.md", "State: !`echo fine`")
    serve([Say("noted")])
    assert zot("-p", "--record", "run.zotrec", "/state").code == 0
    ran = zot("replay", "run.zotrec", "--verify", model=False)
    assert ran.code == 0, ran.err + ran.out
