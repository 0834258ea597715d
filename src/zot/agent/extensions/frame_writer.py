"""Frames to one child, in order, through a bounded queue that never makes the agent wait.

A frame goes out with one write call as soon as the pipe has room. More than 256 frames or 16 MiB waiting, or one
write stuck for 5 s, is a fault: the child is disconnected rather than some of its frames being lost in silence.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

from zot.wire import limits


class FrameWriter:
    """Owns ``fd``, the writing end of a child's stdin, until ``close`` or until ``finish`` has let it drain."""

    def __init__(self, fd: int, on_fault: Callable[[str], None]) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._on_fault = on_fault
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._in_flight = memoryview(b"")
        self._deadline: asyncio.TimerHandle | None = None
        self._finishing = False

    def send(self, line: bytes) -> bool:
        """Write or queue one line; False when the child cannot get it."""
        if self._fd is None or self._finishing:
            return False
        if not self._in_flight:
            return self._begin(line)
        if len(self._queue) >= limits.QUEUE_FRAMES or self._queued_bytes + len(line) > limits.QUEUE_BYTES:
            self._fault(f"does not read its stdin: {len(self._queue)} frames are waiting")
            return False
        self._queue.append(line)
        self._queued_bytes += len(line)
        return True

    def finish(self) -> None:
        """Close as soon as everything queued is out."""
        self._finishing = True
        if not self._in_flight:
            self.close()

    def close(self) -> None:
        """Close now; what is queued is lost."""
        if self._fd is None:
            return
        self._stop_waiting()
        os.close(self._fd)
        self._fd = None
        self._queue.clear()
        self._in_flight = memoryview(b"")

    def _begin(self, line: bytes) -> bool:
        self._in_flight = memoryview(line)
        self._write()
        if self._fd is not None and self._in_flight:
            self._loop.add_writer(self._fd, self._writable)
            self._wait()
        return self._fd is not None

    def _writable(self) -> None:
        self._write()
        if self._fd is None or self._in_flight:
            return
        if self._queue:
            line = self._queue.popleft()
            self._queued_bytes -= len(line)
            self._in_flight = memoryview(line)
            self._wait()
        else:
            self._stop_waiting()
            if self._finishing:
                self.close()

    def _write(self) -> None:
        """One write call; a child that closed its stdin gets nothing any more."""
        assert self._fd is not None
        try:
            self._in_flight = self._in_flight[os.write(self._fd, self._in_flight) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def _wait(self) -> None:
        """The frame in flight has 5 s from now."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._loop.call_later(limits.WRITE_DEADLINE, self._stuck)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._fd is not None:
            self._loop.remove_writer(self._fd)

    def _stuck(self) -> None:
        self._fault(f"did not read its stdin for {limits.WRITE_DEADLINE:g} s")

    def _fault(self, reason: str) -> None:
        self.close()
        self._on_fault(reason)
