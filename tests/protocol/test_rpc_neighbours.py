"""The one-shot modes beside RPC, where its specification speaks of them."""

from __future__ import annotations

import json
import os

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Refuse, Say


def test_json_mode_without_a_prompt_on_a_terminal_exits(zot: Zot) -> None:
    """rpc-061: `zot --json` without a prompt, on a terminal, exits 1."""
    ours, terminal = os.openpty()
    process = zot.start("--json", stdin=terminal)
    out, err = process.communicate(timeout=30)
    os.close(terminal)
    os.close(ours)
    assert process.returncode == 1
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["error", "done"]
    assert err.startswith(b"zot: json mode requires a prompt")


def test_json_mode_joins_piped_text_and_the_argument(zot: Zot, serve) -> None:
    """rpc-071: piped text and the argument are joined by a newline."""
    server = serve([Say("ok")])
    assert zot("--json", "ask", stdin="ctx\n").code == 0
    assert json.dumps("ctx\nask") in json.dumps(server.requests[0].json["messages"])


def test_stream_mode_separates_text_and_tool_output(zot: Zot, serve) -> None:
    """rpc-073: `--stream` prints assistant text on stdout and the work of tools on stderr."""
    serve([CallTools([("bash", {"command": "echo tool-output"})], text="Looking."), Say("Found it.")])
    ran = zot("--stream", "x")
    assert "Looking." in ran.out and "Found it." in ran.out and "{" not in ran.out
    assert "bash" not in ran.out and "bash" in ran.err


def test_stats_are_written_after_success_only_and_for_print_only(zot: Zot, serve) -> None:
    """rpc-074: `--stats` writes its file only after success, and only with `-p`."""
    serve([Refuse(400, '{"error":{"message":"no"}}'), Say("ok")])
    stats = zot.project / "stats.json"
    assert zot("-p", "x", "--stats", str(stats)).code == 1
    assert not stats.exists()
    assert zot("-p", "x", "--stats", str(stats)).code == 0
    assert json.loads(stats.read_text())["prompt_tokens"] == 10
    assert zot("--json", "x", "--stats", str(stats)).code == 1
