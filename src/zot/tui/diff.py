"""Diffs as rows: gutter with sign and line number, tinted lines, changed words, highlighted code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from zot.tui.highlight import Highlighter
from zot.tui.theme import Theme
from zot.tui.width import CONTINUED, RESET, STYLE, broken

# Words that differ between a changed line and the line it replaces.

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 10_000  # characters of a compared line
# Old times new words compared per line and per diff; above that, everything from the first to the last
# difference is one piece.
_COMPARED, _ALL_COMPARED = 40_000, 400_000
_ALIKE = 0.5  # share of the longer line's characters that both must have

Spans = list[tuple[int, int]]


def changed_words(signs: Sequence[str], texts: Sequence[str]) -> dict[int, Spans]:
    """The changed pieces by row number; ``signs`` are ``-``, ``+`` and others."""
    found: dict[int, Spans] = {}
    comparing = _Comparing()
    for removed, added in _replacements(signs):
        for old, new in zip(removed, added, strict=False):
            if spans := comparing.spans(texts[old], texts[new]):
                found[old], found[new] = spans
    return found


def _replacements(signs: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Runs of removed rows with the added ones after them."""
    runs: list[tuple[list[int], list[int]]] = []
    before, inside = "", False
    for number, sign in enumerate(signs):
        if sign == "-":
            if before != "-":
                runs.append(([], []))
            runs[-1][0].append(number)
            inside = True
        elif sign == "+" and inside:
            runs[-1][1].append(number)
        else:
            inside = False
        before = sign
    return runs


class _Comparing:
    """Compares lines while that is quick; the rest of a huge diff is compared by its ends."""

    def __init__(self) -> None:
        self._left = _ALL_COMPARED

    def spans(self, old: str, new: str) -> tuple[Spans, Spans] | None:
        """Removed and added pieces; None if they have little in common."""
        if old == new or max(len(old), len(new)) > _LONGEST:
            return None
        one, two = _WORDS.findall(old), _WORDS.findall(new)
        gone: Spans = []
        came: Spans = []
        left = right = common = 0
        for same, a, b, c, d in self._steps(one, two):
            old_size, new_size = sum(map(len, one[a:b])), sum(map(len, two[c:d]))
            if same:
                common += sum(len(word) for word in one[a:b] if not word.isspace())
            else:
                _add(gone, old, left, left + old_size)
                _add(came, new, right, right + new_size)
            left, right = left + old_size, right + new_size
        longest = max(len("".join(old.split())), len("".join(new.split())), 1)
        return (gone, came) if common / longest >= _ALIKE else None

    def _steps(self, one: list[str], two: list[str]) -> Iterator[tuple[bool, int, int, int, int]]:
        """Whether words ``a`` to ``b`` of the one are ``c`` to ``d`` of the other, from the first to the last."""
        shortest = min(len(one), len(two))
        before = next((i for i in range(shortest) if one[i] != two[i]), shortest)
        rest = shortest - before
        after = next((i for i in range(rest) if one[-1 - i] != two[-1 - i]), rest)
        a, b, c, d = before, len(one) - after, before, len(two) - after
        yield True, 0, a, 0, c
        work = (b - a) * (d - c)
        self._left -= min(work, _COMPARED)
        if not work or work > _COMPARED or self._left < 0:
            yield False, a, b, c, d
        else:
            from difflib import SequenceMatcher

            matcher = SequenceMatcher(None, one[a:b], two[c:d], autojunk=False)
            for kind, i, j, k, m in matcher.get_opcodes():
                yield kind == "equal", a + i, a + j, c + k, c + m
        yield True, b, len(one), d, len(two)


def _add(spans: Spans, text: str, start: int, end: int) -> None:
    """Merge pieces with only a space between them."""
    if start == end:
        return
    if spans and not text[spans[-1][1] : start].strip():
        start = spans.pop()[0]
    spans.append((start, end))


