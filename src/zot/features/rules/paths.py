"""Matches a path with the pattern of a rule, as in ``.gitignore``."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from zot.agent.tools.ignore import IgnoreRule, parse_rule


def path_fits(pattern: str, path: str, cwd: Path, root: Path) -> bool:
    """True if the file or one of its directories matches. ``root`` is the base of a pattern with one leading slash."""
    base, pattern = _anchored(pattern, cwd, root)
    rule = parse_rule(pattern)
    if rule is None:
        return True
    expression = _compiled(rule)
    relative = os.path.relpath(os.path.join(cwd, path), base)
    parts = relative.split(os.sep)
    candidates = [os.sep.join(parts[:count]) for count in range(len(parts), 0, -1)]
    return any(expression.fullmatch(each) for each in candidates[1 if rule.directories_only else 0 :])


@lru_cache(maxsize=256)
def _compiled(rule: IgnoreRule) -> re.Pattern[str]:
    return re.compile(rule.expression, re.DOTALL)


def _anchored(pattern: str, cwd: Path, root: Path) -> tuple[str, str]:
    """The directory a pattern is relative to, and the rest of the pattern."""
    if pattern.startswith("//"):
        return "/", pattern[1:]
    if pattern.startswith("~/"):
        return os.path.expanduser("~"), pattern[1:]
    if pattern.startswith("/"):
        return str(root), pattern
    return str(cwd), f"/{pattern[2:]}" if pattern.startswith("./") else pattern
