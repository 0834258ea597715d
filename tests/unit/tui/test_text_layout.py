"""Rows of an edited text: every unit in one row, every place in one cell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from zot.tui.text_buffer import BufferLine, Position, TextBuffer, units_of
from zot.tui.text_layout import Scroll, above, below, cells_of, place_of, rows_of

Step = Callable[[TextBuffer, Position, int, int], Position | None]
TEXT = st.text(st.sampled_from("ab  _\n漢👍\u0301\t"), max_size=60)


def written(text: str) -> TextBuffer:
    buffer = TextBuffer()
    buffer.reset(units_of(text))
    return buffer


@given(TEXT, st.integers(4, 20))
def test_rows_contain_every_unit_once_and_fit_the_width(text: str, width: int) -> None:
    for line in written(text).lines:
        rows = rows_of(line, width)
        assert rows[0][0] == 0 and rows[-1][1] == len(line)
        assert all(one[1] == other[0] for one, other in pairwise(rows))
        for first, last in rows:
            hanging = last > first and line[last - 1] == " "
            assert sum(map(cells_of, line[first:last])) <= width + hanging
        assert all(first < last for first, last in rows[:-1])


@given(TEXT, st.integers(4, 20), st.integers(1, 6))
def test_the_window_shows_the_cursor_where_the_text_is(text: str, width: int, height: int) -> None:
    buffer, scroll = written(text), Scroll()
    for line in range(len(buffer.lines)):
        for column in range(len(buffer.lines[line]) + 1):
            buffer.move(Position(line, column))
            window = scroll.window(buffer, width, height)
            number, first, last = window.rows[window.row]
            assert number == line and first <= column <= last
            assert window.cell == sum(map(cells_of, buffer.lines[line][first:column])) <= width
            assert len(window.rows) <= height


@given(TEXT, st.integers(4, 20))
def test_walking_down_and_up_visits_every_row_once(text: str, width: int) -> None:
    buffer = written(text)
    expected = [(n, row) for n, line in enumerate(buffer.lines) for row in range(len(rows_of(line, width)))]
    assert _walked(buffer, width, Position(0, 0), below) == expected
    assert _walked(buffer, width, buffer.end, above) == expected[::-1]


def _walked(buffer: TextBuffer, width: int, at: Position | None, step: Step) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while at is not None:
        found.append((at.line, place_of(buffer, at, width)[0]))
        at = step(buffer, at, width, 0)
    return found


def test_long_unbroken_path_starts_in_place() -> None:
    """iface-137: a long unbroken path begins on the row it stands in and is not moved to the next."""
    line = written("see /a/very/long/path/without/a/space").lines[0]
    assert rows_of(line, 10)[0] == (0, 10)


@given(st.text(st.sampled_from("ab  "), max_size=80), st.integers(1, 20))
def test_plain_lines_wrap_as_any_other(text: str, width: int) -> None:
    plain, other = BufferLine(text), BufferLine(units_of(text.replace("a", "ä\u0323")))
    assert rows_of(plain, width) == rows_of(other, width)


def test_words_wrap_whole() -> None:
    line = written("one two three").lines[0]
    assert ["".join(line[a:b]) for a, b in rows_of(line, 9)] == ["one two ", "three"]
