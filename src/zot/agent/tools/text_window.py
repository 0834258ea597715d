"""Some consecutive lines of a file of any size, read in one pass and constant memory."""

from __future__ import annotations

import os

import msgspec

from zot.agent.tools.limits import MAX_BYTES, MAX_LINES
from zot.agent.tools.utf8 import whole_characters

_CHUNK = 256 * 1024
_COUNTED_BYTES = 1024 * 1024 * 1024  # beyond this the total is given as "or more"


class Window(msgspec.Struct, frozen=True):
    """``lines`` are returned in ``data``, the last one perhaps in part; ``total_lines`` are in the file."""

    data: bytes
    lines: int
    total_lines: int
    cut_by_lines: bool = False
    cut_by_bytes: bool = False
    cut_inside_line: bool = False
    counted_all: bool = True


def read_window(fd: int, first: int, limit: int) -> Window:
    """Lines ``first`` (from 1) onwards, at most ``limit`` of them when it is positive, within the caps."""
    os.lseek(fd, 0, os.SEEK_SET)
    collector = _Collector(first)
    seen = 0
    while seen < _COUNTED_BYTES and (chunk := os.read(fd, _CHUNK)):
        seen += len(chunk)
        collector.feed(chunk)
    return collector.window(limit, counted_all=seen < _COUNTED_BYTES)


class _Collector:
    """Skips to the first line, keeps one line and one byte more than may be shown, counts the rest."""

    def __init__(self, first: int) -> None:
        self._to_skip = first - 1
        self._kept = bytearray()
        self._newlines = 0
        self._ends_in_newline = True

    def feed(self, chunk: bytes) -> None:
        self._newlines += chunk.count(b"\n")
        self._ends_in_newline = chunk.endswith(b"\n")
        start = self._skip(chunk)
        room = MAX_BYTES + 1 - len(self._kept)
        if start < len(chunk) and room > 0:
            self._kept += chunk[start : start + room]

    def _skip(self, chunk: bytes) -> int:
        """Where the window goes on in this chunk; its end when the first line is not reached yet."""
        if not self._to_skip:
            return 0
        here = chunk.count(b"\n")
        if here < self._to_skip:
            self._to_skip -= here
            return len(chunk)
        position = 0
        for _ in range(self._to_skip):
            position = chunk.index(b"\n", position) + 1
        self._to_skip = 0
        return position

    def window(self, limit: int, *, counted_all: bool) -> Window:
        total = self._newlines + (not self._ends_in_newline)
        wanted = min(limit, MAX_LINES) if limit > 0 else MAX_LINES
        kept = bytes(self._kept)
        data = _first_lines(kept, wanted)
        by_bytes = len(data) > MAX_BYTES
        if by_bytes:
            data = _within_cap(data)
        return Window(
            data,
            lines=data.count(b"\n") + (not data.endswith(b"\n") if data else 0),
            total_lines=total,
            cut_by_lines=not by_bytes and wanted != limit and len(data) < len(kept),
            cut_by_bytes=by_bytes,
            cut_inside_line=by_bytes and not data.endswith(b"\n"),
            counted_all=counted_all,
        )


def _first_lines(data: bytes, count: int) -> bytes:
    parts = data.split(b"\n", count)
    return data[: len(data) - len(parts[count])] if len(parts) > count else data


def _within_cap(data: bytes) -> bytes:
    """Whole lines, so that the next offset continues exactly; part of a line only when it alone is too long."""
    end = data.rfind(b"\n", 0, MAX_BYTES)
    return data[: end + 1] if end >= 0 else whole_characters(data[:MAX_BYTES])
