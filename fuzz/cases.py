"""Cases out of a grammar's seeds and words: spliced, repeated, cut, shuffled, with bytes that do not belong there."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

_BYTES = (0, 7, 9, 10, 13, 27, 32, 34, 39, 92, 96, 127, 128, 155, 157, 192, 224, 237, 239, 240, 244, 254, 255)
_MARKS = (
    "é",
    "漢",
    "👨\u200d👩\u200d👧",
    "🇩🇪",
    "e\u0301",
    "\u200d",
    "\ufe0f",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\x85",
    "İ",
)
_ODD = tuple(mark.encode("utf-8", "surrogatepass") for mark in (*_MARKS, "\ud800", "\x85", "İ", "\U0010ffff"))
_HUGE = (b"9" * 20, b"9" * 5000, b"1e999", b"2147483648", b"18446744073709551616")
_NUMBERS = (b"0", b"-1", b"0x10", "٣".encode(), *_HUGE)
_LONGEST = 2000


def case(rng: random.Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """One input: mostly a seed that was damaged a little, sometimes words in any order."""
    data = _words(rng, words) if rng.random() < 0.3 else rng.choice(seeds)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 8))):
        data = rng.choice(_CHANGES)(rng, data, seeds, words)
    return data[:_LONGEST]


def cut(rng: random.Random, data: bytes) -> list[bytes]:
    """The same bytes in pieces, some of them empty."""
    places = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 8)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def _words(rng: random.Random, words: Sequence[bytes]) -> bytes:
    return b"".join(rng.choice(words) for _ in range(rng.randrange(1, 30)))


def _place(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(start + rng.choice((0, 1, 1, 2, 4, 16, 64)), len(data))


def _replaced(rng: random.Random, data: bytes, piece: bytes) -> bytes:
    start, end = _place(rng, data)
    return data[:start] + piece + data[end:]


_CHANGES: tuple[Callable[[random.Random, bytes, Sequence[bytes], Sequence[bytes]], bytes], ...] = (
    lambda rng, data, seeds, words: _replaced(rng, data, bytes([rng.choice(_BYTES)])),
    lambda rng, data, seeds, words: _replaced(rng, data, bytes([rng.randrange(256)])),
    lambda rng, data, seeds, words: _replaced(rng, data, rng.choice(_ODD)),
    lambda rng, data, seeds, words: _replaced(rng, data, rng.choice(_NUMBERS)),
    lambda rng, data, seeds, words: _replaced(rng, data, rng.choice(words)),
    lambda rng, data, seeds, words: _replaced(rng, data, rng.choice(words) * rng.choice((2, 3, 10, 100))),
    lambda rng, data, seeds, words: _replaced(rng, data, b""),
    lambda rng, data, seeds, words: data[: rng.randrange(len(data) + 1)],
    lambda rng, data, seeds, words: data[rng.randrange(len(data) + 1) :],
    lambda rng, data, seeds, words: data[: rng.randrange(len(data) + 1)] + rng.choice(seeds),
    lambda rng, data, seeds, words: _again(rng, data),
    lambda rng, data, seeds, words: _swapped(rng, data),
)


def _again(rng: random.Random, data: bytes) -> bytes:
    start, end = _place(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 2, 7, 50)) + data[end:]


def _swapped(rng: random.Random, data: bytes) -> bytes:
    first, second = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[second:] + data[first:second] + data[:first]
