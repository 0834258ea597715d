"""Rows for text a user decides on: complete, folded, control characters escaped in the warning colour.
Other text goes through ``sanitize``, which drops them."""

from __future__ import annotations

import re
from functools import lru_cache

from zot.system.visible_text import BREAK, TAB, escape_lines
from zot.tui.theme import Theme
from zot.tui.width import cells, is_narrow

_SIGN = re.compile(rf"(⟨[^⟩]*⟩|{BREAK}|{TAB} *)")


def decision_rows(text: str, role: str, theme: Theme, width: int, indent: str = "  ") -> list[str]:
    """All of the text in rows of ``width`` cells, with visible line breaks; continued rows begin with ``indent``."""
    lines = escape_lines(text)
    ended = [line + BREAK for line in lines[:-1]] + lines[-1:]
    return [row for line in ended for row in painted(folded(line, width, len(indent)), role, theme, indent)]


def painted(rows: list[str], role: str, theme: Theme, indent: str = "") -> list[str]:
    """Folded rows of one line, in the colour of the role; escaped characters in that of a warning."""
    done = [_paint(row, role, theme) for row in rows]
    return [*done[:1], *(theme.paint("muted", indent) + row for row in done[1:])]


def folded(line: str, width: int, indented: int = 0) -> list[str]:
    """One escaped line in rows of ``width`` cells, later ones ``indented`` shorter; joined, they are the line."""
    narrow = is_narrow(line)
    if (len(line) if narrow else sum(map(_cells, line))) <= width:
        return [line]
    rows: list[str] = []
    start, room = 0, max(width, 1)
    while start < len(line):
        end = min(start + room, len(line)) if narrow else max(_reach(line, start, room), start + 1)
        if end < len(line):
            end = _good_break(line, start, end)
        rows.append(line[start:end])
        start, room = end, max(width - indented, 1)
    return rows


def _reach(line: str, start: int, room: int) -> int:
    """The end of the part from ``start`` that fits ``room`` cells, counted by character for speed."""
    for end in range(start, len(line)):
        room -= _cells(line[end])
        if room < 0:
            return end
    return len(line)


def _good_break(line: str, start: int, end: int) -> int:
    """The end of a row: before a mark it would split, else after the last space, else where it is full."""
    opened = line.rfind("⟨", start, end)
    if opened > start and opened > line.rfind("⟩", start, end):
        return opened
    space = line.rfind(" ", start, end) + 1
    return space if line[end] != " " and line[start:space].strip() else end


@lru_cache(4096)
def _cells(character: str) -> int:
    if is_narrow(character):
        return 1
    from wcwidth import wcwidth

    # After a letter some marks take a separate cell, which they do not take alone.
    return max(wcwidth(character), cells(f"x{character}") - 1, 0)


def _paint(row: str, role: str, theme: Theme) -> str:
    painted: list[str] = []
    for number, part in enumerate(_SIGN.split(row)):
        sign = number % 2 == 1
        colour = role if not sign else "warning" if part[0] == "⟨" else "muted"
        painted.append(theme.paint(colour, part, bold=colour == "warning"))
    return "".join(painted)
