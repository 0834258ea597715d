"""How well a path answers what was typed, lower is better: its name holds it, then the path does, then its letters
occur in order. Case never counts: paths come in lower case.
"""

from __future__ import annotations

import re

_PATH = 1_000


class PathMatcher:
    """Two strengths: ``holds`` what was typed as it is, and merely its letters ``in_order``; each with its score."""

    def __init__(self, typed: str) -> None:
        self._typed = typed.lower()
        # Possessive: a path is read once from left to right, whether its letters match or not.
        steps = "".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in self._typed)
        self._letters = re.compile(steps)

    def holds(self, path: str) -> bool:
        return self._typed in path

    def in_order(self, path: str) -> bool:
        return self._letters.match(path) is not None

    def score(self, path: str) -> int:
        """Of a path that holds it: at the beginning of the name, in the name, elsewhere; short ones first."""
        at, name = path.rfind(self._typed), path.rfind("/", 0, -1) + 1
        if at < name:
            return _PATH + len(path)
        return len(path) + (0 if at == name else 100)

    def loose_score(self, path: str) -> int:
        """Letters that stand close to each other are more likely meant."""
        found = self._letters.match(path)
        return 20 * (found.end() - path.find(self._typed[:1])) + len(path) if found else _PATH
