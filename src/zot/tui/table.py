"""Pipe tables: cells wrap, pipes stay aligned, the widest column gives way first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from zot.tui.theme import Theme
from zot.tui.width import cells, wrap

_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_CELL = re.compile(r"((?:\\\||`[^`]*`|[^|])*)\|")
_NARROWEST = 3


def is_delimiter(line: str) -> bool:
    return "-" in line and _DELIMITER.fullmatch(line) is not None


def split_row(line: str) -> list[str]:
    """The cells of one row; an escaped pipe, or one inside code, is text."""
    text = line.strip().removeprefix("|")
    text = text[:-1] if text.endswith("|") and not text.endswith("\\|") else text
    cells_of_row = _CELL.findall(text + "|")
    return [cell.replace("\\|", "|").strip() for cell in cells_of_row] or [""]


def render(lines: Sequence[str], theme: Theme, width: int, inline: Callable[[str, bool], str]) -> list[str]:
    """``lines`` are header, delimiter, rows; ``inline`` styles a cell, bold or not."""
    header, aligns = split_row(lines[0]), [_align(cell) for cell in split_row(lines[1])]
    count = len(header)
    rows = [[*split_row(line), *[""] * count][:count] for line in lines[2:]]
    aligns = [*aligns, *["left"] * count][:count]
    styled = [[inline(cell, True) for cell in header], *[[inline(cell, False) for cell in row] for row in rows]]
    widths = _widths(styled, width)
    rule = "─┼─".join("─" * size for size in widths)
    out = _row(styled[0], widths, aligns, theme)
    out.append(theme.paint("border", f"├─{rule}─┤"))
    for row in styled[1:]:
        out += _row(row, widths, aligns, theme)
    return out


def _align(cell: str) -> str:
    if cell.startswith(":") and cell.endswith(":"):
        return "centre"
    return "right" if cell.endswith(":") else "left"


def _widths(rows: list[list[str]], width: int) -> list[int]:
    widths = [max(_NARROWEST, *(cells(row[i]) for row in rows)) for i in range(len(rows[0]))]
    room = max(width - 3 * len(widths) - 1, _NARROWEST * len(widths))
    while sum(widths) > room:
        widest = widths.index(max(widths))
        # Down to the second widest in one step, so that a long cell costs no time.
        second = max((w for i, w in enumerate(widths) if i != widest), default=_NARROWEST)
        widths[widest] = max(_NARROWEST, min(widths[widest] - 1, max(second, widths[widest] - (sum(widths) - room))))
    return widths


def _row(row: list[str], widths: list[int], aligns: list[str], theme: Theme) -> list[str]:
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
