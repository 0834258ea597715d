"""What a reader is to the fuzzer: seeds and words of its grammar, and a function that raises when a law is broken."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Reader(NamedTuple):
    """``read`` takes a case and a source of chance, for where to cut it; whatever it raises is a finding."""

    name: str
    read: Callable[[bytes, random.Random], object]
    seeds: Sequence[bytes]
    words: Sequence[bytes]


READERS: dict[str, Reader] = {}


def reader(name: str, seeds: Sequence[bytes | str], words: str | Sequence[bytes | str]):
    """Registers a reader. ``words`` are told apart by spaces; a space itself is always one of them."""
    listed = words.split(" ") if isinstance(words, str) else words

    def register(read: Callable[[bytes, random.Random], object]) -> Callable[[bytes, random.Random], object]:
        every = [_bytes(word) for word in listed if word]
        READERS[name] = Reader(name, read, [_bytes(seed) for seed in seeds], [*every, b" ", b"\n", b"a", b"1"])
        return read

    return register


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """As text from outside comes: decoded, with marks for what is no text."""
    return data.decode("utf-8", "replace")


class Broken(AssertionError):
    """A law that does not hold."""


def holds(law: bool, text: str, *shown: object) -> None:
    if not law:
        raise Broken(f"{text}: {', '.join(map(repr, shown))}"[:2000])
