"""Matches commands with patterns such as ``npm test:*``, ``git *`` and ``npm run build``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Literal

from zot.features.shell.plain_commands import split_commands
from zot.features.shell.reach import Reach, ReachedCommand, commands_of
from zot.features.shell.runners import basename, needs_exact_rule
from zot.features.shell.syntax import ANY

Match = Literal["yes", "maybe", "no"]


# --- allowing


def covers_command(patterns: Iterable[str], command: str) -> bool:
    """True if the command is plain and each of its parts matches a pattern.

    >>> covers_command(["npm test:*", "tail *"], "npm test -x | tail -5"), covers_command(["echo *"], "echo a > b")
    (True, False)
    >>> covers_command(["timeout *"], "timeout 5 rm x"), covers_command(["timeout 5 make"], "timeout 5 make")
    (False, True)
    """
    listed, parts = list(patterns), split_commands(command)
    return bool(parts) and all(any(covers_words(pattern, part) for pattern in listed) for part in parts)


def covers_words(pattern: str, words: tuple[str, ...]) -> bool:
    """True if a pattern allows one plain command."""
    pattern = _spelled_out(pattern.strip())
    if "*" not in pattern:
        return split_commands(pattern) == (words,)
    return not needs_exact_rule(words) and _fits(pattern, shlex.join(words))


# --- denying and asking


def match_command(pattern: str, command: str) -> tuple[Match, str]:
    """How the pattern matches one of the commands that this one runs, and which, or why it may.

    >>> match_command("rm *", "timeout 5 rm x"), match_command("rm *", "npm test")
    (('yes', 'rm x'), ('no', ''))
    >>> match_command("rm *", "$TOOL x")
    ('maybe', '$TOOL x')
    """
    return match_reach(pattern, commands_of(command))


def match_reach(pattern: str, reach: Reach) -> tuple[Match, str]:
    pattern, doubtful = _spelled_out(pattern.strip()), ""
    for command in reach.commands:
        for text in _forms(command):
            if _fits(pattern, text):
                return "yes", text.replace(ANY, "…")
            if not doubtful and ANY in text and _may_fit(pattern, text):
                doubtful = command.source or text.replace(ANY, "…")
    return ("maybe", doubtful or reach.unclear) if doubtful or reach.unclear else ("no", "")


def _forms(command: ReachedCommand) -> set[str]:
    words = command.words
    forms = {" ".join(words)}
    if ANY not in command.source:
        forms.add(command.source)
    if "/" in words[0]:
        forms.add(" ".join((basename(words[0]), *words[1:])))
    return forms


def _spelled_out(pattern: str) -> str:
    return f"{pattern[:-2]} *" if pattern.endswith(":*") else pattern


def _fits(pattern: str, text: str) -> bool:
    return glob_fits(pattern, text) or (pattern.endswith(" *") and glob_fits(pattern[:-2], text))


def glob_fits(pattern: str, text: str) -> bool:
    """``*`` matches anything; each piece between is searched once, so the time is linear."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return text == first
    last = pieces.pop()
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in pieces:
        at = text.find(piece, place, end)
        if at < 0:
            return False
        place = at + len(piece)
    return True


def _may_fit(pattern: str, text: str) -> bool:
    """True if the text matches for some value of each ``ANY``. One bit per place in the pattern that is reached."""
    if pattern.endswith(" *") and _may_fit(pattern[:-2], text):
        return True
    stars = sum(1 << place for place, sign in enumerate(pattern) if sign == "*")
    places: dict[str, int] = {}
    for place, sign in enumerate(pattern):
        places[sign] = places.get(sign, 0) | (1 << place)
    everywhere = (1 << (len(pattern) + 1)) - 1
    reached = _past_stars(1, stars)
    for sign in text:
        if sign == ANY:
            reached = everywhere & ~((reached & -reached) - 1)
        else:
            reached = _past_stars((reached & stars) | ((reached & places.get(sign, 0) & ~stars) << 1), stars)
        if not reached:
            return False
    return bool(reached >> len(pattern))


def _past_stars(reached: int, stars: int) -> int:
    """A star also matches nothing."""
    while (more := reached | ((reached & stars) << 1)) != reached:
        reached = more
    return reached


def pattern_is_within(narrow: str, wide: str) -> bool:
    """True if every command of the first pattern certainly matches the second.

    >>> pattern_is_within("npm test:*", "npm *"), pattern_is_within("npm *", "npm test *")
    (True, False)
    """
    narrow, wide = _spelled_out(narrow.strip()), _spelled_out(wide.strip())
    return narrow == wide or _fits(wide, narrow.replace("*", ANY))
