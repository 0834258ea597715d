"""Bytes to lines, with a bound: a line that is too long is skipped up to its end and never held in memory.

Whatever a child writes, the next line after its next line feed is read as if nothing had happened.
"""

from __future__ import annotations

from zot.wire.frames import MAX_LINE


class LineReader:
    """``feed`` gives complete lines without their line feed; None stands for a line that was too long."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit - 1  # the line feed counts
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    @property
    def is_inside_a_long_line(self) -> bool:
        """Worth reading in larger pieces."""
        return self._skipping or self._size > 65536

    def feed(self, data: bytes) -> list[bytes | None]:
        first, *others = data.split(b"\n")
        lines = self._add(first)
        if not others:
            return lines
        lines += self._complete()
        tail = others.pop()
        lines += [line if len(line) <= self._limit else None for line in others]
        return lines + self._add(tail)

    def end(self) -> list[bytes | None]:
        """What is left at the end of the stream: a last line without its line feed counts."""
        return self._complete() if self._size else []

    def _add(self, piece: bytes) -> list[bytes | None]:
        if self._skipping or not piece:
            return []
        self._parts.append(piece)
        self._size += len(piece)
        if self._size <= self._limit:
            return []
        self._forget()
        self._skipping = True
        return [None]

    def _complete(self) -> list[bytes | None]:
        if self._skipping:
            self._skipping = False
            return []
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._forget()
        return [line]

    def _forget(self) -> None:
        self._parts = []
        self._size = 0
