"""Text for a user's decision: every character is in the rows, and the rows fit."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.system.visible_text import escape_lines
from zot.tui.decision_text import decision_rows, folded
from zot.tui.theme import built_in
from zot.tui.width import cells, visible

THEME = built_in()


def shown(text: str, width: int = 20) -> list[str]:
    return [visible(row) for row in decision_rows(text, "fg", THEME, width)]


def test_line_break_is_marked_and_a_fold_is_not() -> None:
    assert shown("# a comment\nrm -rf x") == ["# a comment↩", "rm -rf x"]
    assert shown("# a comment that is long rm") == ["# a comment that is ", "  long rm"]


def test_spaces_at_a_fold_stay() -> None:
    assert shown("a" * 18 + " " * 6 + "b", 20) == ["a" * 18 + "  ", "      b"]


def test_spelled_out_characters_have_warning_colour() -> None:
    [row] = decision_rows("a\x1bb", "fg", THEME, 20)
    assert THEME.paint("warning", "⟨ESC⟩", bold=True) in row


@given(st.text(max_size=200), st.integers(1, 30))
def test_property_the_rows_are_the_text_and_fit(text: str, width: int) -> None:
    for line in escape_lines(text):
        rows = folded(line, width)
        assert "".join(rows) == line
        assert all(cells(row) <= max(width, 2) for row in rows)


@pytest.mark.parametrize("piece", ["x", "漢", "é\u0301", "x ", " ", "\x1b", "漢 ⟨"])
def test_a_huge_line_is_folded_in_linear_time(piece: str) -> None:
    began = time.process_time()
    decision_rows(piece * (300_000 // len(piece)), "fg", THEME, 80)
    assert time.process_time() - began < 10
