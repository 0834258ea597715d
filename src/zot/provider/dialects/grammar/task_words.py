"""What a prompt asks for, as far as its words tell: a question, a change, a check, something to run.

English words only; a prompt in another language is none of these, and gets no help that depends on it.
"""

from __future__ import annotations

import re

import msgspec

_READ_AT_MOST = 4000  # characters
_ASKS = re.compile(
    r"\?\s*$|^\W*(what|which|who|where|when|why|how|is|are|does|do|can|explain|describe|tell|list|show)\b"
)
_CHANGES = re.compile(
    r"\b(fix|change|set|add|create|write|make|edit|rename|replace|remove|delete|update|correct|implement|mend|repair|"
    r"append|insert|increase|decrease|refactor|move|convert|save|put|turn|translate|bump)\b"
)
_CHECKS = re.compile(r"\b(tests?|checks?|verify|pass|passes|run|works)\b")
_SEVERAL = re.compile(r"\b(everywhere|wherever|all|each|every|both|rename|occurrences?)\b")
_RUNS = re.compile(r"^\W*(please )?(run|execute|start|call)\b")


class Task(msgspec.Struct, frozen=True):
    """``asks``: it can be answered in words; ``runs``: it begins with something to run; ``several``: more
    than one place is to be changed."""

    text: str
    asks: bool
    changes: bool
    checks: bool
    runs: bool
    several: bool

    @property
    def only_asks(self) -> bool:
        return self.asks and not self.changes

    def is_about(self, path: str) -> bool:
        """Whether the prompt names this file."""
        name = path.rpartition("/")[2]
        return bool(name) and any(_names(self.text, spelled) for spelled in {path, name})


def read_task(text: str) -> Task:
    words = text[:_READ_AT_MOST].lower()
    return Task(
        text[:_READ_AT_MOST],
        asks=bool(_ASKS.search(words)),
        changes=bool(_CHANGES.search(words)) and not words.rstrip().endswith("?"),
        checks=bool(_CHECKS.search(words)),
        runs=bool(_RUNS.search(words)),
        several=bool(_SEVERAL.search(words)),
    )


def _names(text: str, name: str) -> bool:
    """As a word of its own: ``a.py`` is not named by ``data.py``."""
    place = text.find(name)
    while place >= 0:
        before, behind = text[place - 1 : place], text[place + len(name) :][:1]
        if not (before.isalnum() or before in ("_", "-", ".")) and not (behind.isalnum() or behind in ("_", "-")):
            return True
        place = text.find(name, place + 1)
    return False
