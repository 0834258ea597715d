"""Diffs on the screen: for edits and writes when they run, need approval or are resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.test_calls_on_screen import calls_of, run

OLD = "".join(f"line {i}\n" for i in range(1, 61))
NEW = OLD.replace("line 30\n", "line thirty\n").replace("line 50\n", "")
CALL = ("write", {"path": "f.txt", "content": NEW})
ROWS = [
    *[" 27 line 27", " 28 line 28", " 29 line 29", "- 30 line 30", "+ 30 line thirty"],
    *[" 31 line 31", " 32 line 32", " 33 line 33", "..."],
    *[" 47 line 47", " 48 line 48", " 49 line 49", "- 50 line 50", " 50 line 51", " 51 line 52", " 52 line 53"],
]


def bare(row: str) -> str:
    return row if row[:1] in "+-" else row.removeprefix(" ")


def test_overwriting_write_is_a_diff_also_after_resume(serve: Any, open_zot: OpenZot, project: Path) -> None:
    (project / "f.txt").write_text(OLD)
    serve([CallTools([CALL]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    [call] = calls_of(terminal)
    assert call[0] == "● Wrote f.txt (+1 −2)" and [bare(row) for row in call[1:]] == ROWS
    terminal.press("ctrl+d")
    terminal.wait_exit()
    again = open_zot("-c", rows=60)
    again.wait_for("all done")
    assert calls_of(again) == [call]


def test_overwriting_write_is_confirmed_as_a_diff(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """The changes are on the first page, and the whole file follows."""
    (project / "f.txt").write_text(OLD)
    serve([CallTools([CALL]), Say("all done")])
    terminal = open_zot("--no-yolo", rows=60)
    terminal.submit("go")
    terminal.wait_for("run write?")
    terminal.wait_for("replaces a file (+1 −2)")
    assert "- line 30" in terminal.screen and "+ line thirty" in terminal.screen and "- line 50" in terminal.screen
    terminal.wait_for("the whole file after the change")
    assert (project / "f.txt").read_text() == OLD
    terminal.press("end")
    terminal.wait_for("59 line 60")
    terminal.press("1")
    terminal.wait_for("all done")
    assert (project / "f.txt").read_text() == NEW


def test_call_awaiting_approval_is_shown_only_in_the_dialog(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("write", {"path": "new.txt", "content": "the only line\n"})]), Say("all done")])
    terminal = open_zot("--no-yolo", rows=40)
    terminal.submit("go")
    terminal.wait_for("○ Write new.txt · asking")
    terminal.wait_until(lambda: terminal.screen.count("the only line") == 1, "it once")


def test_a_new_file_shows_its_beginning_and_its_size(serve: Any, open_zot: OpenZot, project: Path) -> None:
    content = "".join(f"row {i}\n" for i in range(1, 31))
    serve([CallTools([("write", {"path": "new.txt", "content": content})]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    [call] = calls_of(terminal)
    assert call[0] == "● Created new.txt (+30)"
    assert call[1] == "+  1 row 1" and call[10] == "+ 10 row 10"
    assert call[11:] == ["… 20 more rows · ctrl+o shows all"]


def test_a_diff_is_folded_near_forty_rows(serve: Any, open_zot: OpenZot, project: Path) -> None:
    (project / "f.txt").write_text(OLD)
    edits = [{"oldText": OLD, "newText": OLD.replace("line", "row")}]
    serve([CallTools([("edit", {"path": "f.txt", "edits": edits})]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    [call] = calls_of(terminal)
    assert call[0] == "● Edited f.txt (+60 −60)" and len(call) == 42
    assert call[-1] == "… 80 more rows · ctrl+o shows all"
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    terminal.wait_for("+ 60 row 60")


def test_changed_words_have_a_stronger_tint(serve: Any, open_zot: OpenZot, project: Path) -> None:
    (project / "f.txt").write_text("the price is 10 for all of them\n")
    edits = [{"oldText": "10", "newText": "12"}]
    serve([CallTools([("edit", {"path": "f.txt", "edits": edits})]), Say("all done")])
    terminal = open_zot(rows=40)
    run(terminal)
    grounds = [terminal.cell(row, at).bg for row in ("-  1 the price is 10", "+  1 the price is 12") for at in (5, 18)]
    assert grounds == ["5f0000", "870000", "005f00", "008700"]
    assert terminal.cell("+  1 the price is 12 for all of them", 36).bg == "default", "nothing is padded"


def test_write_without_changes_is_labelled_unchanged(serve: Any, open_zot: OpenZot, project: Path) -> None:
    (project / "f.txt").write_text("same\n")
    (project / "b.bin").write_bytes(b"\0\1")
    calls = [("write", {"path": name, "content": "same\n"}) for name in ("f.txt", "b.bin")]
    serve([CallTools(calls), Say("all done")])
    terminal = open_zot(rows=40)
    run(terminal)
    assert [call for call in calls_of(terminal)] == [["● Wrote f.txt · unchanged"], ["● Wrote b.bin"]]
