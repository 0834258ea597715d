"""How well a path answers what was typed, lower is better: its name holds it, then the path does, then its letters
occur in order. Case never counts.
"""

from __future__ import annotations

import re

_PATH, _LOOSE = 1_000, 10_000


class PathMatcher:
    def __init__(self, typed: str) -> None:
        self._typed = typed.lower()
        self._in_order = re.compile(".*?".join(map(re.escape, self._typed)), re.DOTALL).search

    def score(self, path: str) -> int | None:
        """The score of a path in lower case; None when it does not match."""
        at = path.rfind(self._typed)
        if at >= 0:
            name = path.rfind("/", 0, -1) + 1
            if at >= name:
                return (0 if at == name else 100) + len(path)
            return _PATH + len(path)
        found = self._in_order(path)
        if found is None:
            return None
        # Letters that stand close to each other, and near the end, are more likely meant.
        return _LOOSE + 20 * (found.end() - found.start()) + len(path)
