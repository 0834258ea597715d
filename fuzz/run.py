"""Runs cases of one reader in batches: every case with a limit of time, every finding kept as it came."""

from __future__ import annotations

import hashlib
import random
import signal
import time
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from fuzz import extension_values, files, guests, models, rules, second_edition, small_models, texts, wires
from fuzz.cases import case
from fuzz.reader import READERS, Reader

CORPUS = Path(__file__).parent / "corpus"
BATCH = 250
HANGS_S = 5.0  # of processor time; a case that takes as long has no end
SLOW_S = 0.25  # a case is two thousand bytes at most
__all__ = [
    "BATCH",
    "CORPUS",
    "READERS",
    "extension_values",
    "files",
    "guests",
    "models",
    "rules",
    "second_edition",
    "small_models",
    "texts",
    "wires",
]


class Finding(NamedTuple):
    reader: str
    data: bytes
    seed: str  # of the chance it was read with
    text: str


class Hang(BaseException):
    """Not an Exception: no reader may take it for one of its own."""


def batch(name: str, seed: int, number: int, count: int = BATCH) -> tuple[int, float, list[Finding]]:
    """So many cases; how many were run, their seconds, and what was found."""
    reader, began = READERS[name], time.thread_time()
    findings: list[Finding] = []
    for place in range(count):
        chance = f"{seed}:{name}:{number}:{place}"
        data = case(random.Random(chance), reader.seeds, reader.words)
        if text := trouble(reader, data, chance):
            findings.append(Finding(name, data, chance, text))
    return count, time.thread_time() - began, findings


def trouble(reader: Reader, data: bytes, chance: str = "0") -> str:
    """What is wrong with how the reader takes this; empty when nothing is."""
    spent = 0.0
    for _ in range(3):
        began = time.thread_time()
        try:
            with _limit():
                reader.read(data, random.Random(chance))
        except Hang:
            return f"it takes more than {HANGS_S:.0f} s"
        except Exception:
            return traceback.format_exc()
        if (spent := time.thread_time() - began) < SLOW_S:
            return ""
    return f"it takes {spent:.2f} s"


@contextmanager
def _limit() -> Generator[None]:
    def ended(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# --- the corpus: what was found once is tried for ever


def keep(finding: Finding) -> Path:
    folder = CORPUS / finding.reader.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(finding.data).hexdigest()[:16]
    path.write_bytes(finding.data)
    return path


def kept() -> Iterator[tuple[Reader, Path]]:
    for reader in READERS.values():
        for path in sorted((CORPUS / reader.name.replace(" ", "-")).glob("*")):
            yield reader, path
