"""The lines of some texts that a question is most likely about: those that share its rarest words.

A small model that has a whole file before it takes the line that looks most like an answer; one that is shown the right
lines once more takes those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

MOST_LINES = 3
_STEM = 5  # letters: licence and license are the same
_LEAST = 3
_LONGEST = 300  # characters of a line
_MOST_SEARCHED = 2000  # lines
_WORD = re.compile(r"[a-z]+|\d[\d.]{0,30}\d|\d")
_COMMON = frozenset(
    {"what", "which", "who", "where", "when", "why", "how", "the", "and", "for", "does", "this", "that", "with", "from",
     "are", "was", "were", "has", "have", "there", "here", "one", "use", "uses", "used", "into", "not", "you", "your",
     "file", "files", "project"}
)  # fmt: skip


def likely_lines(question: str, texts: Mapping[str, str]) -> list[str]:
    """Each with the line below it, which often is what a heading or a name stands for; best first."""
    asked = _stems(question[:_MOST_SEARCHED])
    lines = [line for text in texts.values() for line in [*text.split("\n", _MOST_SEARCHED)[:_MOST_SEARCHED], ""]]
    shared = [_stems(line[:_LONGEST]) & asked for line in lines]
    often = Counter(stem for stems in shared for stem in stems)
    scores = [sum(1 / often[stem] for stem in stems) for stems in shared]
    best = sorted((place for place in range(len(lines)) if scores[place] > 0), key=lambda place: -scores[place])
    found: list[str] = []
    for place in best[:MOST_LINES]:
        below = lines[place + 1 : place + 2]
        found.append("\n".join(line[:_LONGEST] for line in [lines[place], *below] if line.strip()))
    return found


def _stems(text: str) -> set[str]:
    words = _WORD.findall(text.lower())
    return {word[:_STEM] for word in words if word not in _COMMON and (len(word) >= _LEAST or not word.isalpha())}
