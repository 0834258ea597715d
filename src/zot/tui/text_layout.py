"""Lays out text in rows of a given width: breaks at spaces, splits words wider than a row.
Every unit is in exactly one row; a space that does not fit hangs over the edge. Lines are cached."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from zot.tui.text_buffer import BufferLine, Position, TextBuffer
from zot.tui.width import cells

TAB = "    "

Span = tuple[int, int]


class TextWindow(NamedTuple):
    """``rows`` as (line, first unit, last unit + 1); the cursor's row among them and its cell."""

    rows: list[tuple[int, int, int]]
    row: int
    cell: int


def shown(unit: str) -> str:
    return TAB if unit == "\t" else unit


def cells_of(unit: str) -> int:
    """The width of a unit."""
    if len(unit) == 1 and unit.isascii():
        return len(TAB) if unit == "\t" else 1
    return _wide(unit)


_wide = lru_cache(4096)(cells)


def rows_of(line: BufferLine, width: int) -> list[Span]:
    """The rows of a line, as ranges of its units; at least one."""
    if line.layout is None or line.layout[0] != width:
        line.layout = (width, _broken(line, width))
    return line.layout[1]


def _broken(line: BufferLine, width: int) -> list[Span]:
    text = "".join(line)
    if len(text) == len(line) and text.isascii() and "\t" not in text:
        return _broken_text(text, width)
    rows: list[Span] = []
    start = used = 0
    for index, unit in enumerate(line):
        size = cells_of(unit)
        if used + size > width and index > start:
            word = _word_start(line, start, index)
            stop = word if word > start and _fits(line, word, width) else index
            stop += line[stop] == " "
            rows.append((start, stop))
            start, used = stop, sum(map(cells_of, line[stop:index]))
        used += size if index >= start else 0
    return [*rows, (start, len(line))]


def _broken_text(text: str, width: int) -> list[Span]:
    """The same for a line of one-cell characters, the usual case."""
    rows: list[Span] = []
    start = 0
    while len(text) - start > width:
        stop = start + width
        word = text.rfind(" ", start, stop) + 1
        if text[stop] != " " and word > start:
            end = text.find(" ", stop, word + width + 1)
            if end >= 0 or len(text) - word <= width:
                stop = word
        stop += text[stop] == " "
        rows.append((start, stop))
        start = stop
    return [*rows, (start, len(text))]


def _word_start(line: BufferLine, start: int, index: int) -> int:
    """The start of the word at ``index``; ``index`` if it is a space."""
    if line[index] == " ":
        return index
    while index > start and line[index - 1] != " ":
        index -= 1
    return index


def _fits(line: BufferLine, word: int, width: int) -> bool:
    """True if the word that begins here fits one row; checks no further than that."""
    for index in range(word, len(line)):
        if line[index] == " ":
            break
        width -= cells_of(line[index])
        if width < 0:
            return False
    return True


def place_of(buffer: TextBuffer, at: Position, width: int) -> tuple[int, int]:
    """Row within its line, and cell, of a position."""
    line = buffer.lines[at.line]
    rows = rows_of(line, width)
    row = next((i for i, (_, last) in enumerate(rows) if at.column < last), len(rows) - 1)
    return row, sum(cells_of(unit) for unit in line[rows[row][0] : at.column])


def _column_at(line: BufferLine, rows: list[Span], row: int, cell: int) -> int:
    """The position in a row nearest to a cell; the end of a row belongs to the next one."""
    first, last = rows[row]
    for index in range(first, last):
        cell -= cells_of(line[index])
        if cell < 0:
            return index
    return last if row == len(rows) - 1 else max(last - 1, first)


def above(buffer: TextBuffer, at: Position, width: int, cell: int) -> Position | None:
    """The position one visual row higher, nearest to ``cell``; None on the first row."""
    row, _ = place_of(buffer, at, width)
    if not row and not at.line:
        return None
    number = at.line if row else at.line - 1
    rows = rows_of(buffer.lines[number], width)
    return Position(number, _column_at(buffer.lines[number], rows, row - 1 if row else len(rows) - 1, cell))


def below(buffer: TextBuffer, at: Position, width: int, cell: int) -> Position | None:
    """The position one visual row lower; None on the last row."""
    row, _ = place_of(buffer, at, width)
    rows = rows_of(buffer.lines[at.line], width)
    if row + 1 < len(rows):
        return Position(at.line, _column_at(buffer.lines[at.line], rows, row + 1, cell))
    if at.line + 1 == len(buffer.lines):
        return None
    line = buffer.lines[at.line + 1]
    return Position(at.line + 1, _column_at(line, rows_of(line, width), 0, cell))


class Scroll:
    """The visible rows of a tall text: moves as little as needed to show the cursor."""

    def __init__(self) -> None:
        self._top = (0, 0)  # line and its row

    def window(self, buffer: TextBuffer, width: int, height: int) -> TextWindow:
        """At most ``height`` rows around the cursor; examines only the shown lines."""
        row, cell = place_of(buffer, buffer.cursor, width)
        cursor = (buffer.cursor.line, row)
        top = min(self._top, cursor)
        top = max(top, _up(buffer, width, cursor, height - 1))
        last = len(buffer.lines) - 1, len(rows_of(buffer.lines[-1], width)) - 1
        top = min(top, _up(buffer, width, last, height - 1))
        self._top = top
        rows = _down(buffer, width, top, height)
        first = rows_of(buffer.lines[cursor[0]], width)[row]
        return TextWindow(rows, rows.index((cursor[0], *first)), cell)


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
