"""Patterns of decorations: regular expressions that cannot be slow. The grammar has no look-around and no back
references, and matching follows all alternatives at once, so that its time grows with the text only; the longest match
counts. ``deadline`` (of ``thread_time``) ends it at any character: Python's ``re`` cannot be interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from zot.errors import ZotError

LONGEST = 200  # characters of a pattern
_MOST_STATES = 500
_MOST_REPEATS = 100
_MOST_CACHED = 5_000  # transitions
_STRIDE = 16  # characters between two looks at the clock

Test = Callable[[str], bool]
_CLASSES: dict[str, Test] = {
    "d": str.isdigit,
    "D": lambda c: not c.isdigit(),
    "s": str.isspace,
    "S": lambda c: not c.isspace(),
    "w": lambda c: c.isalnum() or c == "_",
    "W": lambda c: not (c.isalnum() or c == "_"),
}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_ANCHORS: dict[str, Literal["start", "end", "edge", "inside"]] = {"^": "start", "$": "end"}


class BadPattern(ZotError):
    """The text says what is not possible."""


class TookTooLong(ZotError):
    pass


class _Node(NamedTuple):
    """``test`` consumes a character; an ``anchor`` holds or not; otherwise all of ``then`` follow."""

    test: Test | None = None
    anchor: str = ""
    then: tuple[int, ...] = ()


class TextPattern:
    """``matches`` are disjoint, from left to right. BadPattern if it is none."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        if len(pattern) > LONGEST:
            raise BadPattern(f"at most {LONGEST} characters")
        parser = _Parser(pattern, ignore_case=ignore_case)
        self._accept = parser.add(_Node())
        self._start = parser.program(self._accept)
        self._nodes = parser.nodes
        self._steps: dict[tuple[frozenset[int], str, str], tuple[frozenset[int], bool]] = {}

    def matches(self, text: str, deadline: float = float("inf")) -> Iterator[tuple[int, int]]:
        """Start and end of each match that is not empty; TookTooLong at the deadline."""
        first, at, count = frozenset((self._start,)), 0, 0
        while at < len(text):
            states, end, before = first, -1, _kind(text[at - 1]) if at else "start"
            position = at
            while states:
                count += 1
                if not count % _STRIDE and time.thread_time() > deadline:
                    raise TookTooLong("the pattern takes too long")
                character = text[position] if position < len(text) else ""
                states, accepted = self._step(states, before, character)
                if accepted and position > at:
                    end = position
                if not character:
                    break
                before = _kind(character)
                position += 1
            if end > at:
                yield at, end
                at = end
            else:
                at += 1

    def _step(self, states: frozenset[int], before: str, character: str) -> tuple[frozenset[int], bool]:
        """The states behind a character (empty: the end), and whether a match ends before it."""
        key = (states, before, character)
        known = self._steps.get(key)
        if known is None:
            if len(self._steps) >= _MOST_CACHED:
                self._steps.clear()
            reached = self._closure(states, before, _kind(character) if character else "end")
            following: set[int] = set()
            for number in reached if character else ():
                node = self._nodes[number]
                if node.test is not None and node.test(character):
                    following.update(node.then)
            known = self._steps[key] = (frozenset(following), self._accept in reached)
        return known

    def _closure(self, states: frozenset[int], before: str, after: str) -> set[int]:
        """All states that are reached without a character here."""
        reached: set[int] = set()
        waiting = list(states)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            node = self._nodes[number]
            if node.test is None and _holds(node.anchor, before, after):
                waiting += node.then
        return reached


def _kind(character: str) -> str:
    return "word" if character.isalnum() or character == "_" else "other"


def _holds(anchor: str, before: str, after: str) -> bool:
    match anchor:
        case "start":
            return before == "start"
        case "end":
            return after == "end"
        case "edge":
            return (before == "word") != (after == "word")
        case "inside":
            return (before == "word") == (after == "word")
        case _:
            return True


# What a part of the pattern becomes: given the state that follows it, its first state.
_Part = Callable[[int], int]


