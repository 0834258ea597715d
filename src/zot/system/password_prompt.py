"""Reads one hidden line from the terminal without blocking the event loop, then restores the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager

_LONGEST = 64 * 1024


@contextmanager
def no_echo(fd: int) -> Generator[None]:
    """Input is not echoed in the block. Earlier input is discarded: it was typed before the question."""
    before = termios.tcgetattr(fd)
    quiet = list(before)
    quiet[3] &= ~(termios.ECHO | termios.ECHOE | termios.ECHOK | termios.ECHONL)
    termios.tcsetattr(fd, termios.TCSAFLUSH, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
        sys.stderr.write("\n")  # the user's newline was not shown
        sys.stderr.flush()


class LineReader:
    """Lines of a descriptor, awaited one by one; None at its end."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = b""

    async def next(self) -> str | None:
        while b"\n" not in self._rest and len(self._rest) < _LONGEST:
            await self._readable()
            try:
                data = os.read(self._fd, 4096)
            except OSError:  # the terminal was closed, or there is none
                data = b""
            if not data:
                if not self._rest:
                    return None
                self._rest += b"\n"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    async def _readable(self) -> None:
        """Read a file at once: an event loop cannot wait for it, and it never blocks."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(self._fd, lambda: ready.done() or ready.set_result(None))
        except OSError:
            return
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)
