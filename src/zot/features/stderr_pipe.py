"""Pipes that a child writes to and the event loop reads, for example its stderr to its log.
A burst is stored whole. Beyond it a part of each second is stored, the rest is counted, and the pipe is read slowly, so
that only the child waits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

KEPT_AT_ONCE = 5 * 1000 * 1000
KEPT_IN_A_SECOND = 500 * 1000
_SECOND = 1.0
READ_BYTES = 64 * 1024  # default size of a pipe
_BETWEEN_SIPS_S = 0.005
_LAST_SIPS = 16  # a child may have enlarged its pipe


class ChildPipe:
    """``for_child`` is the child's end; the caller closes it once the child has it."""

    def __init__(self) -> None:
        self._fd, self.for_child = os.pipe()
        os.set_blocking(self._fd, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._readable)

    @property
    def is_closed(self) -> bool:
        return self._fd < 0

    def close(self) -> None:
        """Stop reading."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _readable(self) -> None:
        self._read()

    def _read(self) -> int:
        """One read; returns its size. Closes the pipe at the end."""
        try:
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self._at_end()
        return len(data)

    def _at_end(self) -> None:
        self.close()

    def _take(self, data: bytes) -> None:
        raise NotImplementedError


class StderrPipe(ChildPipe):
    """``keep`` gets the logged output; ``left_out`` the number of dropped bytes, at most once a second."""

    def __init__(self, keep: Callable[[bytes], None], left_out: Callable[[int], None]) -> None:
        super().__init__()
        self._keep = keep
        self._left_out = left_out
        self._allowance = KEPT_AT_ONCE
        self._dropped = 0
        self._pause: asyncio.TimerHandle | None = None
        self._refill: asyncio.TimerHandle | None = None

    def drain(self) -> None:
        """Read available output now, so that zot's next line comes after it."""
        for _ in range(_LAST_SIPS):
            if self.is_closed or self._read() < READ_BYTES:
                return

    def close(self) -> None:
        if self.is_closed:
            return
        super().close()
        for timer in (self._pause, self._refill):
            if timer is not None:
                timer.cancel()
        self._notify()

    def _readable(self) -> None:
        self._read()
        if not self.is_closed and self._allowance <= 0 and self._pause is None:
            self._loop.remove_reader(self._fd)
            self._pause = self._loop.call_later(_BETWEEN_SIPS_S, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        if not self.is_closed:
            self._loop.add_reader(self._fd, self._readable)

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
        self._notify()
        self._allowance = min(KEPT_AT_ONCE, self._allowance + KEPT_IN_A_SECOND)
        if self._allowance < KEPT_AT_ONCE:
            self._refill = self._loop.call_later(_SECOND, self._next_second)

    def _notify(self) -> None:
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._left_out(dropped)
