"""issue 33.1: independent client libraries and an existing client drive `zot acp`."""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.acp.conftest import project_file
from tests.e2e.conftest import Zot
from tests.fakes import acp_tap
from tests.fakes.acp_client import PARAMS, RESULTS, SCHEMA, Json, validated_methods
from tests.fakes.mcp_server import command as mcp_command
from tests.fakes.model_server import CallTools, Say, Slow
from tests.fakes.terminal import FakeTerminal
from tests.protocol.test_rpc_process import PNG

METHODS = {*RESULTS, "session/fork", "session/cancel", "logout"}
MODULES = SCHEMA.parents[4]
TOAD = Path(__file__).parents[3] / ".cache/toad/toad"
QUESTION = {"question": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}
SETTINGS = {"editor_terminal": True, "tools": ["ask_user", "todo"]}
FLAGS = ("--permission-mode", "ask")


def turns() -> list[Any]:
    return [
        CallTools([("todo", {"items": [{"text": "one", "status": "pending"}]})]),
        CallTools([("ask_user", {"questions": [QUESTION]})]),
        CallTools([("write", {"path": "new.txt", "content": "words"})]),
        CallTools([("bash", {"command": "touch made"})]),
        Say("all done", reasoning="hm"),
        Say("seen"),
        CallTools([("mcp_search", {"query": "echo"})]),
        CallTools([("mcp__fake__echo", {"text": "hello"})]),
        Say("echoed"),
        Slow(Say("word " * 400), 0.05),
        CallTools([("bash", {"command": "sleep 60"})]),
        CallTools([("bash", {"command": "pwd"})]),
        Say("there"),
        Say("both"),
        Say("both"),
        Say("resumed"),
        Say("forked"),
    ]


def tapped(zot: Zot, *flags: str) -> list[str]:
    """`zot acp` as a client starts it; what both sides write is in ``log(zot)``."""
    return [sys.executable, acp_tap.__file__, str(log(zot)), *zot.argv(["acp", *flags, *zot.endpoint(True)])]


def log(zot: Zot) -> Path:
    return zot.home / "acp.log"


def environment(zot: Zot) -> dict[str, str]:
    return {**zot.env(), "NODE_PATH": str(MODULES)}


def blocks(zot: Zot) -> list[Json]:
    """An image, an embedded file and a link, as editors send them."""
    project_file(zot, "linked.txt", "linked words")
    embedded = {"uri": "file:///tmp/note.md", "text": "embedded words"}
    return [
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()},
        {"type": "resource", "resource": embedded},
        {"type": "resource_link", "name": "linked.txt", "uri": (zot.project / "linked.txt").as_uri()},
    ]


