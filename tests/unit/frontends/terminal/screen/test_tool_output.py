"""Output rows of a tool call whose result has an unexpected format."""

from __future__ import annotations

from zot.frontends.terminal.screen.tool_output import edit_diff_rows, read_rows
from zot.tui.markdown import Painter
from zot.tui.theme import built_in
from zot.tui.width import visible


def test_a_line_number_of_5000_digits_is_text() -> None:
    """Attack: a session of another program with huge line numbers."""
    rows = read_rows("9" * 5000 + "\tx", {}, {}, "a.txt", Painter.of(built_in()), 40)
    assert visible(rows[0]).startswith("   1 9999")


def test_an_edit_whose_difference_is_any_text_is_shown() -> None:
    rows = edit_diff_rows("done\n+ok", {}, "a.py", Painter.of(built_in()), 40)
    assert [visible(row) for row in rows] == ["done", "+    ok"]


def test_the_notes_below_a_file_keep_their_order() -> None:
    rows = read_rows("a\n... one]\n... two]", {}, {}, "", Painter.of(built_in()), 40)
    assert [visible(row) for row in rows][-2:] == ["... one]", "... two]"]
