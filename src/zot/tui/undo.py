"""What was changed, to be taken back and done again. Typing is one change per word, anything else one each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LIMIT = 1000

Place = tuple[int, int]


class Edit(NamedTuple):
    """At ``start``, ``removed`` gave way to ``inserted``; the cursor went from ``before`` to ``after``."""

    start: Place
    removed: Sequence[str]
    inserted: Sequence[str]
    before: Place
    after: Place


class UndoStack:
    def __init__(self) -> None:
        self._done: list[Edit] = []
        self._undone: list[Edit] = []
        self._open = False  # whether the next typed character may join the last change

    def pause(self) -> None:
        """The cursor went elsewhere: what is typed next is a change of its own."""
        self._open = False

    def add(self, edit: Edit, *, typed: bool = False) -> None:
        self._undone.clear()
        if typed and self._open and _continues(self._done[-1], edit):
            last = self._done.pop()
            edit = Edit(last.start, last.removed, [*last.inserted, *edit.inserted], last.before, edit.after)
        self._done.append(edit)
        del self._done[:-LIMIT]
        self._open = typed

    def undo(self) -> Edit | None:
        return self._move(self._done, self._undone)

    def redo(self) -> Edit | None:
        return self._move(self._undone, self._done)

    def _move(self, source: list[Edit], target: list[Edit]) -> Edit | None:
        self._open = False
        if not source:
            return None
        target.append(source.pop())
        return target[-1]


def _continues(last: Edit, edit: Edit) -> bool:
    """Typed right behind the last change, and not the beginning of a new word."""
    if edit.removed or last.after != edit.start or not last.inserted or not edit.inserted:
        return False
    if _end(last) != last.after:  # it touched what stands behind the cursor, and there is no "behind it" to join
        return False
    return not (last.inserted[-1].isspace() and not edit.inserted[0].isspace()) and "\n" not in edit.inserted


def _end(edit: Edit) -> Place:
    """Where what was inserted ends."""
    line, column = edit.start
    for unit in edit.inserted:
        line, column = (line + 1, 0) if unit == "\n" else (line, column + 1)
    return line, column
