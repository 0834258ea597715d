"""Walks a tree as ripgrep does: in name order, without ``.git`` and ignored files. ``.rgignore`` beats ``.ignore``,
``.gitignore`` and ``.git/info/exclude``; the nearest directory and the last line decide. Standard library only, for
the search worker."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from zot.system.safe_open import read_whole

_KINDS = (".rgignore", ".ignore", ".gitignore", ".git/info/exclude")
_LARGEST = 256 << 10  # bytes of an ignore file; a larger one is ignored
_MOST_RULES = 2_000  # lines of an ignore file; later ones are ignored
_LONGEST_PATTERN = 1_000
_LARGEST_EXPRESSION = 4_000  # bytes of a pattern with its braces expanded
_LARGEST_EXPRESSIONS = 64_000  # bytes of the rules of an ignore file; later ones are ignored
_MOST_CHOICES = 64
_MOMENT_S = 0.2
_GIT_KINDS = frozenset({".gitignore", ".git/info/exclude"})


class IgnoreRule(NamedTuple):
    expression: str
    include: bool
    directories_only: bool


class Rules:
    """The lines of one ignore file, for paths relative to ``base``."""

    def __init__(self, base: str, lines: list[str]) -> None:
        self._start = len(base.rstrip("/")) + 1
        self._rules = _affordable(lines[:_MOST_RULES])[::-1]
        # One expression for all lines: most paths match none of them. The expression of a single line
        # is compiled on demand.
        self._any = re.compile("|".join(f"(?:{rule.expression})" for rule in self._rules) or r"(?!)", re.DOTALL)
        self._compiled: dict[str, re.Pattern[str]] = {}

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """True to include, False to exclude, None if no line matches."""
        relative = path[self._start :]
        if not self._any.fullmatch(relative):
            return None
        for rule in self._rules:
            if (is_directory or not rule.directories_only) and self._regex(rule.expression).fullmatch(relative):
                return rule.include
        return None

    def _regex(self, expression: str) -> re.Pattern[str]:
        if expression not in self._compiled:
            self._compiled[expression] = re.compile(expression, re.DOTALL)
        return self._compiled[expression]


def _affordable(lines: list[str]) -> list[IgnoreRule]:
    """The rules of the first lines, within the time limit per path."""
    kept: list[IgnoreRule] = []
    reading, matching = _LARGEST, _LARGEST_EXPRESSIONS
    for line in lines:
        reading -= len(line) * (1 + line.count("{"))
        if reading < 0:
            break
        if (rule := parse_rule(line)) is not None:
            matching -= len(rule.expression)
            if matching < 0:
                break
            kept.append(rule)
    return kept


def parse_rule(line: str) -> IgnoreRule | None:
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
        return IgnoreRule(regex_of(pattern), include, directories_only)
    except re.error:
        return None


class Ignores:
    """The ignore rules of one directory: its own files first, then its parents'."""

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


def of_parents(root: str) -> Ignores | None:
    """The ignore rules from above a directory."""
    ignores: Ignores | None = None
    parents: list[str] = []
    while os.path.dirname(root) != root:
        root = os.path.dirname(root)
        parents.append(root)
    for directory in reversed(parents):
        ignores = Ignores(directory, ignores)
    return ignores


def listed(root: str, below: str = "", *, ignored_too: bool = False, limit: int = 5000) -> list[str]:
    """Entries of one directory, relative to ``root``: directories first, with a slash, then by name ignoring case.
    The user waits for the answer, so the time is limited."""
    end = time.monotonic() + _MOMENT_S
    directory = os.path.realpath(os.path.join(root, below))
    ignores = None if ignored_too else Ignores(directory, of_parents(directory))
    prefix = f"{below.strip('/')}/" if below.strip("/") else ""
    found: list[tuple[bool, str, str]] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            is_directory = entry.is_dir()
            if entry.name != ".git" and (ignores is None or ignores.keeps(entry.path, is_directory)):
                found.append((not is_directory, entry.name.lower(), prefix + entry.name + "/" * is_directory))
            if len(found) == limit or time.monotonic() > end:
                break
    return [path for _, _, path in sorted(found)]


def walk(root: str, only: str = "") -> Iterator[str]:
    """The files below ``root``, relative to it; with ``only``, matches of this pattern (without ignore rules)."""
    root = os.path.realpath(root)
    wanted = Rules(root, [only]) if only else None
    yield from _walk(root, len(root.rstrip("/")) + 1, of_parents(root), wanted)


def _walk(root: str, start: int, above: Ignores | None, wanted: Rules | None) -> Iterator[str]:
    """Depth first without recursion, since a tree may be deeper than the stack."""
    open_ones = [(_sorted_entries(root), Ignores(root, above))]
    while open_ones:
        entries, ignores = open_ones[-1]
        entry = next(entries, None)
        if entry is None:
            open_ones.pop()
            continue
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or not _is_kept(entry.path, is_directory, ignores, wanted):
            continue
        if is_directory:
            open_ones.append((_sorted_entries(entry.path), Ignores(entry.path, ignores)))
        elif entry.is_file(follow_symlinks=False):
            yield entry.path[start:]


