"""Bytes to lines, for every reader of newline-delimited JSON: whole lines come out, whatever pieces go in.

A line above the limit is never held in memory. It is reported as None, once, as soon as it is too long, and skipped up
to its line feed; the line after it is read as if nothing had happened. A reader that would rather end does so at the
None.
"""

from __future__ import annotations

import sys

_LONG = 64 * 1024


class LineSplitter:
    """``limit`` is the longest line, without its line feed; any length unless said otherwise."""

    def __init__(self, limit: int = sys.maxsize) -> None:
        self._limit = limit
        self._parts: list[bytes] = []  # of the line that has not ended; joined once, when it has
        self._size = 0
        self._skipping = False

    @property
    def is_inside_a_long_line(self) -> bool:
        """Worth reading in larger pieces."""
        return self._skipping or self._size > _LONG

    @property
    def unfinished(self) -> bytes:
        """The line that has begun and not ended; nothing of one that is being skipped."""
        return b"".join(self._parts)

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that are complete now, without their line feeds; None for one that is too long."""
        *whole, tail = data.split(b"\n")
        found: list[bytes | None] = [*whole]
        if whole and (self._parts or self._skipping):
            found[:1] = self._completed(whole[0])
        if len(data) > self._limit:
            found = [line if line is not None and len(line) <= self._limit else None for line in found]
        if tail and not self._skipping:
            self._parts.append(tail)
            self._size += len(tail)
            if self._size > self._limit:
                self._forget()
                self._skipping = True
                found.append(None)
        return found

    def rest(self) -> bytes:
        """What stands after the last line feed: a line too, at the end of the stream."""
        rest = self.unfinished
        self._forget()
        return rest

    def _completed(self, end: bytes) -> list[bytes | None]:
        """The line begun before, now that its end is here; nothing if it was reported as too long already."""
        if self._skipping:
            self._skipping = False
            return []
        is_short = self._size + len(end) <= self._limit
        line = b"".join([*self._parts, end]) if is_short else None
        self._forget()
        return [line]

    def _forget(self) -> None:
        self._parts = []
        self._size = 0
