"""Which words of a changed line are new, and which of the old one are gone: where two long lines differ in one word, it
is that word one wants to read.

Lines are compared with the one that stands at the same place among those they replace; lines that have little in common
are simply other lines, and nothing in them is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 10_000  # characters of a line that is looked into
# Old times new words that are compared of one line and of a whole diff; beyond, all from the first to the last
# difference is one piece.
_COMPARED, _ALL_COMPARED = 40_000, 400_000
_ALIKE = 0.5  # of the characters of the longer line, which both must have

Spans = list[tuple[int, int]]


def changed_words(signs: Sequence[str], texts: Sequence[str]) -> dict[int, Spans]:
    """By the number of a row the pieces of it that changed; ``signs`` are ``-``, ``+`` and others."""
    found: dict[int, Spans] = {}
    comparing = _Comparing()
    for removed, added in _replacements(signs):
        for old, new in zip(removed, added, strict=False):
            if spans := comparing.spans(texts[old], texts[new]):
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


class _Comparing:
    """Compares lines as long as that is quick; the rest of a huge diff is compared by its ends."""

    def __init__(self) -> None:
        self._left = _ALL_COMPARED

    def spans(self, old: str, new: str) -> tuple[Spans, Spans] | None:
        """What is gone from the one and new in the other; None when they have little in common."""
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
    """Pieces with only a space between them are one."""
    if start == end:
        return
    if spans and not text[spans[-1][1] : start].strip():
        start = spans.pop()[0]
    spans.append((start, end))