def _sorted_entries(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        return iter(sorted(os.scandir(directory), key=lambda entry: os.fsencode(entry.name)))
    except OSError:
        return iter(())


def _is_kept(path: str, is_directory: bool, ignores: Ignores, wanted: Rules | None) -> bool:
    if wanted is not None:
        # A rule's "ignore" is a match here: a matching entry is included despite ignore files.
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


# Path patterns: ``*``, ``?``, ``[a-z]``, ``{a,b}``, and ``**`` across directories.


def regex_of(pattern: str) -> str:
    """A regular expression for ``fullmatch`` on a path with ``/``; re.error if it is not a pattern.
    It never backtracks: text between two stars, or directories between two ``**/``, matches at its first occurrence,
    since the second star can stretch. Only the text after the last star is matched from the end. So patterns such as
    ``*a*a*a*b`` take linear time."""
    if len(pattern) > _LONGEST_PATTERN:
        raise re.error(f"longer than {_LONGEST_PATTERN} characters")
    expression = "|".join(_one_way(_tokens(choice)) for choice in _choices(pattern))
    if len(expression) > _LARGEST_EXPRESSION:
        raise re.error("it stands for too many patterns; write it without some of its braces")
    return expression


def _choices(pattern: str) -> list[str]:
    """Expand braces."""
    done: list[str] = []
    waiting = [pattern]
    size = 0
    while waiting:
        parts = _first_braces(text := waiting.pop())
        if parts is None:
            done.append(text)
        else:
            before, inner, after = parts
            waiting += [f"{before}{choice}{after}" for choice in reversed(inner)]
            size += sum(map(len, waiting[-len(inner) :]))
        if len(done) + len(waiting) > _MOST_CHOICES or size > _LARGEST_EXPRESSION:
            raise re.error(f"more than {_MOST_CHOICES} alternatives in braces, or too long ones")
    return done


def _first_braces(pattern: str) -> tuple[str, list[str], str] | None:
    """The text before the first closed braces, their choices, and the text after them."""
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            at = _class(pattern, at)[1] - 1
        elif pattern[at] == "{" and (found := _choices_at(pattern, at)) is not None:
            return pattern[:at], found[0], pattern[found[1] :]
        at += 1
    return None


def _choices_at(pattern: str, at: int) -> tuple[list[str], int] | None:
    depth, start = 0, at + 1
    choices: list[str] = []
    for end in range(at, len(pattern)):
        character = pattern[end]
        depth += (character == "{") - (character == "}")
        if depth == 0 or (depth == 1 and character == ","):
            choices.append(pattern[start:end])
            start = end + 1
        if depth == 0:
            return choices, end + 1
    return None


_STAR, _DIRECTORIES, _ANYTHING, _SOMETHING = "[^/]*", "(?:[^/]*+/)*", ".*", ".+"
_STRETCHING = frozenset({_STAR, _DIRECTORIES, _ANYTHING, _SOMETHING})


def _tokens(pattern: str) -> list[str]:
    """Expressions for single characters, and those of variable length."""
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        match pattern[at]:
            case "*":
                token, at = _stars(pattern, at)
                if tokens[-1:] != [_STAR] or token != _STAR:
                    tokens.append(token)
                continue
            case "?":
                token = "[^/]"
            case "[":
                token, at = _class(pattern, at)
                tokens.append(token)
                continue
            case "\\" if at + 1 < len(pattern):
                at += 1
                token = re.escape(pattern[at])
            case "/" if pattern[at:] == "/**":
                return [*tokens, "/", _SOMETHING]
            case character:
                token = re.escape(character)
        tokens.append(token)
        at += 1
    return tokens


def _stars(pattern: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    whole_part = end - at >= 2 and (at == 0 or pattern[at - 1] == "/")
    if whole_part and end == len(pattern):
        return _ANYTHING, end
    if whole_part and pattern[end] == "/":
        return _DIRECTORIES, end + 1
    return _STAR, end


def _class(pattern: str, at: int) -> tuple[str, int]:
    negated = pattern[at + 1 : at + 2] in ("!", "^")
    start = at + 1 + negated
    end = pattern.find("]", start + 1)
    if end < 0:
        return re.escape("["), at + 1
    inside = _inside(pattern[start:end], pattern[at : end + 1])
    return f"(?!/)[{'^' if negated else ''}{inside}]", end + 1


def _inside(text: str, shown: str) -> str:
    """The content of brackets as ranges and single characters."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        last = text[at + 2] if text[at + 1 : at + 2] == "-" and at + 2 < len(text) else ""
        if last and last < text[at]:
            raise re.error(f"in {shown} a range ends before it begins")
        parts.append(re.escape(text[at]) + (f"-{re.escape(last)}" if last else ""))
        at += 3 if last else 1
    return "".join(parts)


def _one_way(tokens: list[str]) -> str:
    """Blocks between ``**/`` match one after another; the last one extends to the end."""
    blocks: list[list[str]] = [[]]
    for token in tokens:
        if token is _DIRECTORIES:
            blocks.append([])
        else:
            blocks[-1].append(token)
    pieces = [_block(blocks[0], last=len(blocks) == 1)]
    for number, block in enumerate(blocks[1:], 2):
        if number == len(blocks):
            pieces.append(f"{_DIRECTORIES}?{_block(block, last=True)}")
        elif block:
            pieces.append(f"(?>{_DIRECTORIES}?{_block(block, last=False)})")
    return "".join(pieces)


def _block(tokens: list[str], *, last: bool) -> str:
    """Text after a star matches at its first occurrence, unless it must extend to the end of the path."""
    runs: list[tuple[str, str]] = [("", "")]
    for token in tokens:
        if token in _STRETCHING:
            runs.append((token, ""))
        else:
            star, fixed = runs[-1]
            runs[-1] = (star, fixed + token)
    pieces = [runs[0][1]]
    for number, (star, fixed) in enumerate(runs[1:], 2):
        at_the_end = last and number == len(runs)
        pieces.append(f"{star}{fixed}" if at_the_end or star is not _STAR else f"(?>{star}?{fixed})")
    return "".join(pieces)