class _Parser:
    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        self.nodes: list[_Node] = []
        self._text = pattern
        self._at = 0
        self._ignore_case = ignore_case

    def add(self, node: _Node) -> int:
        if len(self.nodes) >= _MOST_STATES:
            raise BadPattern("too many repetitions")
        self.nodes.append(node)
        return len(self.nodes) - 1

    def program(self, accept: int) -> int:
        part = self._alternatives()
        if self._at < len(self._text):
            raise BadPattern(f"unexpected {self._text[self._at]!r}")
        return part(accept)

    # --- grammar

    def _alternatives(self) -> _Part:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        return lambda then: self.add(_Node(then=tuple(branch(then) for branch in branches)))

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))

        def build(then: int) -> int:
            for part in reversed(parts):
                then = part(then)
            return then

        return build

    def _repeated(self, part: _Part) -> _Part:
        while (least_most := self._quantifier()) is not None:
            part = self._repeat(part, *least_most)
            if not self._take("?"):  # lazy and possessive: the longest match counts anyway
                self._take("+")
        return part

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, found in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return found
        if not self._text.startswith("{", self._at):
            return None
        inside, closed, _ = self._text[self._at + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        if not closed or not (low.isdigit() or (comma and not low)) or (high and not high.isdigit()):
            return None  # a brace as it is
        self._at += len(inside) + 2
        least = int(low[:6] or 0)
        most = least if not comma else int(high[:6]) if high else None
        if max(least, most or 0) > _MOST_REPEATS:
            raise BadPattern(f"at most {_MOST_REPEATS} repetitions")
        if most is not None and most < least:
            raise BadPattern("the repetitions are the wrong way round")
        return least, most

    def _repeat(self, part: _Part, least: int, most: int | None) -> _Part:
        def build(then: int) -> int:
            if most is None:
                loop = self.add(_Node())  # known before what it leads to
                self.nodes[loop] = _Node(then=(part(loop), then))
                then = loop
            else:
                for _ in range(most - least):
                    then = self.add(_Node(then=(part(then), then)))
            for _ in range(least):
                then = part(then)
            return then

        return build

    def _atom(self) -> _Part:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._one(self._class())
        if character == ".":
            return self._one(lambda c: c != "\n")
        if character in _ANCHORS:
            return self._anchor(_ANCHORS[character])
        if character == "\\":
            return self._escaped()
        if character in "*+?":
            raise BadPattern(f"nothing to repeat before {character!r}")
        return self._one(self._literal(character))

    def _group(self) -> _Part:
        if self._take("?") and not self._take(":"):
            raise BadPattern("look-around and named groups are not possible")
        part = self._alternatives()
        if not self._take(")"):
            raise BadPattern("a group is not closed")
        return part

    def _escaped(self) -> _Part:
        character = self._next("a backslash at the end")
        if character in "bB":
            return self._anchor("edge" if character == "b" else "inside")
        if character in "AZ":
            return self._anchor("start" if character == "A" else "end")
        if character in _CLASSES:
            return self._one(_CLASSES[character])
        if character.isdigit() and character != "0":
            raise BadPattern("back references are not possible")
        if character.isalpha() and character not in _ESCAPES:
            raise BadPattern(f"unknown escape \\{character}")
        return self._one(self._literal(_ESCAPES.get(character, character)))

    def _class(self) -> Test:
        negated, tests, singles = self._take("^"), list[Test](), set[str]()
        ranges: list[tuple[str, str]] = []
        while (character := self._next("a class is not closed")) != "]" or not (tests or singles or ranges):
            if character == "\\":
                character = self._next("a class is not closed")
                if character in _CLASSES:
                    tests.append(_CLASSES[character])
                    continue
                character = _ESCAPES.get(character, character)
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                last = self._next("a class is not closed")
                last = self._next("a class is not closed") if last == "\\" else last
                ranges.append((character, last))
            else:
                singles.add(character)
        return self._any_of(singles, ranges, tests, negated=negated)

    def _any_of(
        self, singles: set[str], ranges: Sequence[tuple[str, str]], tests: Sequence[Test], *, negated: bool
    ) -> Test:
        fold = self._ignore_case

        def holds(c: str) -> bool:
            for each in {c, c.lower(), c.upper()} if fold else (c,):
                if each in singles or any(low <= each <= high for low, high in ranges):
                    return True
            return any(test(c) for test in tests)

        return (lambda c: not holds(c)) if negated else holds

    def _literal(self, character: str) -> Test:
        if self._ignore_case:
            folded = character.casefold()
            return lambda c: c.casefold() == folded
        return lambda c: c == character

    # --- parts and characters

    def _one(self, test: Test) -> _Part:
        return lambda then: self.add(_Node(test, then=(then,)))

    def _anchor(self, anchor: str) -> _Part:
        return lambda then: self.add(_Node(anchor=anchor, then=(then,)))

    def _take(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._at)
        self._at += len(sign) if found else 0
        return found

    def _next(self, missing: str = "it ends too early") -> str:
        if self._at >= len(self._text):
            raise BadPattern(missing)
        self._at += 1
        return self._text[self._at - 1]
