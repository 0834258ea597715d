"""Where the units of a text stand in a column of a given width: rows broken at spaces, by cells.

A word that is wider than a row is split where it stands. Every unit is in exactly one row, so that each place of the
text has one cell and each cell one place. A line is laid out once and remembered until it changes or the width does.
"""

from __future__ import annotations

from typing import NamedTuple

from zot.tui.text_buffer import Line, Position, TextBuffer
from zot.tui.width import cells

TAB = "    "

Span = tuple[int, int]


class Window(NamedTuple):
    """``rows`` as (line, first unit, last unit + 1); the cursor's row among them and its cell."""

    rows: list[tuple[int, int, int]]
    row: int
    cell: int


def shown(unit: str) -> str:
    return TAB if unit == "\t" else unit


def cells_of(unit: str) -> int:
    """How wide a unit is."""
    if len(unit) == 1 and unit.isascii():
        return len(TAB) if unit == "\t" else 1
    return cells(unit)


def rows_of(line: Line, width: int) -> list[Span]:
    """The rows of a line, as ranges of its units; at least one."""
    if line.layout is None or line.layout[0] != width:
        line.layout = (width, _broken(line, width))
    return line.layout[1]


def _broken(line: Line, width: int) -> list[Span]:
    if len(line) <= width and all(len(unit) == 1 and unit.isascii() and unit != "\t" for unit in line):
        return [(0, len(line))]
    rows: list[Span] = []
    start = used = 0
    for first, last, size in _words(line):
        if used + size > width and used and size <= width and not line[first].isspace():
            rows.append((start, first))
            start, used = first, 0
        for index in range(first, last):
            step = cells_of(line[index])
            if used + step > width and index > start:
                rows.append((start, index))
                start, used = index, 0
            used += step
    return [*rows, (start, len(line))]


def _words(line: Line) -> list[tuple[int, int, int]]:
    """Runs of spaces and of anything else: first unit, last + 1, cells."""
    found: list[tuple[int, int, int]] = []
    first = size = 0
    for index, unit in enumerate(line):
        if index > first and (unit == " ") is not (line[index - 1] == " "):
            found.append((first, index, size))
            first, size = index, 0
        size += cells_of(unit)
    return [*found, (first, len(line), size)] if line else []


def place_of(buffer: TextBuffer, at: Position, width: int) -> tuple[int, int]:
    """The row within its line, and the cell, of a place."""
    line = buffer.lines[at.line]
    rows = rows_of(line, width)
    row = next((i for i, (_, last) in enumerate(rows) if at.column < last), len(rows) - 1)
    return row, sum(cells_of(unit) for unit in line[rows[row][0] : at.column])


def _column_at(line: Line, rows: list[Span], row: int, cell: int) -> int:
    """The place in a row nearest to a cell from the left; the end of a row belongs to the next one."""
    first, last = rows[row]
    for index in range(first, last):
        cell -= cells_of(line[index])
        if cell < 0:
            return index
    return last if row == len(rows) - 1 else max(last - 1, first)


def above(buffer: TextBuffer, at: Position, width: int, cell: int) -> Position | None:
    """The place one visual row higher, nearest to ``cell``; None on the first row of all."""
    row, _ = place_of(buffer, at, width)
    if not row and not at.line:
        return None
    number = at.line if row else at.line - 1
    rows = rows_of(buffer.lines[number], width)
    return Position(number, _column_at(buffer.lines[number], rows, row - 1 if row else len(rows) - 1, cell))


def below(buffer: TextBuffer, at: Position, width: int, cell: int) -> Position | None:
    """The place one visual row lower; None on the last row of all."""
    row, _ = place_of(buffer, at, width)
    rows = rows_of(buffer.lines[at.line], width)
    if row + 1 < len(rows):
        return Position(at.line, _column_at(buffer.lines[at.line], rows, row + 1, cell))
    if at.line + 1 == len(buffer.lines):
        return None
    line = buffer.lines[at.line + 1]
    return Position(at.line + 1, _column_at(line, rows_of(line, width), 0, cell))


class Scroll:
    """Which rows of a tall text are shown: as little movement as keeps the cursor in sight."""

    def __init__(self) -> None:
        self._top = (0, 0)  # line and row of it

    def window(self, buffer: TextBuffer, width: int, height: int) -> Window:
        """At most ``height`` rows around the cursor; looks at no more lines than it shows."""
        row, cell = place_of(buffer, buffer.cursor, width)
        cursor = (buffer.cursor.line, row)
        top = min(self._top, cursor)
        top = max(top, _up(buffer, width, cursor, height - 1))
        top = min(top, _up(buffer, width, _last(buffer, width), height - 1))
        self._top = top
        rows = _down(buffer, width, top, height)
        first = rows_of(buffer.lines[cursor[0]], width)[row]
        return Window(rows, rows.index((cursor[0], *first)), cell)


def _last(buffer: TextBuffer, width: int) -> tuple[int, int]:
    return len(buffer.lines) - 1, len(rows_of(buffer.lines[-1], width)) - 1


def _up(buffer: TextBuffer, width: int, at: tuple[int, int], steps: int) -> tuple[int, int]:
    number, row = at
    while steps > row and number:
        steps -= row + 1
        number -= 1
        row = len(rows_of(buffer.lines[number], width)) - 1
    return number, max(row - steps, 0)


def _down(buffer: TextBuffer, width: int, top: tuple[int, int], height: int) -> list[tuple[int, int, int]]:
    number, row = top
    found: list[tuple[int, int, int]] = []
    while number < len(buffer.lines) and len(found) < height:
        spans = rows_of(buffer.lines[number], width)[row:]
        found += [(number, *span) for span in spans[: height - len(found)]]
        number, row = number + 1, 0
    return found