@contextmanager
def program(language: str, tmp_path: Path) -> Iterator[list[str]]:
    if language == "python":
        yield [sys.executable, str(Path(__file__).with_name("client.py"))]
        return
    copy = MODULES.parent / f"client-{tmp_path.name}.mjs"  # modules are found beside the program
    copy.write_text(Path(__file__).with_name("client.mjs").read_text())
    try:
        yield ["node", str(copy)]
    finally:
        copy.unlink()


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_sdk_drives_every_capability(zot: Zot, serve: Any, tmp_path: Path, language: str) -> None:
    """issue 33: both SDKs, of the Python and the TypeScript package, the same calls."""
    server = serve(turns())
    other = zot.home / "other"
    other.mkdir()
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text(json.dumps(SETTINGS))
    entry = mcp_command()
    row = {"name": "fake", "command": entry["command"], "args": entry["args"], "env": []}
    given = {"cwd": str(zot.project), "other": str(other), "servers": [row], "blocks": blocks(zot)}
    with program(language, tmp_path) as argv:
        argv = [*argv, json.dumps(given), *tapped(zot, *FLAGS)]
        ran = subprocess.run(argv, env=environment(zot), capture_output=True, timeout=90)
    assert ran.returncode == 0, ran.stderr.decode()
    seen = json.loads(ran.stdout)

    # the connection
    assert seen["methods"] == ["zot-key", "zot-login"] and seen["authenticated"] == {}
    assert seen["capabilities"] == ["additionalDirectories", "close", "delete", "fork", "list", "resume"]
    assert "zot auth logout" in seen["logout"]
    # modes, options, plans, thoughts, usage, titles
    assert seen["modes"][0] == "plan" and "model" in seen["options"] and seen["reasoning"] == "low"
    assert {"plan", "tool_call", "tool_call_update", "agent_thought_chunk", "usage_update"} <= set(seen["kinds"])
    assert {"available_commands_update", "current_mode_update", "config_option_update"} <= set(seen["kinds"])
    assert seen["titles"][:2] == ["go", "where"] and seen["costs"] > 3
    # prompts: permissions, forms, files, terminals, content, servers, cancel
    assert [seen["stop"], seen["looked"], seen["served"], *seen["cancelled"]] == ["end_turn"] * 3 + ["cancelled"] * 2
    assert seen["text"].startswith("all done") and seen["forms"] == ["Which one?"]
    assert "touch made" in seen["asked"] and any("echo" in title for title in seen["asked"])
    assert seen["written"] == {str(zot.project / "new.txt"): "words"} and (zot.project / "made").exists()
    assert seen["terminals"] == ["create", "release", "create", "kill", "release", "create", "release"]
    requests = [json.dumps(request.json["messages"][-1]) for request in server.requests]
    assert all(word in requests[5] for word in ("embedded words", "from the editor", "image/png"))
    assert "hello" in requests[8] and str(other) in requests[12]
    # sessions
    assert seen["elsewhere"] == "end_turn" and seen["both"] == ["end_turn"] * 2 and seen["closed"] == -32002
    assert seen["listed"] == [[True, "go"]] and seen["rest"] == [True]
    assert seen["replayed"].count("user_message_chunk") == 7 and "tool_call" in seen["replayed"]
    assert seen["resumed"] == "end_turn" and "user_message_chunk" not in seen["repeated"]
    assert seen["forked"] == [True, "end_turn"]
    assert seen["secondText"].startswith("thereboth") and seen["secondText"].endswith("resumed")
    asked = json.dumps(server.requests[-1].json["messages"])
    assert "embedded words" in asked and "aside" in asked and "again" not in asked
    # every line that zot wrote is of the published schema, and no method was left out
    assert validated_methods(log(zot)) == {*METHODS, *PARAMS}


def agent_program(zot: Zot, *flags: str) -> Path:
    """A program without arguments, as clients want it."""
    agent = zot.home / "zot-acp"
    agent.write_text(f"#!/bin/sh\nexec {shlex.join(tapped(zot, *flags))}\n")
    agent.chmod(0o755)
    return agent


WORK = [
    Say("first answer"),
    CallTools([("bash", {"command": "touch made"})]),
    CallTools([("write", {"path": "new.txt", "content": "words"})]),
    Say("it is done"),
]


def test_acpx_drives_what_it_has_commands_for(zot: Zot, serve: Any) -> None:
    """A client people use: sessions, prompts, modes, options, approvals, cancel; each command is its own process."""
    refused = [CallTools([("bash", {"command": "touch no"})]), Say("refused")]
    server = serve([*WORK, Slow(Say("word " * 400), 0.05), *refused])
    base = [str(MODULES / ".bin" / "acpx"), "--agent", str(agent_program(zot))]
    base += ["--cwd", str(zot.project), "--ttl", "30"]
    options = {"env": environment(zot), "capture_output": True, "timeout": 60, "text": True}

    def acpx(*args: str, approve: str = "--approve-all") -> str:
        for _ in range(3):
            ran = subprocess.run([*base, approve, *args], **options)
            if "queue owner failed to start" not in ran.stderr:  # acpx waits too short for its own process
                break
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    assert acpx("sessions", "new") and "first answer" in acpx("prompt", "hello")
    assert "mode set: ask" in acpx("set-mode", "ask")
    assert "reasoning=low" in acpx("set", "reasoning", "low")
    assert "model=anthropic/claude-haiku-4-5" in acpx("set", "model", "anthropic/claude-haiku-4-5")
    done = acpx("prompt", "go")
    assert "it is done" in done and "session/request_permission" in done
    assert (zot.project / "made").exists() and (zot.project / "new.txt").read_text() == "words"
    assert server.requests[1].json["model"] == "claude-haiku-4-5"  # the session remembers it

    running = subprocess.Popen([*base, "prompt", "count"], env=environment(zot), stdout=subprocess.PIPE, text=True)
    server.wait_for_requests(5)
    time.sleep(0.5)
    assert "cancel requested" in acpx("cancel") and "[done] cancelled" in running.communicate(timeout=30)[0]
    assert "refused" in acpx("exec", "go", approve="--deny-all") and "status: " in acpx("status")
    assert "first answer" in acpx("sessions", "history") and str(zot.project) in acpx("sessions", "list")
    assert acpx("sessions", "close")
    methods = validated_methods(log(zot))
    assert methods > {"session/load", "session/set_mode", "session/set_config_option", "session/cancel"}
    assert "fs/write_text_file" in methods


