"""Neighbouring reads and searches are one line: ``● Read a.py, b.py · searched "total"``.

They change nothing and their results are for the model, so a run of them is told once it is over; until then it is
live, because what is settled is never written again. A folded thought between two of them does not part them: how long
all such took stands behind.
"""

from __future__ import annotations

from typing import Any

from zot.frontends.terminal.screen import call_summary, tool_output
from zot.frontends.terminal.screen.tool_view import ToolView
from zot.tui.markdown import Painter
from zot.tui.tool_call_rows import Head, head_row
from zot.tui.widgets import duration
from zot.tui.width import cells

_ENDLESS = 1 << 20  # cells: as long as it would be
_NOUNS = {"read": ("file", "files"), "grep": ("pattern", "patterns"), "glob": ("pattern", "patterns")}


def joins_group(view: ToolView) -> bool:
    """Whether a call that is over may be told together with others: a failure and an image are for themselves."""
    result = view.result
    if result is None or view.name not in _NOUNS or view.extension or view.asked_for:
        return False
    return view.state == "done" and not tool_output.has_image(result)


class CallGroup:
    """Calls that are over and not settled yet, in their order."""

    def __init__(self) -> None:
        self._views: list[ToolView] = []
        self._thought_s = 0.0  # between them
        self._last: tuple[list[str], float] | None = None  # a thought that nothing followed so far

    def __bool__(self) -> bool:
        return bool(self._views)

    def add(self, view: ToolView) -> None:
        if self._last is not None:
            self._thought_s += self._last[1]
            self._last = None
        self._views.append(view)

    def think(self, row: list[str], seconds: float) -> None:
        """A thought after them, with the row it has if no other call joins them."""
        self._last = (row, seconds + (self._last[1] if self._last is not None else 0.0))

    def clear(self) -> None:
        self._views, self._thought_s, self._last = [], 0.0, None

    def blocks(self, painter: Painter, width: int) -> list[list[str]]:
        """The row of the calls, and that of a thought after them."""
        calls = group_rows(self._views, painter, width, self._thought_s)
        return [calls, self._last[0]] if self._last is not None else [calls]


def group_rows(views: list[ToolView], painter: Painter, width: int, thought_s: float = 0.0) -> list[str]:
    """One row: a single call as it always is, several by their names, or by their number where names are too long."""
    if len(views) <= 1:
        return [row for view in views for row in view.lines(painter, width)]
    kinds: dict[str, list[dict[str, Any]]] = {}
    for view in views:
        kinds.setdefault(view.name, []).append(view.arguments())
    named = _head([(name, _named(name, calls)) for name, calls in kinds.items()], " · ", thought_s)
    if cells(head_row(painter.theme, named, _ENDLESS)) <= width - 2:
        return [head_row(painter.theme, named, width)]
    counted = _head([(name, _counted(name, calls)) for name, calls in kinds.items()], ", ", thought_s)
    return [head_row(painter.theme, counted, width)]


def _head(parts: list[tuple[str, str]], joint: str, thought_s: float) -> Head:
    (first, told), *rest = parts
    more = [f"{call_summary.verb(name, 'done').lower()} {text}" for name, text in rest]
    outcome = ((f"thought for {duration(thought_s)}", "muted"),) if thought_s else ()
    return Head("done", call_summary.verb(first, "done"), joint.join([told, *more]), outcome)


def _named(name: str, calls: list[dict[str, Any]]) -> str:
    labels = (call_summary.subject(name, each, "") + call_summary.line_range(name, each) for each in calls)
    return ", ".join(dict.fromkeys(labels))


def _counted(name: str, calls: list[dict[str, Any]]) -> str:
    """A file that was read in two pieces is one file."""
    key = "path" if name == "read" else "pattern"
    number = len({str(arguments.get(key)) for arguments in calls})
    one, many = _NOUNS[name]
    return f"{number} {one if number == 1 else many}"
