"""An edit of a resumed session looks as it did when it was made, line numbers included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

EDITS = [{"oldText": "line 50\n", "newText": "changed\nadded\n"}, {"oldText": "line 150\n", "newText": "far\n"}]


def box(terminal: FakeTerminal) -> list[str]:
    """The rows under the only edit; its label has a duration if it was slow."""
    rows = terminal.everything.splitlines()
    first = next(number for number, row in enumerate(rows) if "● Edited" in row)
    return rows[first + 1 : next(n for n in range(first + 1, len(rows)) if not rows[n].startswith("    "))]


@pytest.fixture
def live(serve: Any, open_zot: OpenZot, project: Path) -> list[str]:
    """The rows of an edit at two places when it was made."""
    (project / "big.txt").write_text("".join(f"line {i}\n" for i in range(1, 201)))
    serve([CallTools([("edit", {"path": "big.txt", "edits": EDITS})]), Say("all done")])
    terminal = open_zot(rows=50)
    terminal.submit("go")
    terminal.wait_for("all done")
    terminal.wait_gone("esc stops")  # ctrl+d ends one that is idle
    rows = box(terminal)
    assert any("- 50 line 50" in row for row in rows)
    terminal.press("ctrl+d")
    terminal.wait_exit()
    return rows


def test_a_resumed_edit_looks_like_the_live_one(live: list[str], open_zot: OpenZot) -> None:
    terminal = open_zot("-c", rows=50)
    terminal.wait_for("all done")
    assert box(terminal) == live


def test_an_unfolded_edit_has_its_line_numbers(live: list[str], open_zot: OpenZot) -> None:
    terminal = open_zot("-c", rows=50)
    terminal.wait_for("all done")
    terminal.press("ctrl+o")
    terminal.wait_for("+151 far")


def test_an_exported_and_imported_edit_looks_like_the_live_one(
    live: list[str], open_zot: OpenZot, zot: Zot, tmp_path: Path
) -> None:
    [path] = zot.sessions
    assert zot("sessions", "export", str(path), str(tmp_path / "it.zotsession"), model=False).code == 0
    path.unlink()
    assert zot("sessions", "import", str(tmp_path / "it.zotsession"), model=False).code == 0
    terminal = open_zot("-c", rows=50)
    terminal.wait_for("all done")
    assert box(terminal) == live


@pytest.mark.parametrize("hunks", [None, "elsewhere", [{"old_start": 1}], [[1]], [["a", "b"]]])
def test_edit_without_readable_line_numbers_is_shown_without(
    hunks: Any, live: list[str], open_zot: OpenZot, zot: Zot
) -> None:
    """As sessions of before and of other programs have it."""
    [path] = zot.sessions
    path.write_text("".join(with_hunks(line, hunks) for line in path.read_text().splitlines()))
    terminal = open_zot("-c", rows=50)
    terminal.wait_for("all done")
    assert any("-    line 50" in row for row in box(terminal)) and "unreadable" not in terminal.everything


def with_hunks(line: str, hunks: Any) -> str:
    row = json.loads(line)
    for block in row.get("message", {}).get("content", []):
        if block.pop("hunks", None) and hunks is not None:
            block["hunks"] = hunks
    return json.dumps(row) + "\n"
