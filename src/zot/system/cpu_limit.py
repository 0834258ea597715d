"""Limits the CPU time of a block, for regular expressions on untrusted text. A signal interrupts even a running
match. Works in the main thread only; elsewhere the block is refused."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class CpuLimitExceeded(BaseException):
    """Not an Exception, so that no library on the way takes it for one of its own."""


@contextmanager
def cpu_limit(seconds: float) -> Generator[None]:
    """Raises TooSlow out of the block. Blocks do not nest."""
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
            armed = False  # a signal that comes now finds nothing to stop
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