def test_acp_cli_drives_what_it_has_commands_for(zot: Zot, serve: Any) -> None:
    """Another client people use, written in Rust with the SDK of that language."""
    serve([*WORK, CallTools([("bash", {"command": "touch no"})]), Say("refused")])
    agent = str(agent_program(zot, "--permission-mode", "ask"))
    program = str(MODULES.parent / "cargo" / "bin" / "acp-cli")

    def acp_cli(*args: str) -> str:
        argv = [program, *args]
        ran = subprocess.run(argv, cwd=zot.project, env=environment(zot), capture_output=True, timeout=60, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    assert "first answer" in acp_cli("--approve-all", agent, "exec", "hello")
    assert "it is done" in acp_cli("--approve-all", agent, "exec", "go") and (zot.project / "made").exists()
    assert "refused" in acp_cli("--deny-all", agent, "exec", "go on") and not (zot.project / "no").exists()
    assert "session/request_permission" in validated_methods(log(zot))


def start_toad(zot: Zot) -> FakeTerminal:
    if not TOAD.exists():
        pytest.skip("Toad is not installed: run `bash tests/setup/toad.sh`")
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text(json.dumps(SETTINGS))
    project_file(zot, "a.txt", "old text\n")
    agent = agent_program(zot, *FLAGS)
    argv = [str(TOAD), "acp", str(agent), str(zot.project)]
    return FakeTerminal(argv, cwd=zot.project, env=zot.env(), columns=120, rows=40, first_start=True)


def ask_toad(terminal: FakeTerminal, text: str) -> None:
    terminal.wait_for("How can I help you today?", 30)
    terminal.type(text)
    terminal.wait_for(f"❯ {text}")
    terminal.wait_idle()
    terminal.press("enter")


def test_toad_drives_a_session(zot: Zot, serve: Any) -> None:
    """A terminal client people use: plan, approvals, terminals, its review of a difference, modes, cancel."""
    todo = [{"text": "look at it", "status": "done"}, {"text": "run it", "status": "in_progress"}]
    edits = [{"oldText": "old", "newText": "new"}]
    turns = [
        CallTools([("todo", {"items": todo})]),
        CallTools([("bash", {"command": "touch made && echo made it"})]),
        CallTools([("edit", {"path": "a.txt", "edits": edits})]),
        Say("all done", reasoning="I think about it"),
        Slow(Say("word " * 400), 0.05),
        Say("planned"),
    ]
    serve(turns)
    with start_toad(zot) as toad:
        ask_toad(toad, "please work")
        toad.wait_for("Always allow `touch …`", 30)
        assert "run it" in toad.screen and not (zot.project / "made").exists()
        toad.press("a")
        toad.wait_for("Approval request")  # its page for a difference
        toad.wait_until(lambda: bool(re.search(r"old text .*new text", toad.screen)), "the difference")
        assert (zot.project / "made").exists()
        toad.press("a")
        toad.wait_for("all done")
        assert "made it" in toad.screen and "I think about it" in toad.screen
        assert (zot.project / "a.txt").read_text() == "new text\n"

        ask_toad(toad, "count")
        toad.wait_for("word word")
        toad.press("esc")
        toad.wait_for("again to cancel")
        toad.press("esc")
        toad.wait_for("Turn cancelled")

        toad.press("ctrl+o")
        toad.wait_for("changes are denied")
        toad.press("down", "down", "enter")
        toad.wait_gone("changes are denied")
        toad.wait_until(lambda: toad.screen.splitlines()[-3].rstrip().endswith("Plan"), "the mode in the last rows")
        ask_toad(toad, "a question")
        toad.wait_for("planned")
        toad.press("ctrl+c")
        toad.wait_for("Press ctrl+c again")
        toad.press("ctrl+c")
        toad.wait_exit()
    methods = validated_methods(log(zot))
    assert methods > {"session/set_mode", "session/cancel", "fs/write_text_file", "terminal/create", "terminal/release"}
