"""Targets of vi's motions: a table of letters, and the search for a character of the line."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from zot.tui import text_motions as to
from zot.tui.text_buffer import BufferLine, Position, TextBuffer
from zot.tui.text_motions import Motion


class ViMotion(NamedTuple):
    """``inclusive`` ones include the target character, ``linewise`` ones whole lines."""

    go: Motion
    inclusive: bool = False
    linewise: bool = False


def left(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, max(at.column - 1, 0))


def right(buffer: TextBuffer, at: Position) -> Position:
    return Position(at.line, min(at.column + 1, len(buffer.lines[at.line])))


def _down(buffer: TextBuffer, at: Position) -> Position:
    line = min(at.line + 1, len(buffer.lines) - 1)
    return Position(line, min(at.column, len(buffer.lines[line])))


def _up(buffer: TextBuffer, at: Position) -> Position:
    line = max(at.line - 1, 0)
    return Position(line, min(at.column, len(buffer.lines[line])))


MOTIONS = {
    "h": ViMotion(left),
    "l": ViMotion(right),
    "space": ViMotion(right),
    "w": ViMotion(to.next_word),
    "b": ViMotion(to.previous_word),
    "e": ViMotion(to.word_last, inclusive=True),
    "W": ViMotion(partial(to.next_word, kinds=to.big_kind_of)),
    "B": ViMotion(partial(to.previous_word, kinds=to.big_kind_of)),
    "E": ViMotion(partial(to.word_last, kinds=to.big_kind_of), inclusive=True),
    "0": ViMotion(to.line_start),
    "^": ViMotion(to.first_letter),
    "$": ViMotion(to.line_end),
    "j": ViMotion(_down, linewise=True),
    "k": ViMotion(_up, linewise=True),
    "gg": ViMotion(to.text_start, linewise=True),
    "G": ViMotion(to.text_end, linewise=True),
}


class Find(NamedTuple):
    """``f F t T`` and the character to find."""

    name: str
    wanted: str

    @property
    def forward(self) -> bool:
        return self.name in "ft"

    def reversed(self) -> Find:
        return Find(self.name.swapcase(), self.wanted)

    def target(self, buffer: TextBuffer, at: Position, count: int, *, again: bool = False) -> Position | None:
        """The count-th match in the line; None if there are fewer. ``again``: ``t`` moves on."""
        line, step = buffer.lines[at.line], 1 if self.forward else -1
        short = step if self.name in "tT" else 0
        column = at.column + (short if again else 0)
        for _ in range(count):
            column += step
            while 0 <= column < len(line) and line[column] != self.wanted:
                column += step
            if not 0 <= column < len(line):
                return None
        return Position(at.line, column - short)


def changed_word(buffer: TextBuffer, at: Position, count: int, *, big: bool) -> Position | None:
    """Where ``cw`` stops: at the end of the word without the space after it; None without a word."""
    kinds = to.big_kind_of if big else to.kind_of
    line, column = buffer.lines[at.line], at.column
    if column >= len(line) or kinds(line[column]) == 0:
        return None
    while column + 1 < len(line) and kinds(line[column + 1]) == kinds(line[column]):
        column += 1
    target = Position(at.line, column)
    for _ in range(count - 1):
        target = to.word_last(buffer, target, kinds)
    return right(buffer, target)


# Text objects (`iw`, `a"`, `i(`): start and end. Words and quotes stay in their line; brackets span lines and nest.

Span = tuple[Position, Position]

_BRACKETS = {name: (names[0], names[1]) for names in ("()b", "[]", "{}B", "<>") for name in names}
_QUOTES = "\"'`"


def text_object(buffer: TextBuffer, at: Position, name: str, count: int = 1) -> Span | None:
    """``name`` is ``i`` or ``a`` and the letter of the object."""
    around, kind = name[0] == "a", name[1:]
    if kind in ("w", "W"):
        return _word(buffer, at, around=around, big=kind == "W", count=count)
    if kind in _QUOTES and kind:
        return _quoted(buffer, at, kind, around=around)
    if kind in _BRACKETS:
        return _bracketed(buffer, at, *_BRACKETS[kind], around=around, count=count)
    return None


def _word(buffer: TextBuffer, at: Position, *, around: bool, big: bool, count: int) -> Span | None:
    """A run of one kind; ``a`` includes the space after it, or else before it."""
    line, kinds = buffer.lines[at.line], to.big_kind_of if big else to.kind_of
    if not line:
        return (at, at)
    start = min(at.column, len(line) - 1)
    while start and kinds(line[start - 1]) == kinds(line[min(at.column, len(line) - 1)]):
        start -= 1
    end, spaced = start, False
    for _ in range(count):
        spaced = kinds(line[end]) == 0 if end < len(line) else spaced
        end = _run(line, end, kinds)
        if around and end < len(line) and (spaced or kinds(line[end]) == 0):
            end, spaced = _run(line, end, kinds), True
    if around and not spaced:
        while start and line[start - 1].isspace():
            start -= 1
    return Position(at.line, start), Position(at.line, end)


def _run(line: BufferLine, column: int, kinds: to.Kinds) -> int:
    """The position after the run that begins here."""
    end = column
    while end < len(line) and kinds(line[end]) == kinds(line[column]):
        end += 1
    return end


def _quoted(buffer: TextBuffer, at: Position, quote: str, *, around: bool) -> Span | None:
    """The pair around the cursor, or the next one of the line."""
    line = buffer.lines[at.line]
    places, escaped = list[int](), False
    for column, unit in enumerate(line):
        if unit == quote and not escaped:
            places.append(column)
        escaped = unit == "\\" and not escaped
    for first, last in zip(places[::2], places[1::2], strict=False):
        if at.column > last:
            continue
        if not around:
            return Position(at.line, first + 1), Position(at.line, last)
        end = last + 1
        while end < len(line) and line[end].isspace():
            end += 1
        while end == last + 1 and first and line[first - 1].isspace():
            first -= 1
        return Position(at.line, first), Position(at.line, end)
    return None


def _bracketed(
    buffer: TextBuffer, at: Position, opening: str, closing: str, *, around: bool, count: int
) -> Span | None:
    start = _unmatched(buffer, at, opening, closing, count)
    end = _match(buffer, start, opening, closing) if start is not None else None
    if start is None or end is None:
        return None
    if around:
        return start, to.right(buffer, end)
    return _inside(buffer, to.right(buffer, start), end)


def _inside(buffer: TextBuffer, start: Position, end: Position) -> Span:
    """Brackets alone at the ends of their lines keep these lines."""
    if start.column == len(buffer.lines[start.line]) and start.line < end.line:
        start = Position(start.line + 1, 0)
        if not "".join(buffer.lines[end.line][: end.column]).strip() and start.line < end.line:
            end = to.line_end(buffer, Position(end.line - 1, 0))
    return start, max(start, end)


def _unmatched(buffer: TextBuffer, at: Position, opening: str, closing: str, count: int) -> Position | None:
    """Backwards: the count-th unclosed opening bracket; one under the cursor counts."""
    number, column, depth = at.line, at.column, count
    line = buffer.lines[at.line]
    if (line[at.column] if at.column < len(line) else "") == closing:
        column -= 1
    while number >= 0:
        line = buffer.lines[number]
        for place in range(min(column, len(line) - 1), -1, -1):
            depth += (line[place] == closing) - (line[place] == opening)
            if line[place] == opening and not depth:
                return Position(number, place)
        number -= 1
        column = len(buffer.lines[number]) if number >= 0 else 0
    return None


def _match(buffer: TextBuffer, start: Position, opening: str, closing: str) -> Position | None:
    depth, column = 0, start.column
    for number in range(start.line, len(buffer.lines)):
        line = buffer.lines[number]
        for place in range(column, len(line)):
            depth += (line[place] == opening) - (line[place] == closing)
            if not depth:
                return Position(number, place)
        column = 0
    return None
