"""Table of permission modes and kinds of calls: run, ask or deny.
Each mode allows everything the previous one in ``MODES`` allows. Unclassified calls count as the most powerful kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Mode = Literal["plan", "ask", "accept-edits", "everything"]
Kind = Literal["look", "look elsewhere", "edit", "inside", "act"]
Step = Literal["run", "ask", "refuse"]
Source = Literal["user", "remembered", "policy", "yolo"]

MODES: tuple[Mode, ...] = ("plan", "ask", "accept-edits", "everything")  # from narrowest to widest
CYCLE: tuple[Mode, ...] = ("ask", "accept-edits", "plan", "everything")  # order of the key that cycles
WORDS: dict[Mode, str] = {
    "plan": "plan: changes are denied",
    "ask": "ask before everything but reading in the project",
    "accept-edits": "accept edits in the project, ask before the rest",
    "everything": "everything runs without a question",
}
_OTHER_NAMES: dict[str, Mode] = {
    **dict.fromkeys(("yolo", "bypass"), "everything"),
    **dict.fromkeys(("edits", "accept_edits"), "accept-edits"),
}

_STEPS: dict[Mode, dict[Kind, Step]] = {
    "plan": {"look": "run", "look elsewhere": "ask", "edit": "refuse", "inside": "refuse", "act": "refuse"},
    "ask": {"look": "run", "look elsewhere": "ask", "edit": "ask", "inside": "run", "act": "ask"},
    "accept-edits": {"look": "run", "look elsewhere": "ask", "edit": "run", "inside": "run", "act": "ask"},
    "everything": {"look": "run", "look elsewhere": "run", "edit": "run", "inside": "run", "act": "run"},
}

PLANNING = (
    "denied: plan mode is on, and nothing may be changed. Read what you need with the read-only tools, "
    "then present a plan; the user decides when it is carried out"
)


class CallClass(msgspec.Struct, frozen=True):
    """Classification of a call. ``inside``: confined by a jail. ``extension``: owner of its tool. ``words``: the words
    of a single command, ``prefix`` the part a user may allow permanently. ``parts`` and ``prefixes``: the same for
    several joined commands, which all need a rule."""

    kind: Kind = "act"
    extension: str = ""
    words: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    prefixes: tuple[tuple[str, ...], ...] = ()


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """Permission for several calls: a tool, or with ``prefix`` its commands that begin with these words."""

    tool: str
    extension: str = ""
    prefix: tuple[str, ...] = ()

    def matches(self, tool: str, nature: CallClass) -> bool:
        if (self.tool, self.extension) != (tool, nature.extension):
            return False
        return not self.prefix or nature.words[: len(self.prefix)] == self.prefix


def is_covered(rules: Iterable[Rule], tool: str, nature: CallClass) -> bool:
    """True if a rule covers the call, or each of its parts."""
    listed = list(rules)
    if any(rule.matches(tool, nature) for rule in listed):
        return True
    natures = [msgspec.structs.replace(nature, words=part) for part in nature.parts]
    return bool(natures) and all(any(rule.matches(tool, part) for rule in listed) for part in natures)


IN_SESSION, SAVED_ANSWER = "your answer in this session", "saved answer"


def named_answers(rules: Iterable[Rule], tool: str, nature: CallClass, what: str) -> str:
    """The answers that cover a call, such as ``saved answer bash npm test …``."""
    natures = [nature, *(msgspec.structs.replace(nature, words=part) for part in nature.parts)]
    used = [rule for rule in rules if any(rule.matches(tool, each) for each in natures)]
    named = {f"{rule.tool} {' '.join(rule.prefix)} …" if rule.prefix else rule.tool for rule in used}
    return f"{what} {', '.join(sorted(named))}"


def decide(mode: Mode, kind: Kind) -> Step:
    return _STEPS[mode][kind]


def is_wider(mode: Mode, than: Mode) -> bool:
    return MODES.index(mode) > MODES.index(than)


def parse_mode(text: str) -> Mode | None:
    """Parse a mode as users write it; None if unknown.

    >>> parse_mode("Yolo"), parse_mode("accept-edits"), parse_mode("never")
    ('everything', 'accept-edits', None)
    """
    name = text.strip().lower()
    name = _OTHER_NAMES.get(name, name)
    return name if name in MODES else None
