"""Matches a path with the pattern of a rule, as in ``.gitignore``."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from zot.agent.tools.ignore import parse_rule


def path_fits(pattern: str, path: str, cwd: Path, root: Path) -> bool:
    """True if the file or one of its directories matches. ``root`` is the base of a pattern with one leading slash."""
    return path_pattern(pattern, str(cwd), str(root)).fits(os.path.normpath(os.path.join(cwd, path)))


@lru_cache(maxsize=1024)
def path_pattern(pattern: str, cwd: str, root: str) -> PathPattern:
    return PathPattern(*_anchored(pattern, cwd, root))


class PathPattern:
    """A pattern for paths below ``base``, also by its real name; one that cannot be read matches every path."""

    def __init__(self, base: str, pattern: str) -> None:
        self._bases = tuple(dict.fromkeys((os.path.normpath(base), os.path.realpath(base))))
        rule = parse_rule(pattern)
        self._expression = re.compile(rule.expression, re.DOTALL) if rule is not None else None
        self._skipped = 1 if rule is not None and rule.directories_only else 0

    def fits(self, path: str) -> bool:
        """``path`` is absolute and normal."""
        return any(self._fits_below(base, path) for base in self._bases)

    def _fits_below(self, base: str, path: str) -> bool:
        if self._expression is None:
            return True
        start = base.rstrip("/") + "/"
        relative = path[len(start) :] if path.startswith(start) else os.path.relpath(path, base)
        place = len(relative)
        for _ in range(self._skipped):
            place = relative.rfind("/", 0, place)
        while place > 0:
            if self._expression.fullmatch(relative, 0, place):
                return True
            place = relative.rfind("/", 0, place)
        return False


def _anchored(pattern: str, cwd: str, root: str) -> tuple[str, str]:
    """The directory a pattern is relative to, and the rest of the pattern."""
    if pattern.startswith("//"):
        return "/", pattern[1:]
    if pattern.startswith("~/"):
        return os.path.expanduser("~"), pattern[1:]
    if pattern.startswith("/"):
        return root, pattern
    return cwd, f"/{pattern[2:]}" if pattern.startswith("./") else pattern
