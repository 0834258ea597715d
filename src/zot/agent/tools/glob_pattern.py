"""Path patterns as regular expressions: ``*``, ``?``, ``[a-z]``, ``{a,b}``, ``**`` across directories.

The same language serves the glob tool, the ``glob`` argument of grep and ignore files. Standard library only: the
search worker runs it without anything else.
"""

from __future__ import annotations

import re

_MAGIC = frozenset("*?[{")


def has_magic(part: str) -> bool:
    return any(character in _MAGIC for character in part)


def regex_of(pattern: str) -> str:
    """A regular expression for ``fullmatch`` on a path with ``/`` between its parts."""
    pieces: list[str] = []
    position = 0
    while position < len(pattern):
        piece, position = _next(pattern, position)
        pieces.append(piece)
    return "".join(pieces)


def _next(pattern: str, at: int) -> tuple[str, int]:
    """The translation of what stands at a position, and where the rest begins."""
    match pattern[at]:
        case "*":
            return _stars(pattern, at)
        case "?":
            return "[^/]", at + 1
        case "[":
            return _class(pattern, at)
        case "{":
            return _alternatives(pattern, at)
        case "\\" if at + 1 < len(pattern):
            return re.escape(pattern[at + 1]), at + 2
        case "/" if pattern[at:] == "/**":
            return "/.+", len(pattern)
        case character:
            return re.escape(character), at + 1


def _stars(pattern: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    whole_part = end - at >= 2 and (at == 0 or pattern[at - 1] == "/")
    if whole_part and end == len(pattern):
        return ".*", end
    if whole_part and pattern[end] == "/":
        return "(?:.*/)?", end + 1
    return "[^/]*", end


def _class(pattern: str, at: int) -> tuple[str, int]:
    negated = pattern[at + 1 : at + 2] in ("!", "^")
    start = at + 1 + negated
    end = pattern.find("]", start + 1)
    if end < 0:
        return re.escape("["), at + 1
    inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", pattern[start:end])
    return f"(?!/)[{'^' if negated else ''}{inside}]", end + 1


def _alternatives(pattern: str, at: int) -> tuple[str, int]:
    depth, start = 0, at + 1
    choices: list[str] = []
    for end in range(at, len(pattern)):
        character = pattern[end]
        depth += (character == "{") - (character == "}")
        if depth == 0 or (depth == 1 and character == ","):
            choices.append(pattern[start:end])
            start = end + 1
        if depth == 0:
            return f"(?:{'|'.join(regex_of(choice) for choice in choices)})", end + 1
    return re.escape("{"), at + 1
