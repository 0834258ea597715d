"""Limits the CPU time of a block, for regular expressions on untrusted text.
A signal interrupts even a running match. Works in the main thread only; elsewhere the block is refused."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class CpuLimitExceeded(BaseException):
    """Not an Exception, so that libraries do not catch it."""


@contextmanager
def cpu_limit(seconds: float) -> Generator[None]:
    """Raises TooSlow in the block. Blocks do not nest."""
    armed = True

    def stop(number: int, frame: FrameType | None) -> None:
        if armed:
            raise CpuLimitExceeded

    try:
        before = signal.signal(signal.SIGVTALRM, stop)
    except ValueError:  # not the main thread
        raise CpuLimitExceeded from None
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            yield
        finally:
            armed = False  # ignore a signal that arrives now
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
