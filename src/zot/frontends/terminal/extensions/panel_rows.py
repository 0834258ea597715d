"""Draws the text of a panel: lines of the first edition with their own marks, and rows of styled lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from zot.frontends.terminal.screen.line_art import LineArt
from zot.tui.sanitize import excerpt, sanitize
from zot.tui.width import RESET, cells, visible, wrap
from zot.wire.lines import to_lines

if TYPE_CHECKING:
    from zot.tui.markdown import Painter
    from zot.tui.theme import Theme

_LINES, _CHARACTERS = 2_000, 200_000  # lines of a panel that are laid out
_TITLE, _FOOTER_LINES, _FOOTER = 200, 10, 1_000
_SEARCHED = 20_000  # lines among which the selected one of a huge panel is searched
_SELECTED = re.compile("^ *(▸ |● |\u200b)")


def styled_rows(lines: Any, cursor: Any, painter: Painter, width: int) -> tuple[list[str], int, tuple[int, int] | None]:
    """The rows of Lines, the row to keep visible, and the cursor as row and column."""
    art, rows = LineArt(painter), list[str]()
    selected, place = 0, None
    wanted = _position(cursor)
    for number, line in enumerate(to_lines(lines)):
        made = art.rows(line, width) if line else [""]
        if wanted is not None and number == wanted[0]:
            place = _in_rows(made, len(rows), wanted[1], width)
        if not selected and any("selection" in span.style.split() for span in line):
            selected = len(rows)
        rows += made
    if wanted is not None and place is None and wanted[0] == 0 and not rows:
        rows, place = [""], (0, 0)
    return rows, place[0] if place is not None else selected, place


def _position(cursor: Any) -> tuple[int, int] | None:
    if not isinstance(cursor, dict):
        return None
    fields = cast("dict[str, Any]", cursor)
    row, column = fields.get("row"), fields.get("col")
    if not isinstance(row, int) or not isinstance(column, int):
        return None
    return max(row, 0), max(column, 0)


def _in_rows(rows: list[str], first: int, column: int, width: int) -> tuple[int, int]:
    """Where a column of a line is once it is wrapped."""
    for number, row in enumerate(rows[:-1]):
        size = cells(row)
        if column <= size:
            return first + number, min(column, width - 1)
        column -= size + 1  # the space at which it was broken
    return first + len(rows) - 1, min(column, width - 1)


def shown_lines(lines: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The lines to lay out, around the selected one in a huge panel, and a notice about the rest."""
    if len(lines) <= _LINES and sum(map(len, lines)) <= _CHARACTERS:
        return lines, ""
    selected = next(
        (
            n
            for n, line in enumerate(lines[:_SEARCHED])
            if _SELECTED.match(visible(sanitize(line[:_TITLE]))) is not None
        ),
        0,
    )
    first = max(0, min(selected - _LINES // 2, len(lines) - _LINES))
    kept = lines[first : first + _LINES]
    longest = _CHARACTERS // len(kept)
    remark = f"… this panel is too large: {len(lines) - len(kept):,} of its {len(lines):,} lines are not shown"
    if len(kept) == len(lines):
        remark = f"… this panel is too large: each line is truncated to {longest:,} characters"
    return tuple(line[:longest] for line in kept), remark


def panel_rows(theme: Theme, lines: tuple[str, ...], width: int) -> tuple[list[str], int]:
    """Wrapped rows, and the number of the first selected one."""
    rows: list[str] = []
    selected = 0
    for line in lines:
        clean = sanitize(line).replace("\t", "    ").replace("\n", " ")
        marker = _SELECTED.match(visible(clean))
        if marker:
            selected = len(rows)
            text = visible(clean)
            made = wrap(text, width, _indent(text) + "  ")  # the marker is only on the first row
            rows += [theme.selected(row.replace("\u200b", ""), width) for row in made]
        else:
            rows += [
                _ticks(theme, row)
                for row in wrap(
                    f"{clean}{RESET}" if "\x1b" in clean else theme.paint("muted", clean),
                    width,
                    _indent(visible(clean)),
                )
            ]
    return rows, selected


def _indent(line: str) -> str:
    """A line's indentation, for its continuation rows."""
    return " " * (len(line) - len(line.lstrip(" ")))


def _ticks(theme: Theme, row: str) -> str:
    """A tick is green; the text around it keeps its colour."""
    if "✓" not in row:
        return row
    opening = "".join(re.findall(r"\x1b\[[0-9;:]*m", row.partition("✓")[0].rpartition(RESET)[2]))
    return row.replace("✓", f"{RESET}{theme.paint('tool', '✓')}{opening}")


def footer_rows(theme: Theme, footer: str, width: int) -> list[str]:
    """The last rows of a panel, after a blank one."""
    shown, remark = excerpt(footer, lines=_FOOTER_LINES, characters=_FOOTER)
    clean = visible(sanitize(f"{shown}{remark}")).strip()
    return ["", *(theme.paint("muted", row) for row in wrap(clean, width))] if clean else []
