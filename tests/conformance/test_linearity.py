"""Everything that reads or draws text from outside takes time in proportion to it.

Each row names a reader and a text made to be slow in it, written for any size. The text is doubled four times; a reader
that takes more than n log n for it fails. Processor time is measured, the least of several runs, and a suspicion is
looked into again before it counts: a busy machine is no quadratic.
"""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import pytest

from tests.conformance.hostile import ROWS, Row

_WORTH_MEASURING_S = 0.001
_LARGEST = 1 << 21
_DOUBLINGS = 4
_MOST_GROWTH = 64.0  # over four doublings: 16 is linear, about 22 is n log n, 256 is quadratic
_PATIENCE_S = 8.0  # of processor time, for one run
_LOOKS = 4


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_time_grows_with_the_text_and_with_nothing_else(row: Row) -> None:
    if row.allowed is not None:
        _is_held(row, row.allowed(row.start))
        return
    size, spent = _worth_measuring(row)
    if spent < _WORTH_MEASURING_S:
        return  # the largest text is read before a clock can tell
    growth = large = 0.0
    for _ in range(_LOOKS):
        small = min(_seconds(row, size) for _ in range(4))
        large = _seconds(row, size << _DOUBLINGS)
        growth = large / small
        if growth <= _MOST_GROWTH:
            return
    text = f"{row.name}: {size << _DOUBLINGS} take {growth:.0f} times as long as {size}, {large:.2f} s"
    pytest.fail(f"{text}; linear would be {1 << _DOUBLINGS} times")


def _is_held(row: Row, allowed: float) -> None:
    spent = 0.0
    for _ in range(_LOOKS):
        if (spent := _seconds(row, row.start)) <= allowed:
            return
    pytest.fail(f"{row.name}: {spent:.2f} s for {row.start} characters, {allowed:.2f} s are allowed")


def _worth_measuring(row: Row) -> tuple[int, float]:
    """The smallest size whose time can be measured, and that time."""
    _seconds(row, row.start)  # what is loaded at the first use
    size = row.start
    while (spent := _seconds(row, size)) < _WORTH_MEASURING_S and size << _DOUBLINGS < _LARGEST:
        size *= 2 if spent > _WORTH_MEASURING_S / 4 else 4
    return size, spent


def _seconds(row: Row, size: int) -> float:
    given = row.made(size)
    gc.collect(0)
    gc.disable()
    try:
        with _patience(row, size):
            began = time.thread_time()
            row.read(given)
            return time.thread_time() - began
    finally:
        gc.enable()


@contextmanager
def _patience(row: Row, size: int) -> Generator[None]:
    """Not the timer that highlighting uses: that one is under test."""

    def ended(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"{row.name}: a text of size {size} takes more than {_PATIENCE_S:.0f} s")

    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, _PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
