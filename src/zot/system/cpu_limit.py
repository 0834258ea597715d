"""An end to work whose length nobody can know: other people's patterns run over a stranger's text.

The block ends with TooSlow once it has used so many seconds of processor time, even in the middle of one match: the
regex engine looks for signals as it goes. Processor time, not the clock's: a busy machine changes nothing. Only the
main thread can be stopped in this way; in any other the block is refused at once.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class TooSlow(BaseException):
    """Not an Exception, so that no library on the way takes it for one of its own."""


@contextmanager
def cpu_limit(seconds: float) -> Generator[None]:
    """Raises TooSlow out of the block. Blocks do not nest."""
    armed = True

    def stop(number: int, frame: FrameType | None) -> None:
        if armed:
            raise TooSlow

    try:
        before = signal.signal(signal.SIGVTALRM, stop)
    except ValueError:  # not the main thread
        raise TooSlow from None
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            yield
        finally:
            armed = False  # a signal that comes now finds nothing to stop
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
