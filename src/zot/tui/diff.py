"""Differences as rows: sign and true line number in one coloured gutter, code highlighted by language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from zot.tui.decide import CONTINUED
from zot.tui.highlight import Highlighter
from zot.tui.theme import Theme
from zot.tui.width import broken

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@", re.ASCII)
_ROLES = {"+": "diff_add", "-": "diff_remove", " ": "diff_context"}


class DiffLine(msgspec.Struct, frozen=True):
    """``sign`` is ``+``, ``-``, a space, or empty for a row that is not a line (a skip, a header)."""

    sign: str
    number: int
    text: str


def numbered(rows: Sequence[str], starts: Sequence[tuple[int, int]]) -> list[DiffLine]:
    """Rows of `` line``, ``-line``, ``+line`` and ``...``; ``starts`` are (old, new) first lines of each run."""
    remaining = iter(starts)
    old, new = next(remaining, (1, 1))
    lines: list[DiffLine] = []
    for row in rows:
        if row == "...":
            lines.append(DiffLine("", 0, row))
            old, new = next(remaining, (old, new))
        else:
            line, old, new = _numbered(row, old, new)
            lines.append(line)
    return lines


def unnumbered(rows: Sequence[str]) -> list[DiffLine]:
    """The same rows where nobody knows any more which lines they were."""
    return [DiffLine("", 0, row) if row == "..." else _numbered(row, 0, 0)[0] for row in rows]


def unified(text: str) -> list[DiffLine] | None:
    """A unified diff numbered from its hunk headers; None when the text is not a diff."""
    if not ("\n+++ " in text and _HUNK.search(text)):
        return None
    return list(_unified(text.rstrip("\n").split("\n")))


def _unified(rows: Sequence[str]) -> Iterator[DiffLine]:
    old = new = 0
    inside = False
    for row in rows:
        if hunk := _HUNK.match(row):
            old, new, inside = int(hunk[1]), int(hunk[2]), True
            yield DiffLine("", 0, row)
        elif inside and row[:1] in ("+", "-", " ") and not row.startswith(("+++ ", "--- ")):
            line, old, new = _numbered(row, old, new)
            yield line
        else:
            inside = inside and row.startswith("\\")
            yield DiffLine("", 0, row)


def _numbered(row: str, old: int, new: int) -> tuple[DiffLine, int, int]:
    sign, text = (row[:1] or " "), row[1:]
    if sign not in _ROLES:  # of a session that somebody else wrote
        return DiffLine("", 0, row), old, new
    if sign == "-":
        return DiffLine("-", old, text), old + 1, new
    return DiffLine(sign, new, text), old + (sign == " "), new + 1


def render(lines: Sequence[DiffLine], theme: Theme, code: Highlighter, language: str, width: int) -> list[str]:
    """A line that does not fit goes on behind a mark in the next rows: a change at its end is as visible as any."""
    digits = max(3, *(len(str(line.number)) for line in lines)) if lines else 3
    plain = [line.text.expandtabs(4) for line in lines]
    styled = code.lines("\n".join(plain), language) if language and plain else plain
    rows: list[str] = []
    for line, text, bare in zip(lines, styled, plain, strict=True):
        if not line.sign:
            rows += [theme.paint("muted", part) for part in broken(bare, width)]
            continue
        number = str(line.number) if line.number else ""  # unknown where only the rows were kept
        body = text if language else theme.paint(_ROLES[line.sign], bare)
        parts = broken(body, max(width - digits - 2, 1))
        marks = [number, *[CONTINUED] * (len(parts) - 1)]
        gutters = [theme.paint(_ROLES[line.sign], f"{line.sign}{mark:>{digits}} ") for mark in marks]
        rows += [gutter + part for gutter, part in zip(gutters, parts, strict=True)]
    return rows
