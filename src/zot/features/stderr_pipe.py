"""What a child writes to its stderr, on its way into its log: the host reads it, so that a flood meets a limit.

A burst is kept whole. Beyond it some of each second is kept, the rest is counted and left out, and the pipe is read in
small sips, so that the child waits and nobody else does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

KEPT_AT_ONCE = 5 * 1000 * 1000
KEPT_IN_A_SECOND = 500 * 1000
_SECOND = 1.0
_SIP = 64 * 1024  # all that a pipe holds
_BETWEEN_SIPS_S = 0.005
_LAST_SIPS = 16  # a child may have made its pipe larger


class StderrPipe:
    """``for_child`` is the end the child writes to, to be closed by whoever has handed it on.

    ``keep`` gets what goes into the log; ``left_out`` is told of bytes that were not kept, at most once a second.
    """

    def __init__(self, keep: Callable[[bytes], None], left_out: Callable[[int], None]) -> None:
        self._fd, self.for_child = os.pipe()
        os.set_blocking(self._fd, False)
        self._keep = keep
        self._left_out = left_out
        self._allowance = KEPT_AT_ONCE
        self._dropped = 0
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._refill: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._fd, self._readable)

    def drain(self) -> None:
        """Take what is there now, so that what the host writes next stands behind it."""
        for _ in range(_LAST_SIPS):
            if self._fd < 0 or self._sip() < _SIP:
                return

    def close(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        for timer in (self._pause, self._refill):
            if timer is not None:
                timer.cancel()
        self._tell()

    def _readable(self) -> None:
        self._sip()
        if self._fd >= 0 and self._allowance <= 0 and self._pause is None:
            self._loop.remove_reader(self._fd)
            self._pause = self._loop.call_later(_BETWEEN_SIPS_S, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        if self._fd >= 0:
            self._loop.add_reader(self._fd, self._readable)

    def _sip(self) -> int:
        """One read; how much there was."""
        try:
            data = os.read(self._fd, _SIP)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self.close()
        return len(data)

    def _take(self, data: bytes) -> None:
        kept = data[: max(0, self._allowance)]
        if kept:
            self._keep(kept)
        self._allowance -= len(kept)
        self._dropped += len(data) - len(kept)
        if self._refill is None:
            self._refill = self._loop.call_later(_SECOND, self._next_second)

    def _next_second(self) -> None:
        self._refill = None
        self._tell()
        self._allowance = min(KEPT_AT_ONCE, self._allowance + KEPT_IN_A_SECOND)
        if self._allowance < KEPT_AT_ONCE:
            self._refill = self._loop.call_later(_SECOND, self._next_second)

    def _tell(self) -> None:
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._left_out(dropped)
