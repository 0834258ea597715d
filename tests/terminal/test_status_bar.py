"""The status bar in a running session."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot


@pytest.fixture
def zot(zot: Zot) -> Zot:
    """With a model of 200k tokens, for 3 dollars a million tokens in and 15 out, as the figures below assume."""
    zot.model_id = "claude-sonnet-4-5"
    return zot


def test_a_fresh_session_shows_no_figures(serve: Any, open_zot: OpenZot) -> None:
    """iface-109: a fresh session shows no figures."""
    serve([])
    terminal = open_zot()
    assert not re.search(r"[↑↓$%]", terminal.screen)


def test_tokens_cost_and_context_are_shown(serve: Any, open_zot: OpenZot) -> None:
    """iface-110: tokens, cost and share of the context are shown in short form."""
    serve([Say("hello", usage=(1234, 35_400))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("↑1.2k ↓35k")
    assert "$0.535" in terminal.screen
    assert "0.6%/200k" in terminal.screen


def test_the_real_window_of_a_local_server_is_shown(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("hello", usage=(2_000, 5)), Say("again", usage=(2_048, 5))], window=4_096)
    model = ("--provider", "llama.cpp", "--model", "fake-model")
    terminal = open_zot(*model, model=False, env={"LLAMA_BASE_URL": f"{server.url}/v1"})
    terminal.submit("go")
    terminal.wait_for("hello")
    cache = zot.home / "zot" / "models-cache.json"
    terminal.wait_until(cache.exists, "the server's answer")
    terminal.wait_for("has a window of 4096 tokens")
    terminal.submit("more")
    terminal.wait_for("50.0%/4.0k")


def test_a_filling_context_is_coloured(serve: Any, open_zot: OpenZot) -> None:
    """iface-111: the context figure changes its colour above 70 % and above 90 %."""
    serve([Say("a", usage=(150_000, 5)), Say("b", usage=(168_000, 5)), Say("c", usage=(190_000, 5))])
    terminal = open_zot()
    terminal.submit("one")
    terminal.wait_for("75.0%")
    assert terminal.cell("75.0%").fg == "ffaf00"
    terminal.submit("two")
    terminal.wait_for("84.0%")
    terminal.submit("three")
    terminal.wait_for("95.0%")
    assert terminal.cell("95.0%").fg == "ff5f5f"


def test_home_is_a_tilde_and_the_branch_is_shown(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """iface-113: the home directory is shown as `~`, and the git branch beside it."""
    serve([])
    inside = zot.home / "work"
    (inside / ".git").mkdir(parents=True)
    (inside / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    terminal = open_zot("--cwd", str(inside))
    terminal.wait_for("~/work (topic)")


def test_the_status_row_names_the_tool_that_runs(serve: Any, open_zot: OpenZot) -> None:
    """iface-117: during a tool the status row names it; its seconds are in its own row."""
    serve([CallTools([("bash", {"command": "sleep 0.5"})]), Say("fine")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("bash sleep 0.5 · turn 0s")
    terminal.wait_for("fine")
    terminal.wait_idle()
    assert "esc stops" not in terminal.screen


def test_a_narrow_terminal_gets_separate_lines(serve: Any, open_zot: OpenZot) -> None:
    """iface-116: on a narrow terminal the status bar takes several lines."""
    serve([Say("hello", usage=(1234, 35_400))])
    terminal = open_zot(columns=40, rows=20)
    terminal.submit("go")
    terminal.wait_for("↑1.2k")
    assert terminal.row_of("claude-sonnet-4-5") != terminal.row_of("↑1.2k")


def test_a_bell_rings_after_a_long_turn_and_can_be_switched_off(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "sleep 0.3"})]), Say("fine")])
    config = zot.home / "zot" / "config.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('{"notify_after_s": 0.2}')
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("fine")
    terminal.wait_until(
        lambda: terminal.raw.rstrip(b"\x1b[0-9;m").count(b"\x07") > terminal.raw.count(b"\x1b]2;"), "the bell"
    )
