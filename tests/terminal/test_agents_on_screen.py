"""issue 32.4: delegated agents on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot


@pytest.fixture
def reviewer(zot: Zot) -> Path:
    path = zot.project / ".claude/agents/reviewer.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: reviewer\ndescription: Reviews a change\n---\nYou review.\n")
    return path


def test_mention_completes_and_rows_show_what_agents_do(
    zot: Zot, serve: Any, open_zot: OpenZot, reviewer: Path
) -> None:
    slow = CallTools([("bash", {"command": "echo looking; sleep 2"})])
    calls = [("agent", {"agent": "reviewer", "task": "check a.py"})]
    serve([CallTools(calls), slow, Say("no bugs"), Say("all good")])
    terminal = open_zot()
    terminal.type("@agent-r")
    terminal.wait_for("Reviews a change")
    terminal.press("enter")
    terminal.type("please")
    terminal.press("enter")
    terminal.wait_for("reviewer: step 1")
    terminal.wait_for("all good")
    screen = terminal.everything
    assert "@agent-reviewer" in screen and "reviewer · check a.py" in screen and "no bugs" in screen


def test_agents_side_by_side_both_show_their_step(zot: Zot, serve: Any, open_zot: OpenZot, reviewer: Path) -> None:
    """Issue 32.4: the row of the second call says what it does, not that it waits for the first."""
    calls = [("agent", {"agent": "reviewer", "task": f"check {name}.py"}) for name in ("a", "b")]
    slow = CallTools([("bash", {"command": "sleep 60"})])
    serve([CallTools(calls), slow, slow, Say("x")])
    terminal = open_zot()
    terminal.submit("@agent-reviewer go")
    terminal.wait_until(lambda: terminal.screen.count("bash sleep 60") >= 2)
    rows = [row for row in terminal.screen.splitlines() if "reviewer · check" in row]
    assert len(rows) >= 2 and not any("waiting" in row for row in rows)
    terminal.press("esc")
    terminal.wait_for("interrupted")


def test_escape_ends_a_running_agent(zot: Zot, serve: Any, open_zot: OpenZot, reviewer: Path) -> None:
    calls = [("agent", {"agent": "reviewer", "task": "check"})]
    serve([CallTools(calls), CallTools([("bash", {"command": "sleep 60"})]), Say("x")])
    terminal = open_zot()
    terminal.submit("@agent-reviewer go")
    terminal.wait_for("bash sleep 60")
    terminal.press("esc")
    terminal.wait_for("interrupted")


def test_slash_agents_lists_files_and_builtin_ones(zot: Zot, serve: Any, open_zot: OpenZot, reviewer: Path) -> None:
    serve([Say("x")])
    terminal = open_zot()
    terminal.submit("/agents")
    terminal.wait_for("reviewer: Reviews a change")
    terminal.wait_for("explore: ")
