"""Splits bytes into lines, for readers of newline-delimited JSON.
A line above the limit is never stored: it is reported once as None, as soon as it is too long, and skipped up to its
line feed. A reader may stop at the None."""

from __future__ import annotations

import sys

_LONG = 64 * 1024


class LineSplitter:
    """``limit`` is the longest line, without its line feed; default: unlimited."""

    def __init__(self, limit: int = sys.maxsize) -> None:
        self._limit = limit
        self._parts: list[bytes] = []  # pieces of the unfinished line, joined at its end
        self._size = 0
        self._skipping = False

    @property
    def is_inside_a_long_line(self) -> bool:
        """True if larger reads are worthwhile."""
        return self._skipping or self._size > _LONG

    @property
    def unfinished(self) -> bytes:
        """The unfinished line; empty for one that is being skipped."""
        return b"".join(self._parts)

    def feed(self, data: bytes) -> list[bytes | None]:
        """The complete lines, without line feeds; None for one that is too long."""
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
        """The text after the last line feed, which is also a line at the end of the stream."""
        rest = self.unfinished
        self._forget()
        return rest

    def _completed(self, end: bytes) -> list[bytes | None]:
        """The unfinished line with its end; nothing if it was reported as too long."""
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
