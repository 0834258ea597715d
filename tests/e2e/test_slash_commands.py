"""Slash commands of extensions, templates and skills in the modes without a screen (issue 29.20)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen, write_extension
from tests.fakes.model_server import Say
from tests.fakes.rpc_client import FakeRpcClient
from tests.terminal.scripts import user_texts
from zot.errors import UsageError, ZotError
from zot.sdk import ExtDisplay, Runtime

# One command that answers as its arguments say, and one that never answers.
GO = """
hello(); send(type="register_command", name="go", description="goes"); send(type="register_command", name="hang")
ready()
def run(f):
    if f["name"] == "go": send(type="command_response", id=f["id"], **json.loads(f["args"]))
serve(command_invoked=run)
"""
SHOW = {"action": "display", "display": "local: 12:00\nutc: 11:00"}
TOOL = {"action": "tool_prompt", "prompt": "look", "tool_name": "bash", "tool_args": {"command": "echo here"}}
PANEL = {"action": "open_panel", "open_panel": {"id": "p", "lines": ["one"]}}


def go(answer: dict[str, Any]) -> str:
    return f"/go {json.dumps(answer)}"


@pytest.fixture
def extension(tmp_path: Path) -> str:
    return str(write_extension(tmp_path, "mine", GO))


@pytest.fixture
def rpc(zot: Zot, extension: str) -> Iterator[Callable[..., FakeRpcClient]]:
    clients: list[FakeRpcClient] = []

    def start(*capabilities: str) -> FakeRpcClient:
        argv = zot.argv(["rpc", "--ext", extension, *zot.endpoint(True)])
        clients.append(FakeRpcClient(argv, zot.env(), zot.project))
        clients[-1].ask("hello", capabilities=list(capabilities))
        return clients[-1]

    yield start
    for client in clients:
        client.kill()


def template(zot: Zot, name: str = "fix") -> None:
    (zot.project / ".zot/commands").mkdir(parents=True, exist_ok=True)
    (zot.project / f".zot/commands/{name}.md").write_text("Fix issue $1.")


# --- commands that submit a prompt


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
@pytest.mark.parametrize("action", ["prompt", "insert"])
def test_command_of_extension_submits_its_text(zot: Zot, serve: Any, extension: str, mode: str, action: str) -> None:
    """issue 29.20: the text takes the place of the command; without an editor inserted text is submitted."""
    server = serve([Say("done it")])
    ran = zot(mode, "--ext", extension, go({"action": action, action: "go west"}))
    assert ran.code == 0 and "done it" in ran.out, ran.err
    assert user_texts(server.requests[0]) == ["go west"]


def test_tool_prompt_runs_its_tool_first(zot: Zot, serve: Any, extension: str) -> None:
    server = serve([Say("seen")])
    assert zot("-p", "--ext", extension, go(TOOL)).out == "seen\n"
    assert "here" in json.dumps(server.requests[0].json["messages"])


def test_prompt_of_extension_names_no_template(zot: Zot, serve: Any, extension: str) -> None:
    """Text of an extension is text: it runs no command that the user did not type."""
    template(zot)
    server = serve([Say("ok")])
    assert zot("-p", "--ext", extension, go({"action": "prompt", "prompt": "/fix 12"})).code == 0
    assert user_texts(server.requests[0]) == [" /fix 12"]


def test_piped_text_follows_arguments_of_command(zot: Zot, serve: Any, extension: str) -> None:
    serve([])
    zot("-p", "--ext", extension, "/go {", stdin="}\n")
    [frame] = [frame for frame in seen(Path(extension)) if frame["type"] == "command_invoked"]
    assert frame["args"] == "{\n}"


def test_command_from_stdin_alone_runs(zot: Zot, serve: Any, extension: str) -> None:
    serve([])
    assert zot("-p", "--ext", extension, stdin=go(SHOW)).out == SHOW["display"] + "\n"


def test_skill_is_loaded_by_its_command(zot: Zot, serve: Any) -> None:
    """issue 29.20: `/skill:NAME` is a command of a feature and works in each mode."""
    (zot.project / ".zot/skills/cook").mkdir(parents=True)
    (zot.project / ".zot/skills/cook/SKILL.md").write_text("---\nname: cook\ndescription: d\n---\nUse salt.")
    server = serve([Say("soup")])
    assert zot("-p", "/skill:cook make soup").out == "soup\n"
    assert user_texts(server.requests[0]) == ['Use the skill "cook":\n\nUse salt.\n\nmake soup']
    ran = zot("-p", "/skill:bake")
    assert ran.code == 1 and 'unknown skill "bake"; available: cook' in ran.err


# --- commands that show something


@pytest.mark.parametrize("mode", ["-p", "--stream"])
def test_displayed_text_is_printed(zot: Zot, serve: Any, extension: str, mode: str) -> None:
    server = serve([])
    ran = zot(mode, "--ext", extension, go(SHOW))
    assert (ran.code, ran.out, server.requests) == (0, SHOW["display"] + "\n", [])


def test_displayed_text_is_an_event_of_json(zot: Zot, serve: Any, extension: str) -> None:
    server = serve([])
    ran = zot("--json", "--ext", extension, go(SHOW))
    assert ran.events == [
        {"type": "ext_display", "extension": "mine", "text": SHOW["display"]},
        {"type": "done", "reason": "end_turn", "exit_code": 0},
    ]
    assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(PANEL, "/go of mine opens a panel, which works in the terminal only"), ({"error": "no"}, "extension /go: no")],
)
def test_command_that_fails_or_needs_a_screen_is_an_error(
    zot: Zot, serve: Any, extension: str, answer: dict[str, Any], reason: str
) -> None:
    serve([])
    ran = zot("--json", "--ext", extension, go(answer))
    assert ran.code == 1 and reason in ran.err
    assert ran.events == [
        {"type": "error", "message": reason},
        {"type": "done", "reason": "error", "exit_code": 1},
    ]


def test_signal_ends_a_command_that_does_not_answer(zot: Zot, serve: Any, extension: str) -> None:
    serve([])
    argv = zot.argv(["-p", "--ext", extension, *zot.endpoint(True), "/hang"])
    process = subprocess.Popen(argv, env=zot.env(), cwd=zot.project, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not any(frame["type"] == "command_invoked" for frame in seen(Path(extension))):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


# --- unknown commands


@pytest.mark.parametrize("mode", ["-p", "--json", "--stream"])
def test_unknown_command_is_an_error_with_a_suggestion(zot: Zot, serve: Any, mode: str) -> None:
    """issue 29.20: the text is not sent to the model."""
    template(zot)
    server = serve([])
    ran = zot(mode, "/fixx 12")
    message = "unknown command /fixx; did you mean /fix? to send it as text, begin with \\/fixx"
    assert ran.code == 1 and f"zot: {message}\n" in ran.err and server.requests == []
    if mode == "--json":
        assert ran.events[0] == {"type": "error", "message": message}
        assert ran.events[1] == {"type": "done", "reason": "error", "exit_code": 1}


@pytest.mark.parametrize(
    ("typed", "advice"), [("/model x", "use --model or the RPC command set_model;"), ("/copy", "in the terminal only;")]
)
def test_command_of_terminal_names_what_to_use_instead(zot: Zot, serve: Any, typed: str, advice: str) -> None:
    serve([])
    ran = zot("-p", typed)
    assert ran.code == 1 and "works in the terminal only" in ran.err and advice in ran.err


def test_template_with_a_name_of_the_terminal_expands(zot: Zot, serve: Any) -> None:
    template(zot, "review")
    server = serve([Say("ok")])
    assert zot("-p", "/review 7").code == 0
    assert user_texts(server.requests[0]) == ["Fix issue 7."]


@pytest.mark.parametrize(("typed", "sent"), [("\\/fix 12", " /fix 12"), ("/usr/bin is what", "/usr/bin is what")])
def test_text_with_a_slash_can_be_sent(zot: Zot, serve: Any, typed: str, sent: str) -> None:
    template(zot)
    server = serve([Say("ok")])
    assert zot("-p", typed).code == 0
    assert user_texts(server.requests[0]) == [sent]


# --- RPC


def test_prompt_of_rpc_runs_commands_in_order(rpc: Any, serve: Any) -> None:
    """issue 29.20: with `commands` a prompt may name one; the response and `done` are those of a prompt."""
    server = serve([Say("one"), Say("two")])
    client = rpc("commands")
    client.send("prompt", id="a", message="first")
    client.send("prompt", id="b", message=go(SHOW))
    client.send("prompt", id="c", message=go({"action": "prompt", "prompt": "go west"}))
    for _ in range(3):
        client.until("done")
    lines = [line for line in client.seen if line["type"] in ("response", "ext_display", "done")][1:]
    assert [line.get("id") or line["type"] for line in lines] == ["a", "done", "b", "ext_display", "done", "c", "done"]
    assert all(line["data"] == {"started": True} for line in lines if line["type"] == "response")
    assert user_texts(server.requests[1])[-1] == "go west"


def test_unknown_or_failing_command_of_rpc_prompt(rpc: Any, serve: Any) -> None:
    server = serve([])
    client = rpc("commands")
    assert client.ask("prompt", message="/gooo")["error"].startswith("unknown command /gooo; did you mean /go? ")
    assert "set_model" in client.ask("prompt", message="/model x")["error"]
    lines = client.prompt(go(PANEL))
    assert [line["type"] for line in lines] == ["response", "error", "done"]
    assert "opens a panel" in lines[1]["message"] and server.requests == []


def test_abort_ends_a_command_of_rpc_prompt(rpc: Any, serve: Any) -> None:
    serve([])
    client = rpc("commands")
    assert client.ask("prompt", message="/hang")["success"]
    started = time.monotonic()
    client.send("abort")
    client.until("done")
    assert time.monotonic() - started < 5


def test_prompt_of_rpc_without_commands_is_literal(rpc: Any, serve: Any) -> None:
    """rpc-protocol §5.2, OP-9: for a client that did not announce `commands`, `/word` is text."""
    server = serve([Say("one")])
    client = rpc()
    client.prompt("/go west")
    assert user_texts(server.requests[0]) == ["/go west"]


# --- SDK


async def test_sdk_runs_commands(zot: Zot, serve: Any, extension: str) -> None:
    """issue 29.20: `ask` returns displayed text; failures are raised by `ask` and events of `prompt`."""
    server = serve([Say("went")])
    options: dict[str, Any] = {"provider": "anthropic", "base_url": server.url, "api_key": "k", "cwd": zot.project}
    async with Runtime(home=zot.home / "zot", extensions=[extension], **options) as runtime:
        assert await runtime.ask(go({"action": "prompt", "prompt": "go west"})) == "went"
        assert await runtime.ask(go(SHOW)) == SHOW["display"]
        events = [event async for event in runtime.prompt(go(SHOW))]
        assert events[0] == ExtDisplay(extension="mine", text=SHOW["display"]) and len(events) == 2
        with pytest.raises(UsageError, match="did you mean /go"):
            await runtime.ask("/gooo")
        with pytest.raises(ZotError, match="opens a panel"):
            await runtime.ask(go(PANEL))
        assert [type(event).__name__ async for event in runtime.prompt("/gooo")] == ["Error", "Done"]
        with pytest.raises(UsageError, match="use model="):
            await runtime.ask("/model x")
    assert len(server.requests) == 1


def test_misspelled_command_of_every_mode_is_not_called_the_terminals(zot: Zot, serve: Any) -> None:
    """Issue 32.3: /jobs is answered here too, so its hint does not send the user to the terminal."""
    serve([])
    ran = zot("-p", "/job")
    assert ran.code == 1 and "unknown command /job; did you mean /jobs?" in ran.err


def test_misspelled_terminal_command_names_it_and_its_flag(zot: Zot, serve: Any) -> None:
    serve([])
    ran = zot("-p", "/modle")
    assert ran.code == 1 and "unknown command /modle; /model works in the terminal only; use --model" in ran.err