_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@", re.ASCII)
_ROLES = {"+": "diff_add", "-": "diff_remove", " ": "diff_context"}
UNTINTED = "\x1b[1;4m"  # changed words without a background


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
    """The same rows without line numbers."""
    return [DiffLine("", 0, row) if row == "..." else _numbered(row, 0, 0)[0] for row in rows]


def unified(text: str) -> list[DiffLine] | None:
    """A unified diff with line numbers from its hunk headers; None if the text is not a diff."""
    if not ("\n+++ " in text and _HUNK.search(text)):
        return None
    return list(_unified(text.rstrip("\n").split("\n")))


def hunks(text: str) -> list[DiffLine]:
    """Hunks of a unified diff without file headers, separated by skips."""
    lines = list(_unified(text.split("\n")))
    return [DiffLine("", 0, "...") if _HUNK.match(line.text) and not line.sign else line for line in lines][1:]


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
    if sign not in _ROLES:  # from another program's session
        return DiffLine("", 0, row), old, new
    if sign == "-":
        return DiffLine("-", old, text), old + 1, new
    return DiffLine(sign, new, text), old + (sign == " "), new + 1


def counted(lines: Sequence[DiffLine]) -> tuple[int, int]:
    """Numbers of added and removed lines."""
    return sum(line.sign == "+" for line in lines), sum(line.sign == "-" for line in lines)


def render(lines: Sequence[DiffLine], theme: Theme, code: Highlighter, language: str, width: int) -> list[str]:
    """Rows of a diff. A long line continues in the next rows, so that a change at its end is visible."""
    digits = max(3, *(len(str(line.number)) for line in lines)) if lines else 3
    plain = [line.text.expandtabs(4) for line in lines]
    styled = code.lines("\n".join(plain), language) if language and plain else plain
    words = changed_words([line.sign for line in lines], plain)
    rows: list[str] = []
    for place, (line, text, bare) in enumerate(zip(lines, styled, plain, strict=True)):
        if not line.sign:
            rows += [theme.paint("muted", part) for part in broken(bare, width)]
            continue
        role = _ROLES[line.sign]
        ground = theme.tint(role) if line.sign != " " else ""
        body = text if language else theme.paint("fg" if ground else role, bare)
        if line.sign != " ":
            body = on_tint(body, ground, words.get(place, []), theme.tint(role, strong=True) or UNTINTED)
        number = str(line.number) if line.number else ""  # unknown if only the rows were stored
        parts = broken(body, max(width - digits - 2, 1))
        marks = [number, *[CONTINUED] * (len(parts) - 1)]
        opening = theme.sgr(role) + ground
        gutters = [f"{opening}{line.sign}{mark:>{digits}} {RESET if opening else ''}" for mark in marks]
        rows += [gutter + part for gutter, part in zip(gutters, parts, strict=True)]
    return rows


def on_tint(styled: str, ground: str, spans: Sequence[tuple[int, int]], strong: str) -> str:
    """A styled line on a background, some pieces on another; each piece opens and closes its own styles."""
    if not ground and not spans:
        return styled
    out: list[str] = []
    active, place, end = "", 0, 0
    for match in (*STYLE.finditer(styled), None):
        text = styled[end : match.start() if match else len(styled)]
        for start, stop, inside in _pieces(place, place + len(text), spans):
            opening = active + (strong if inside else ground)
            out.append(f"{opening}{text[start - place : stop - place]}{RESET if opening else ''}")
        place += len(text)
        if match is not None:
            active, end = "" if match[0] == RESET else active + match[0], match.end()
    return "".join(out)


def _pieces(start: int, end: int, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """The range from start to end, split where a span begins or ends, each with whether it is inside one."""
    for first, last in spans:
        first, last = max(first, start), min(last, end)
        if first >= last:
            continue
        if start < first:
            yield start, first, False
        yield first, last, True
        start = last
    if start < end:
        yield start, end, False
