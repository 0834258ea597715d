"""/context: the parts of the context window, on wide and narrow screens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot


@pytest.mark.parametrize("columns", [110, 44])
def test_context_shows_window_parts_and_free_space(serve: Any, open_zot: OpenZot, project: Path, columns: int) -> None:
    (project / "AGENTS.md").write_text("keep it simple\n" * 400)
    (project / "big.txt").write_text("word " * 3000)
    serve([CallTools([("read", {"path": "big.txt"})], usage=(4000, 20)), Say("read it", usage=(9000, 50))])
    terminal = open_zot(columns=columns, rows=45)
    terminal.submit("read big.txt")
    terminal.wait_for("read it")
    terminal.submit("/context")
    terminal.wait_for("── context")
    shown = terminal.screen
    parts = ("system prompt", "tools", "built-in tools (", "context files", "messages", "results of read (1)")
    for part in (*parts, "your prompts (1)", "free"):
        assert part in shown
    assert "/context" not in shown  # the editor gave way
    assert "of 1.0M tokens" in " ".join(shown.split())
    assert "░" in shown
    assert "9.0k tokens the provider counted" in " ".join(shown.split())
    assert "compacts automatically at 85% (850k)" in " ".join(shown.split())
    assert all(len(row) <= columns for row in shown.splitlines())
    terminal.press("esc")
    terminal.wait_gone("── context")


def test_before_the_first_prompt_it_is_an_estimate(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot(rows=40)
    terminal.submit("/context")
    terminal.wait_for("estimated from lengths")
    assert "counted" not in terminal.screen
    assert "messages" not in terminal.screen


def test_context_reports_parts_missing_from_short_prompt(
    serve: Any, open_zot: OpenZot, zot: Zot, project: Path
) -> None:
    """A small model gets the beginning of the nearest AGENTS.md, and nothing of the others."""
    (project / "AGENTS.md").write_text("keep it simple\n" * 400)
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "AGENTS.md").write_text("be kind\n")
    tiny = {"id": "tiny", "tool_calls": "grammar"}
    mine = {"baseUrl": f"{serve([]).url}/v1", "auth": "none", "models": [{"id": "large"}, tiny]}
    (zot.home / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
    terminal = open_zot("--provider", "mine", "--model", "tiny", model=False, columns=110, rows=45)
    terminal.submit("/context")
    terminal.wait_for("context files")
    terminal.wait_for("the prompt of a small model is short")
    told = "".join(terminal.screen.split())  # a long path is broken wherever it has to be
    assert "itcontains1,199ofthe5,999charactersof" in told and "AGENTS.mdandnothingof1othercontextfile" in told
    terminal.press("esc")
    terminal.wait_gone("── context")
    terminal.submit("/model large")
    terminal.wait_for("(mine) large")
    terminal.submit("/context")
    terminal.wait_for("context files")
    assert "a small model" not in terminal.screen
