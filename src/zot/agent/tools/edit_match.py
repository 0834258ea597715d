"""Finding the text each edit means: exactly once in the file, or an error that helps to get it right.

All edits are checked against the original text before anything is changed; all their faults are told at once.
"""

from __future__ import annotations

from itertools import pairwise

from zot.agent.tools.edit_hints import not_found_hint
from zot.agent.tools.edit_text import Span, plain
from zot.errors import ToolError

_MOST_LINES_NAMED = 10
_MOST_COUNTED = 10_000


def locate(body: str, edits: list[tuple[str, str]]) -> list[Span]:
    """The spans of all edits, sorted; raises ToolError when any does not fit."""
    spans: list[Span] = []
    faults: list[str] = []
    for number, (old, new) in enumerate(edits, 1):
        span = _find(body, number, plain(old).removeprefix("\ufeff"), plain(new).removeprefix("\ufeff"))
        if isinstance(span, Span):
            spans.append(span)
        else:
            faults.append(f"edit {number}: {span}")
    spans.sort()
    faults += _overlaps(spans)
    if faults:
        raise ToolError("\n".join(faults))
    return spans


def _find(body: str, number: int, old: str, new: str) -> Span | str:
    if not old:
        return "oldText is empty; give the text to replace, or use write for a new file"
    if old == new:
        return "oldText and newText are the same"
    first = body.find(old)
    if first < 0:
        return f"oldText was not found. {not_found_hint(body, old)}"
    if body.find(old, first + 1) >= 0:
        return _ambiguous(body, old)
    return Span(first, first + len(old), number, new)


def _ambiguous(body: str, old: str) -> str:
    """Overlapping matches count too: ``aa`` stands twice in ``aaa``."""
    count, position, line, counted_to = 0, body.find(old), 1, 0
    lines: list[str] = []
    while position >= 0 and count < _MOST_COUNTED:
        count += 1
        if len(lines) < _MOST_LINES_NAMED:
            line += body.count("\n", counted_to, position)
            counted_to = position
            lines.append(str(line))
        position = body.find(old, position + 1)
    times = f"{count}" if position < 0 else f"more than {_MOST_COUNTED}"
    more = ", …" if count > len(lines) else ""
    where = f"lines {', '.join(lines)}{more}"
    return f"oldText was found {times} times ({where}); add surrounding lines so that it is unique"


def _overlaps(spans: list[Span]) -> list[str]:
    return [
        f"edits {min(one.number, two.number)} and {max(one.number, two.number)} overlap; merge them into one"
        for one, two in pairwise(spans)
        if two.start < one.end
    ]
