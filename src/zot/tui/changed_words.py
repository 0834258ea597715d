"""Which words of a changed line are new, and which of the old one are gone: where two long lines differ in one word, it
is that word one wants to read.

Lines are compared with the one that stands at the same place among those they replace; lines that have little in common
are simply other lines, and nothing in them is marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 2_000  # characters of a line that is looked into
_MOST = 120  # pairs of lines; a larger change is no small one
_ALIKE = 0.5  # of the characters of the longer line, which both must have

Spans = list[tuple[int, int]]


def changed_words(signs: Sequence[str], texts: Sequence[str]) -> dict[int, Spans]:
    """By the number of a row the pieces of it that changed; ``signs`` are ``-``, ``+`` and others."""
    found: dict[int, Spans] = {}
    pairs = 0
    for removed, added in _replacements(signs):
        for old, new in zip(removed, added, strict=False):
            pairs += 1
            if pairs <= _MOST and (spans := _compared(texts[old], texts[new])):
                found[old], found[new] = spans
    return found


def _replacements(signs: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Runs of removed rows with the added ones that follow them."""
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


def _compared(old: str, new: str) -> tuple[Spans, Spans] | None:
    if old == new or max(len(old), len(new)) > _LONGEST:
        return None
    from difflib import SequenceMatcher

    one, two = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    gone: Spans = []
    came: Spans = []
    left = right = common = 0
    for kind, a, b, c, d in matcher.get_opcodes():
        old_size, new_size = sum(map(len, one[a:b])), sum(map(len, two[c:d]))
        if kind == "equal":
            common += sum(len(word) for word in one[a:b] if not word.isspace())
        else:
            _add(gone, old, left, left + old_size)
            _add(came, new, right, right + new_size)
        left, right = left + old_size, right + new_size
    longest = max(len("".join(old.split())), len("".join(new.split())), 1)
    return (gone, came) if common / longest >= _ALIKE else None


def _add(spans: Spans, text: str, start: int, end: int) -> None:
    """Pieces with only a space between them are one."""
    if start == end:
        return
    if spans and not text[spans[-1][1] : start].strip():
        start = spans.pop()[0]
    spans.append((start, end))
