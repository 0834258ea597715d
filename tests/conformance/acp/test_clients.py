"""issue 33.1: independent client libraries and an existing client drive `zot acp`."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.acp.conftest import Connect, project_file
from tests.e2e.conftest import Zot
from tests.fakes import acp_tap
from tests.fakes.acp_client import PARAMS, RESULTS, SCHEMA, Json, validated_methods
from tests.fakes.mcp_server import command as mcp_command
from tests.fakes.model_server import CallTools, Say, Slow
from tests.protocol.test_rpc_process import PNG

METHODS = {*RESULTS, "session/fork", "session/cancel", "logout"}
MODULES = SCHEMA.parents[4]
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


def test_acpx_runs_a_prompt(zot: Zot, serve: Any, connect: Connect) -> None:
    """A client people use: approvals by its own flags, the answer as text."""
    serve([CallTools([("bash", {"command": "touch made"})]), Say("it is done")])
    agent = " ".join(zot.argv(["acp", "--permission-mode", "ask", *zot.endpoint(True)]))
    argv = [str(MODULES / ".bin" / "acpx"), "--agent", agent, "--cwd", str(zot.project), "--approve-all"]
    ran = subprocess.run([*argv, "exec", "go"], env=environment(zot), capture_output=True, timeout=60, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "it is done" in ran.stdout and (zot.project / "made").exists()


def test_acp_cli_runs_a_prompt(zot: Zot, serve: Any) -> None:
    """Another client people use, written in Rust with the SDK of that language."""
    serve([CallTools([("bash", {"command": "touch made"})]), Say("it is done")])
    agent = zot.home / "zot-acp"
    agent.write_text(
        f"#!/bin/sh\nexec {' '.join(zot.argv(['acp', '--permission-mode', 'ask', *zot.endpoint(True)]))}\n"
    )
    agent.chmod(0o755)
    program = MODULES.parent / "cargo" / "bin" / "acp-cli"
    argv = [str(program), "--approve-all", str(agent), "exec", "go"]
    ran = subprocess.run(argv, cwd=zot.project, env=environment(zot), capture_output=True, timeout=60, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "it is done" in ran.stdout and (zot.project / "made").exists()
