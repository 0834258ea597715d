"""Tests that every client library must pass; a language's test class starts its driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_mcp import mine
from tests.fakes.model_server import CallTools, FakeModelServer, Say, Slow

Serve = Callable[..., FakeModelServer]
ENDLESS = Slow(Say("word " * 2000), 0.005)
TOUCH = CallTools([("bash", {"command": "touch made"})])

GREETER = """
from zot.ext import Extension, Response

ext = Extension("greeter", "1.0.0")

@ext.command("greet", "says hello")
def greet(args: str) -> Response:
    ext.notify("info", "greeting")
    return Response.prompt(f"Say hello to {args}")

ext.run()
"""

BOARD = """
from zot.ext import Extension, Response

ext = Extension("board", "1.0.0")

@ext.command("open", "opens a panel")
def open_(args: str) -> Response:
    return Response.open_panel("p", "Board", ["one", "two"], "q closes")

def key(key: str, text: str) -> None:
    if text == "q":
        ext.close_panel("p")
    else:
        ext.render_panel("p", "Board", [key, text], "drawn")

ext.on_panel_key("p", key, lambda: ext.notify("info", "the user closed it"))
ext.run()
"""

NOISY = """
import json, sys
lines = (json.loads(line) for line in sys.stdin)
def say(**fields): print(json.dumps(fields), flush=True)
hello = next(lines)
data = {"protocol_version": 1, "version": "0", "provider": "p", "model": "m"}
say(type="response", id=hello["id"], command="hello", success=True, data=data)
prompt = next(lines)
say(type="response", id=prompt["id"], command="prompt", success=True, data={"started": True})
print("noise"); print("[1]"); print(); say(type="from_the_future", x=1)
say(type="text_delta", delta="\\u2028" + "x" * 19_999_999)
for number in range(5000): say(type="text_delta", delta="y")
say(type="done")
for line in lines: say(type="response", id=line.get("id", ""), command=line["type"], success=True)
"""


def installed(parent: Path, name: str, program: str) -> str:
    """A real extension; its directory."""
    folder = parent / name
    folder.mkdir()
    (folder / "main.py").write_text(program)
    manifest = {"name": name, "version": "1.0.0", "exec": sys.executable, "args": ["main.py"]}
    (folder / "extension.json").write_text(json.dumps(manifest))
    return str(folder)


class ClientSuite:
    @pytest.fixture
    def driver(self) -> list[str]:
        raise NotImplementedError

    @pytest.fixture
    def run(self, driver: list[str], zot: Zot) -> Callable[..., Any]:
        def run(scenario: str, **config: Any) -> Any:
            given = {
                "command": [sys.executable, "-m", "zot"],
                "args": [],
                "base_url": zot.url,
                "cwd": str(zot.project),
                "patience": 20,
                "env": {"HOME": str(zot.home), "ZOT_HOME": str(zot.home / "zot"), "ANTHROPIC_API_KEY": "test-key"},
                **config,
            }
            environment = {**os.environ, "DRIVER": json.dumps(given)}
            done = subprocess.run([*driver, scenario], env=environment, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        return run

    def test_a_prompt_with_a_tool(self, serve: Serve, run: Callable[..., Any]) -> None:
        serve([CallTools([("bash", {"command": "echo one"})], "Let me look. "), Say("It says one.")])
        expected = {"text": "Let me look. It says one.", "errors": [False], "last": "done", "messages": 4, "output": 10}
        assert run("tools") == expected

    def test_commands_answered_at_once(self, serve: Serve, run: Callable[..., Any]) -> None:
        serve([Say("hi")])
        failure = 'unknown model "nonsense" (provider="anthropic")'
        assert run("commands") == {"models": ["anthropic"], "failure": failure, "text": "hi", "left": 0}

    def test_aborting_and_leaving_the_loop(self, serve: Serve, run: Callable[..., Any]) -> None:
        serve([ENDLESS, ENDLESS, Say("after")])
        assert run("abort") == {"stops": ["aborted"], "text": "after"}

    def test_a_prompt_behind_a_compaction(self, serve: Serve, run: Callable[..., Any]) -> None:
        """rpc-077, through every client: ``compact_done`` ends it, and the next prompt is not confused."""
        server = serve([Say("answer"), Slow(Say("the summary"), 0.05), Say("after")])
        assert run("compact") == {"summary": "the summary", "text": "after"}
        assert "names" in str(server.requests[1].json["messages"][-1]), "its focus"

    def test_rewind(self, serve: Serve, run: Callable[..., Any], zot: Zot) -> None:
        serve([CallTools([("write", {"path": "made", "content": "one\ntwo\n"})]), Say("ok")])
        expected = {"added": 2, "outcomes": [["removed"], ["removed"]], "text": "go", "left": 0}
        assert run("rewind", args=["--continue"]) == expected
        assert not (zot.project / "made").exists()

    @pytest.mark.parametrize(("decision", "runs"), [("once", True), ("deny", False), ("raise", False), ("what", False)])
    def test_approvals(self, serve: Serve, run: Callable[..., Any], zot: Zot, decision: str, runs: bool) -> None:
        """rpc-014, through every client: only a yes runs."""
        serve([TOUCH, Say("ok")])
        assert run("approve", decision=decision) == {"text": "ok", "asked": ["bash touch made"]}
        assert (zot.project / "made").exists() is runs

    def test_server_elicitation(self, serve: Serve, run: Callable[..., Any], zot: Zot) -> None:
        """Answered, declined, failed, and with values that do not fit: no server waits for better ones."""
        mine(zot)
        ask = CallTools([("mcp__fake__ask", {})])
        server = serve([CallTools([("mcp_search", {"query": "ask"})]), ask, ask, ask, ask, Say("ok")])
        answers = [{"name": "Ada"}, None, "raise", {"age": "old"}]
        asked = ["fake: Who are you? name age"] * 4
        assert run("elicit", answers=answers) == {"text": "ok", "asked": asked, "servers": ["fake ready 20"]}
        told = [str(request.json["messages"][-1]).replace("\\", "") for request in server.requests[2:]]
        assert '"action": "accept", "content": {"name": "Ada"}' in told[0]
        for text, action in zip(told[1:], ("decline", "cancel", "cancel"), strict=True):
            assert f'"action": "{action}"' in text

    def test_an_extension(self, serve: Serve, run: Callable[..., Any], tmp_path: Path) -> None:
        """rpc-058, through every client."""
        serve([Say("Hello, Ada!")])
        expected = {"action": "prompt", "text": "Hello, Ada!", "notes": ["greeting"]}
        result = run("extension", extension=installed(tmp_path, "greeter", GREETER))
        assert "greet" in result.pop("commands") and result == expected

    def test_a_panel_is_opened_drawn_and_closed_by_either_side(
        self, serve: Serve, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        """iface-059 (§14.7), through every client: the extension closes the first panel, the user the second."""
        serve([])
        assert run("panel", extension=installed(tmp_path, "board", BOARD)) == {
            "action": "open_panel",
            "drawn": ["Board: one, two (q closes)", "Board: rune, é (drawn)", "Board: up,  (drawn)"],
            "closed": "board p",
            "again": "Board: one, two (q closes)",
            "note": "the user closed it",
        }

    def test_panels_need_their_capability(self, serve: Serve, run: Callable[..., Any], tmp_path: Path) -> None:
        """iface-059 (§14.7), through every client."""
        serve([])
        failure = 'announce the capability "panels" in hello first'
        assert run("panel_unannounced", extension=installed(tmp_path, "board", BOARD)) == [failure, failure]

    def test_killed_process_is_reported_and_replaced(self, serve: Serve, run: Callable[..., Any]) -> None:
        serve([ENDLESS, Say("alive")])
        assert run("killed") == {"kind": "gone", "text": "alive", "starts": 2}

    def test_stopped_process_is_detected_and_replaced(self, serve: Serve, run: Callable[..., Any]) -> None:
        serve([ENDLESS, Say("alive")])
        assert run("stopped", patience=2) == {"kind": "silent", "text": "alive", "starts": 2}

    def test_failed_start_has_zot_stderr(self, run: Callable[..., Any], zot: Zot) -> None:
        env = {"HOME": str(zot.home), "ZOT_HOME": str(zot.home / "zot"), "ANTHROPIC_API_KEY": ""}
        assert run("missing", env=env) == {"kind": "gone", "told": True, "stderr": True}

    def test_noise_unknown_events_and_long_lines(self, run: Callable[..., Any]) -> None:
        seen = run("noise", command=[sys.executable, "-c", NOISY])
        assert (seen["events"], seen["deltas"]) == (5003, 5001)
        assert seen["characters"] in (20_005_000, 20_005_002)  # Go counts bytes
