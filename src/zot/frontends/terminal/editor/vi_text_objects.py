"""vi's text objects: what ``iw``, ``a"`` or ``i(`` mean around a place, as where it begins and where it ends.

Words and quotes stay in their line; brackets reach over lines and nest. None where there is no such thing.
"""

from __future__ import annotations

from zot.tui import text_motions as to
from zot.tui.text_buffer import Line, Position, TextBuffer

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
    """A run of one kind; ``a`` takes the space behind it along, or else the space before it."""
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


def _run(line: Line, column: int, kinds: to.Kinds) -> int:
    """Behind the run that begins here."""
    end = column
    while end < len(line) and kinds(line[end]) == kinds(line[column]):
        end += 1
    return end


def _quoted(buffer: TextBuffer, at: Position, quote: str, *, around: bool) -> Span | None:
    """The pair the cursor stands in, or the next one of the line."""
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
    """Brackets that stand alone at the ends of their lines keep these lines."""
    if start.column == len(buffer.lines[start.line]) and start.line < end.line:
        start = Position(start.line + 1, 0)
        if not "".join(buffer.lines[end.line][: end.column]).strip() and start.line < end.line:
            end = to.line_end(buffer, Position(end.line - 1, 0))
    return start, max(start, end)


def _unmatched(buffer: TextBuffer, at: Position, opening: str, closing: str, count: int) -> Position | None:
    """Backwards: the count-th opening bracket that is still open here; one the cursor stands on counts."""
    number, column, depth = at.line, at.column, count
    if _unit(buffer, at) == closing:
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


def _unit(buffer: TextBuffer, at: Position) -> str:
    line = buffer.lines[at.line]
    return line[at.column] if at.column < len(line) else ""
