"""Markdown tables as rows: cells wrap and the widest column shrinks first.
A table that does not fit with the narrowest columns is shown as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zot.tui.inline import Inline, Style
from zot.tui.theme import Theme
from zot.tui.width import cells, wrap

_DASHES = re.compile(r":?-++:?")
_CELL = re.compile(r"((?:[^|`\\]++|\\\||`[^`]*+`|[^|])*+)\|")
_NARROWEST_COLUMN = 3


def is_delimiter(line: str) -> bool:
    """The line that makes the previous one the header of a table."""
    if "-" not in line:
        return False
    row = line.strip().removeprefix("|").removesuffix("|")
    return all(_DASHES.fullmatch(cell.strip()) for cell in row.split("|"))


def table_rows(lines: Sequence[str], inline: Inline, theme: Theme, width: int) -> list[str] | None:
    """Rows of the header, the delimiter and the lines below; None if the columns do not fit ``width``."""
    header = cells_of(lines[0])
    count = len(header)
    room = width - 3 * count - 1
    if room < _NARROWEST_COLUMN * count:
        return None
    aligns = [*(_align(cell) for cell in cells_of(lines[1])[:count]), *["left"] * count][:count]
    styled = [[inline.render(cell, Style(bold=True)) for cell in header]]
    styled += [[inline.render(cell) for cell in [*cells_of(line)[:count], *[""] * count][:count]] for line in lines[2:]]
    widths = _fitted([max(_NARROWEST_COLUMN, *map(cells, column)) for column in zip(*styled, strict=True)], room)
    rule = "─┼─".join("─" * size for size in widths)
    out = _row(styled[0], widths, aligns, theme)
    out.append(theme.paint("border", f"├─{rule}─┤"))
    for row in styled[1:]:
        out += _row(row, widths, aligns, theme)
    return out


def cells_of(line: str) -> list[str]:
    """The cells of one row; an escaped pipe, or one inside code, is text."""
    text = line.strip().removeprefix("|")
    text = text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
    return [cell.replace("\\|", "|").strip() for cell in _CELL.findall(text + " |")]


def _align(cell: str) -> str:
    if cell.startswith(":") and cell.endswith(":"):
        return "centre"
    return "right" if cell.endswith(":") else "left"


def _fitted(widths: list[int], room: int) -> list[int]:
    """Columns wider than their share get that share; the last of them gets the rest."""
    left = room
    for number, size in enumerate(sorted(widths)):
        share = left // (len(widths) - number)
        if size > share:
            break
        left -= size
    else:
        return widths
    wide = [i for i, size in enumerate(widths) if size > share]
    over = left - share * len(wide)
    fitted = [min(size, share) for size in widths]
    for i in wide[len(wide) - over :]:
        fitted[i] += 1
    return fitted


def _row(row: Sequence[str], widths: Sequence[int], aligns: Sequence[str], theme: Theme) -> list[str]:
    wrapped = [wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
    pipe = theme.paint("border", "│")
    out: list[str] = []
    for number in range(max(map(len, wrapped))):
        pieces = [
            _aligned(cell[number] if number < len(cell) else "", size, align)
            for cell, size, align in zip(wrapped, widths, aligns, strict=True)
        ]
        out.append(f"{pipe} {f' {pipe} '.join(pieces)} {pipe}")
    return out


def _aligned(text: str, size: int, align: str) -> str:
    gap = max(size - cells(text), 0)
    before = gap if align == "right" else gap // 2 if align == "centre" else 0
    return " " * before + text + " " * (gap - before)
