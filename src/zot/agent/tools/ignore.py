"""Walking a tree as ripgrep does: in name order, without ``.git``, without what ignore files exclude.

``.rgignore`` beats ``.ignore``, which beats ``.gitignore``, which beats ``.git/info/exclude``; within one kind the
nearest directory decides, and the last matching line of a file. Files of parent directories count too, git's only
up to the repository. Path patterns are read here too, for ignore files as for the tools. Standard library only: the
search worker runs it without anything else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from zot.system.opening import read_whole

_KINDS = (".rgignore", ".ignore", ".gitignore", ".git/info/exclude")
_LARGEST = 1 << 20  # of an ignore file; a larger one says nothing
_GIT_KINDS = frozenset({".gitignore", ".git/info/exclude"})


class Rule(NamedTuple):
    regex: re.Pattern[str]
    include: bool
    directories_only: bool


class Rules:
    """The lines of one ignore file, for paths relative to ``base``."""

    def __init__(self, base: str, lines: list[str]) -> None:
        self._start = len(base.rstrip("/")) + 1
        self._rules = [rule for line in lines if (rule := parse_rule(line))][::-1]
        # One expression for all lines: most paths match none of them, and that is quickly seen.
        self._any = re.compile("|".join(f"(?:{rule.regex.pattern})" for rule in self._rules) or r"(?!)", re.DOTALL)

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """True to keep, False to leave out, None when no line speaks of it."""
        relative = path[self._start :]
        if not self._any.fullmatch(relative):
            return None
        for rule in self._rules:
            if (is_directory or not rule.directories_only) and rule.regex.fullmatch(relative):
                return rule.include
        return None


def parse_rule(line: str) -> Rule | None:
    """One line of an ignore file; None for comments and blanks."""
    line = line.rstrip("\r\n")
    if not line.endswith("\\ "):
        line = line.rstrip(" \t")
    if not line or line.startswith("#"):
        return None
    include = line.startswith("!")
    line = line.removeprefix("!")
    directories_only = line.endswith("/")
    line = line.rstrip("/") if directories_only else line
    anchored = "/" in line
    pattern = line.removeprefix("/") if anchored else f"**/{line}"
    try:
        return Rule(re.compile(regex_of(pattern), re.DOTALL), include, directories_only)
    except re.error:
        return None


class Ignores:
    """What is ignored in one directory: its own files first, then those of its parents."""

    def __init__(self, directory: str, parent: Ignores | None) -> None:
        has_git = os.path.exists(os.path.join(directory, ".git"))
        self._by_kind: list[list[Rules]] = []
        for index, kind in enumerate(_KINDS):
            own = _load(directory, kind)
            above = parent._by_kind[index] if parent else []
            self._by_kind.append([*([own] if own else []), *([] if has_git and kind in _GIT_KINDS else above)])

    def keeps(self, path: str, is_directory: bool) -> bool:
        for levels in self._by_kind:
            for rules in levels:
                verdict = rules.verdict(path, is_directory)
                if verdict is not None:
                    return verdict
        return True


def _load(directory: str, name: str) -> Rules | None:
    with suppress(OSError):
        text = read_whole(os.path.join(directory, name), _LARGEST).decode("utf-8", "replace")
        return Rules(directory, text.split("\n"))
    return None


def _of_parents(root: str) -> Ignores | None:
    ignores: Ignores | None = None
    parents: list[str] = []
    while os.path.dirname(root) != root:
        root = os.path.dirname(root)
        parents.append(root)
    for directory in reversed(parents):
        ignores = Ignores(directory, ignores)
    return ignores


def listed(root: str, below: str = "", *, ignored_too: bool = False, limit: int = 5000) -> list[str]:
    """What one directory holds, relative to ``root``: directories first, with a slash, then names ignoring case."""
    directory = os.path.realpath(os.path.join(root, below))
    ignores = None if ignored_too else Ignores(directory, _of_parents(directory))
    prefix = f"{below.strip('/')}/" if below.strip("/") else ""
    found: list[tuple[bool, str, str]] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            is_directory = entry.is_dir()
            if entry.name != ".git" and (ignores is None or ignores.keeps(entry.path, is_directory)):
                found.append((not is_directory, entry.name.lower(), prefix + entry.name + "/" * is_directory))
            if len(found) == limit:
                break
    return [path for _, _, path in sorted(found)]


def walk(root: str, only: str = "") -> Iterator[str]:
    """The files below ``root``, relative to it; with ``only``, those matching that pattern (which beats ignoring)."""
    root = os.path.realpath(root)
    wanted = Rules(root, [only]) if only else None
    yield from _walk(root, len(root.rstrip("/")) + 1, _of_parents(root), wanted)


def _walk(directory: str, start: int, above: Ignores | None, wanted: Rules | None) -> Iterator[str]:
    ignores = Ignores(directory, above)
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    for entry in entries:
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or not _is_kept(entry.path, is_directory, ignores, wanted):
            continue
        if is_directory:
            yield from _walk(entry.path, start, ignores, wanted)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path[start:]


def _is_kept(path: str, is_directory: bool, ignores: Ignores, wanted: Rules | None) -> bool:
    if wanted is not None:
        # A rule's "ignore" is a match here: a matching entry is wanted whatever the ignore files say.
        match wanted.verdict(path, is_directory):
            case False:
                return True
            case True:
                return False
            case None if not is_directory:
                return False
            case None:
                pass
    return ignores.keeps(path, is_directory)


def regex_of(pattern: str) -> str:
    """A path pattern as a regular expression for ``fullmatch`` on a path with ``/`` between its parts.

    The language has ``*``, ``?``, ``[a-z]``, ``{a,b}``, and ``**`` across directories.
    """
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
