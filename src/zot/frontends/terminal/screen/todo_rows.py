"""The model's list of steps above the editor: at most six rows, one row on a low screen or when all steps are done."""

from __future__ import annotations

from collections.abc import Sequence

from zot.core.events import Todo
from zot.features.todo.todo_list import current, progress
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import cut

MOST_ROWS = 6
_ROOMY = 20  # rows of the screen; below, the list is one row
_MARKS = {"done": ("✓", "muted"), "in_progress": ("▸", "accent"), "pending": ("○", "fg")}


class TodoRows:
    """``items`` is the present list. A finished one disappears with the next prompt."""

    def __init__(self) -> None:
        self.items: Sequence[Todo] = ()

    def prompt_begins(self) -> None:
        if current(self.items) is None:
            self.items = ()

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        items = self.items
        if not items:
            return []
        now = current(items)
        if now is None:
            return [theme.paint("muted", cut(f"  ✓ {progress(items)}", width))]
        if height < _ROOMY:
            return [theme.paint("accent", cut(f"  ▸ {progress(items)} · {one_line(now.text)}", width))]
        if len(items) <= MOST_ROWS:
            return [_row(todo, theme, width) for todo in items]
        return self._part(now, theme, width)

    def _part(self, now: Todo, theme: Theme, width: int) -> list[str]:
        """The steps around the present one, under a row that counts all."""
        room = MOST_ROWS - 2
        at = next(place for place, todo in enumerate(self.items) if todo is now)
        first = max(min(at - 1, len(self.items) - room), 0)
        shown = self.items[first : first + room]
        left = len(self.items) - first - len(shown)
        more = f" · {left} more below" if left else ""
        head = theme.paint("muted", cut(f"  {progress(self.items)}{more}", width))
        return [head, *(_row(todo, theme, width) for todo in shown)]


def _row(todo: Todo, theme: Theme, width: int) -> str:
    mark, role = _MARKS[todo.status]
    return theme.paint(role, cut(f"  {mark} {one_line(todo.text)}", width), bold=todo.status == "in_progress")
