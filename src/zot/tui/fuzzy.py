"""Fuzzy ranking of commands, files and lists; a lower rank is better.
Each typed word must be in the text, or its letters in order. The time is linear in the text's length."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

# Kinds of matches, best first; the gaps leave space for position and length.
EACH = 10_000
EQUAL, BEGINS, WORD, INSIDE, JOINED, INITIALS, ASIDE, SCATTERED = range(0, 8 * EACH, EACH)
_FINEST = EACH - 1

LONGEST = 100  # letters matched individually; longer words must match exactly
MOST_WORDS = 8
_BEGINNING = r"(?<![^\W_])"  # start of a word: nothing or punctuation before it


Ranked = TypeVar("Ranked")


def best(ranked: Sequence[tuple[int, Ranked]]) -> list[tuple[int, Ranked]]:
    """Best first, equals in input order; scattered letters only count if nothing matches better."""
    answers = [pair for pair in ranked if pair[0] < SCATTERED]
    return sorted(answers or ranked, key=lambda pair: pair[0])


class FuzzyMatch(NamedTuple):
    """``places`` are the matched characters of the text."""

    rank: int
    places: Sequence[int]


class Pattern:
    """Ignores case, and punctuation unless it is a ``path``, which is one word."""

    def __init__(self, typed: str, *, path: bool = False) -> None:
        words = [typed.lower()] if path else typed.lower().split()
        self._words = [_Word(word, path=path) for word in words[:MOST_WORDS]]

    def rank(self, text: str, aside: str = "") -> int | None:
        """None if a word is missing. Words in ``aside`` count, but not scattered letters."""
        lower, beside, total = text.lower(), aside.lower(), 0
        for word in self._words:
            found = word.found(lower)
            if found is not None and found.rank < ASIDE:
                total += found.rank
            elif beside and (other := word.stands_in(beside)) is not None:
                total += ASIDE + other.rank // 10
            elif found is not None:
                total += found.rank
            else:
                return None
        return total

    def stands_in(self, text: str) -> bool:
        """True if every word is in the text, ignoring punctuation."""
        lower = text.lower()
        return all(word.stands_in(lower) is not None for word in self._words)

    def has_letters(self) -> Callable[[str], object]:
        """A fast test whether the letters are in order in a lower-case text."""
        if len(self._words) == 1:
            return self._words[0].reader.match
        return lambda lower: all(word.in_order(lower) for word in self._words)

    def spread(self, lower: str) -> int | None:
        """The rank of scattered letters in a lower-case text."""
        found = [word.scattered(lower) for word in self._words]
        return None if any(one is None for one in found) else sum(one.rank for one in found if one is not None)

    def places(self, text: str) -> set[int]:
        """The characters to highlight."""
        lower = text.lower()
        if len(lower) != len(text):  # a letter whose lower case has two characters shifts the indexes from here on
            return set()
        found = [word.found(lower) for word in self._words]
        return {place for one in found if one is not None for place in one.places}


class _Word:
    def __init__(self, word: str, *, path: bool) -> None:
        self._text = word
        self._path = path
        self._letters = word if path else "".join(c for c in word if c.isalnum()) or word
        self._joined: re.Pattern[str] | None = None
        self._initials: tuple[re.Pattern[str], ...] = ()
        self._in_order: re.Pattern[str] | None = None

    def found(self, lower: str) -> FuzzyMatch | None:
        """Linear: each match starts after the previous one."""
        if (found := self.stands_in(lower)) is not None or len(self._letters) > LONGEST:
            return found
        if not self.in_order(lower):
            return None
        return self._by_initials(lower) or self.scattered(lower)

    def stands_in(self, lower: str) -> FuzzyMatch | None:
        at = lower.find(self._text)
        if at < 0:  # across punctuation: ``opus46`` in ``opus-4-6``
            if self._path or len(self._letters) > LONGEST:
                return None
            if self._joined is None:
                self._joined = re.compile(r"[\W_]*+".join(f"({re.escape(letter)})" for letter in self._letters))
            if (found := self._joined.search(lower)) is None:
                return None
            return FuzzyMatch(JOINED + min(found.start() + len(lower), _FINEST), _groups(found))
        if at and lower[at - 1].isalnum() and (found := re.search(_BEGINNING + re.escape(self._text), lower)):
            at = found.start()
        tier = INSIDE if at and lower[at - 1].isalnum() else WORD if at else BEGINS
        if len(self._text) == len(lower):
            tier = EQUAL
        return FuzzyMatch(tier + min(at + len(lower), _FINEST), range(at, at + len(self._text)))

    def in_order(self, lower: str) -> bool:
        return self.reader.match(lower) is not None

    @property
    def reader(self) -> re.Pattern[str]:
        if self._in_order is None:
            # Possessive: a text is scanned once from left to right.
            steps = (f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in self._letters[:LONGEST])
            self._in_order = re.compile("".join(steps))
        return self._in_order

    def _by_initials(self, lower: str) -> FuzzyMatch | None:
        """Each letter follows the previous one, or begins a word: ``sl`` in ``session list``."""
        if not self._initials:
            letters = [re.escape(letter) for letter in self._letters]
            self._initials = (
                _steps(letters, "(?>({0})|.*?{1}({0}))"),
                _steps(letters, "(?>.*?{1}({0})|({0}))"),  # ``rext`` in ``reload-ext``, where r and e would follow
            )
        found = next((found for steps in self._initials if (found := steps.match(lower)) is not None), None)
        if found is None:
            return None
        places = _groups(found)
        return FuzzyMatch(INITIALS + min(places[-1] + len(lower), _FINEST), places)

    def scattered(self, lower: str) -> FuzzyMatch | None:
        """The letters in order and close together; a digit does not match inside another number."""
        found = self.reader.match(lower)
        if found is None:
            return None
        places, end = list[int](), found.end()
        for letter in reversed(self._letters):
            end = lower.rfind(letter, 0, end)
            places.append(end)
        places.reverse()
        spread = places[-1] - places[0] + 1 - len(places)
        if not self._path and (spread > 3 * len(places) or not _are_digits_whole(lower, places)):
            return None
        return FuzzyMatch(SCATTERED + min(20 * spread + len(lower), _FINEST), places)


def _steps(letters: Sequence[str], step: str) -> re.Pattern[str]:
    """Atomic: no backtracking to a matched letter."""
    first = f"(?>.*?{_BEGINNING}({letters[0]}))"
    return re.compile(first + "".join(step.format(letter, _BEGINNING) for letter in letters[1:]), re.DOTALL)


def _groups(found: re.Match[str]) -> list[int]:
    return [found.start(group) for group in range(1, (found.re.groups or 0) + 1) if found.start(group) >= 0]


def _are_digits_whole(lower: str, places: Sequence[int]) -> bool:
    taken = set(places)
    return not any(lower[at].isdigit() and at and lower[at - 1].isalnum() and at - 1 not in taken for at in places)
