"""Text being edited: lines of units, cursor, undo and cut text.
A unit is one user-perceived character or a ``Token`` for something longer. Every change is one ``replace``, so it
can be undone. Lines are replaced, never changed, so they can be cache keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from zot.tui.width import clusters

_MOST_CHANGES = 1000  # undo steps
_MOST_CUTS = 20  # cuts to put back
_NEIGHBOURS = 32  # range in which a new character can change grapheme boundaries; flags come in pairs


class Position(NamedTuple):
    """A position between units: ``column`` units of ``line`` are before it."""

    line: int
    column: int


class Token(str):
    """Text that the cursor treats as one unit; subclasses add its content."""

    __slots__ = ()


class BufferLine(list[str]):
    """The units of one line. ``layout`` belongs to the layout code."""

    layout: tuple[int, list[tuple[int, int]]] | None = None


class TextBuffer:
    def __init__(self) -> None:
        self.lines: list[BufferLine] = [BufferLine()]
        self.cursor = Position(0, 0)
        self.revision = 0  # incremented by every change
        self._undo = UndoStack()

    @property
    def text(self) -> str:
        """The whole text, with tokens as shown."""
        return "\n".join("".join(line) for line in self.lines)

    @property
    def empty(self) -> bool:
        return len(self.lines) == 1 and not self.lines[0]

    @property
    def end(self) -> Position:
        return Position(len(self.lines) - 1, len(self.lines[-1]))

    @property
    def line(self) -> BufferLine:
        """The line of the cursor."""
        return self.lines[self.cursor.line]

    def units(self, start: Position | None = None, end: Position | None = None) -> list[str]:
        """The units between two positions; newlines are separate units."""
        start, end = start or Position(0, 0), end or self.end
        if start.line == end.line:
            return self.lines[start.line][start.column : end.column]
        found = self.lines[start.line][start.column :]
        for number in range(start.line + 1, end.line):
            found += ["\n", *self.lines[number]]
        return [*found, "\n", *self.lines[end.line][: end.column]]

    # --- moving

    def move(self, position: Position) -> None:
        """Set the cursor; positions outside the text become the nearest one."""
        self._undo.pause()
        line = min(max(position.line, 0), len(self.lines) - 1)
        self.cursor = Position(line, min(max(position.column, 0), len(self.lines[line])))

    # --- changing

    def insert(self, units: Sequence[str], *, typed: bool = False) -> None:
        """Insert at the cursor, which moves behind it. ``typed`` units are undone by word."""
        self.replace(self.cursor, self.cursor, units, typed=typed)

    def replace(self, start: Position, end: Position, units: Sequence[str], *, typed: bool = False) -> None:
        """Replace ``start`` to ``end`` by ``units``; the cursor moves behind them."""
        if start == end and not units:
            return
        before = self.cursor
        start, removed, inserted, after = self._healed(start, end, list(units))
        self._splice(start, end_of(start, removed), inserted)
        self.cursor = after
        if removed or inserted:
            self._undo.add(BufferEdit(start, removed, inserted, before, after), typed=typed)

    def reset(self, units: Sequence[str] = ()) -> None:
        """Set a new text without undo steps."""
        self.lines = [BufferLine()]
        self.cursor = self._splice(Position(0, 0), Position(0, 0), list(units))
        self._undo = UndoStack()

    def undo(self) -> bool:
        """Undo the last change; True if there was one."""
        edit = self._undo.undo()
        if edit is not None:
            self._splice(edit.start, end_of(edit.start, edit.inserted), edit.removed)
            self.cursor = edit.before
        return edit is not None

    def redo(self) -> bool:
        edit = self._undo.redo()
        if edit is not None:
            self._splice(edit.start, end_of(edit.start, edit.removed), edit.inserted)
            self.cursor = edit.after
        return edit is not None

    def _splice(self, start: Position, end: Position, units: Iterable[str]) -> Position:
        """Replace without an undo step; returns the position after the new units."""
        head, tail = self.lines[start.line][: start.column], self.lines[end.line][end.column :]
        fresh = [BufferLine(part) for part in _split(units)]
        after = Position(start.line + len(fresh) - 1, len(fresh[-1]) + (len(head) if len(fresh) == 1 else 0))
        fresh[0][:0] = head
        fresh[-1].extend(tail)
        self.lines[start.line : end.line + 1] = fresh
        self.revision += 1
        return after

    def _healed(
        self, start: Position, end: Position, units: list[str]
    ) -> tuple[Position, list[str], list[str], Position]:
        """The same change with touching characters split again: start, removed, inserted, cursor."""
        left, right = self.lines[start.line], self.lines[end.line]
        edges = [*left[start.column - 1 : start.column], *units[:1], *units[-1:], *right[end.column : end.column + 1]]
        removed = self.units(start, end)
        if all(unit.isascii() for unit in edges):
            return start, removed, units, end_of(start, units)
        before = _touching(reversed(left[max(start.column - _NEIGHBOURS, 0) : start.column]))[::-1]
        after = _touching(right[end.column : end.column + _NEIGHBOURS])
        start = Position(start.line, start.column - len(before))
        mark = sum(map(len, before)) + sum(map(len, units))
        inserted = list(segmented([*before, *units, *after]))
        cursor = end_of(start, list(_up_to(inserted, mark)))
        start, removed, inserted = _trimmed(start, [*before, *removed, *after], inserted)
        return start, removed, inserted, cursor


class BufferEdit(NamedTuple):
    """At ``start``, ``inserted`` replaced ``removed``; the cursor moved from ``before`` to ``after``."""

    start: Position
    removed: Sequence[str]
    inserted: Sequence[str]
    before: Position
    after: Position


class UndoStack:
    """Undo and redo steps. Typing is one step per word, other changes one each."""

    def __init__(self) -> None:
        self._done: list[BufferEdit] = []
        self._undone: list[BufferEdit] = []
        self._open = False  # the next typed character may join the last change

    def pause(self) -> None:
        """The cursor moved: typing starts a new change."""
        self._open = False

    def add(self, edit: BufferEdit, *, typed: bool = False) -> None:
        self._undone.clear()
        if typed and self._open and _continues(self._done[-1], edit):
            last = self._done.pop()
            edit = BufferEdit(last.start, last.removed, [*last.inserted, *edit.inserted], last.before, edit.after)
        self._done.append(edit)
        del self._done[:-_MOST_CHANGES]
        self._open = typed

    def undo(self) -> BufferEdit | None:
        return self._move(self._done, self._undone)

    def redo(self) -> BufferEdit | None:
        return self._move(self._undone, self._done)

    def _move(self, source: list[BufferEdit], target: list[BufferEdit]) -> BufferEdit | None:
        self._open = False
        if not source:
            return None
        target.append(source.pop())
        return target[-1]


def _continues(last: BufferEdit, edit: BufferEdit) -> bool:
    """True if typed directly after the last change, and not the start of a new word."""
    if edit.removed or last.after != edit.start or not last.inserted or not edit.inserted:
        return False
    if (
        end_of(last.start, last.inserted) != last.after
    ):  # it merged with the text after the cursor, so nothing can join it
        return False
    return not (last.inserted[-1].isspace() and not edit.inserted[0].isspace()) and "\n" not in edit.inserted


class KillRing:
    """Cut text to put back. Consecutive cuts become one."""

    def __init__(self) -> None:
        self._kept: list[list[str]] = []
        self._joining = False

    def cut(self, units: Sequence[str], *, before: bool = False) -> None:
        """Store a cut; ``before`` if it was before the cursor, so that it precedes the last one."""
        if not units:
            return
        if self._joining and self._kept:
            last = self._kept.pop()
            units = [*units, *last] if before else [*last, *units]
        self._kept.append(list(units))
        del self._kept[:-_MOST_CUTS]
        self._joining = True

    def other_key(self) -> None:
        """Another action: the next cut is separate."""
        self._joining = False

    @property
    def last(self) -> list[str]:
        return list(self._kept[-1]) if self._kept else []

    def rotate(self) -> list[str]:
        """The cut before the last; it becomes the last."""
        if self._kept:
            self._kept.insert(0, self._kept.pop())
        return self.last


def units_of(text: str) -> list[str]:
    """A text as units, newlines among them."""
    if text.isascii():
        return list(text)
    found: list[str] = []
    for number, line in enumerate(text.split("\n")):
        if number:
            found.append("\n")
        found.extend(cluster for cluster, _ in clusters(line))
    return found


def end_of(start: tuple[int, int], units: Sequence[str]) -> Position:
    """The end of a text that begins at ``start``."""
    breaks = units.count("\n")
    if not breaks:
        return Position(start[0], start[1] + len(units))
    last = next(i for i, unit in enumerate(reversed(units)) if unit == "\n")
    return Position(start[0] + breaks, last)


def segmented(units: Iterable[str]) -> Iterator[str]:
    """The same text with its characters split again; tokens and newlines stay."""
    run: list[str] = []
    for unit in units:
        if isinstance(unit, Token) or unit == "\n":
            yield from units_of("".join(run))
            run = []
            yield unit
        else:
            run.append(unit)
    yield from units_of("".join(run))


def _split(units: Iterable[str]) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    for unit in units:
        if unit == "\n":
            lines.append([])
        else:
            lines[-1].append(unit)
    return lines


def _touching(units: Iterable[str]) -> list[str]:
    """The units up to the first token."""
    found: list[str] = []
    for unit in units:
        if isinstance(unit, Token):
            break
        found.append(unit)
    return found


def _up_to(units: Iterable[str], length: int) -> Iterator[str]:
    """Number of units that cover ``length`` code points."""
    for unit in units:
        if length <= 0:
            return
        length -= len(unit)
        yield unit


def _trimmed(start: Position, removed: list[str], inserted: list[str]) -> tuple[Position, list[str], list[str]]:
    """Without common prefix and suffix, to keep a record small."""
    head = _shared(removed, inserted)
    start = end_of(start, removed[:head])
    removed, inserted = removed[head:], inserted[head:]
    tail = _shared(removed[::-1], inserted[::-1])
    return start, removed[: len(removed) - tail], inserted[: len(inserted) - tail]


def _shared(one: list[str], other: list[str]) -> int:
    """Number of equal units at the front; tokens are never equal, even if they look alike."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second or isinstance(first, Token):
            break
        count += 1
    return count
