"""The box around a tool call: a label in its top edge, rows inside, everything measured in cells."""

from __future__ import annotations

from collections.abc import Sequence

from zot.tui.theme import Theme
from zot.tui.width import cells, cut, pad

MARGIN = 2
_NARROWEST = 12

SHOWN_ROWS, MOST_ROWS = 10, 12  # a body of more than the second shows the first and a hint


def inner_width(width: int) -> int:
    """Cells for a row inside the box on a screen of this width."""
    return max(width - 2 * MARGIN, _NARROWEST) - 4


def tool_box(theme: Theme, name: str, rest: str, body: Sequence[str], width: int) -> list[str]:
    """``name`` in the foreground colour and ``rest`` muted make the label; ``body`` rows fit ``inner_width``."""
    inner = inner_width(width)
    margin = " " * (MARGIN if width >= _NARROWEST + 2 * MARGIN else 0)
    side = theme.paint("border", "│")
    rows = [margin + _top(theme, name, rest, inner)]
    for row in ("", *body, "") if body else ("",):
        rows.append(f"{margin}{side} {pad(row, inner)} {side}")
    rows.append(margin + theme.paint("border", f"└{'─' * (inner + 2)}┘"))
    return rows


def _top(theme: Theme, name: str, rest: str, inner: int) -> str:
    room = inner - 3
    name = cut(name, room)
    rest = cut(rest, max(room - cells(name), 0))
    dashes = "─" * max(inner - 2 - cells(name) - cells(rest), 0)
    return (
        theme.paint("border", "┌─  ")
        + theme.paint("tool_name", name)
        + theme.paint("muted", rest)
        + theme.paint("border", f" {dashes}┐")
    )


def collapsed(theme: Theme, rows: Sequence[str], *, tail: bool = False, head: str = "") -> list[str]:
    """The first rows and what is hidden, or the last ones where the end is what matters; ``head`` says in one row
    how they began."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    hidden = len(rows) - SHOWN_ROWS - bool(head)
    hint = theme.paint("muted", f"... {hidden} of {len(rows)} rows hidden, ctrl+o shows all")
    return [*([head] if head else []), hint, *rows[-SHOWN_ROWS:]] if tail else [*rows[:SHOWN_ROWS], hint]
