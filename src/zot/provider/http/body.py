"""The three ways an HTTP/1.1 body ends: chunks, a length, or the end of the connection. Pure: bytes in, bytes out.

``feed`` returns the payload found so far in one piece, because one join is cheaper than many small
deliveries. ``done`` says that the body ended; bytes after it are in ``extra``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from zot.errors import TransportFailed

_MAX_LINE = 16 * 1024


class Body(Protocol):
    done: bool
    extra: bytes

    def feed(self, data: bytes) -> bytes: ...

    def end(self) -> None:
        """The connection ended; raises TransportFailed when the body had not."""
        ...


class ChunkedBody:
    """``transfer-encoding: chunked``; extensions and trailers are skipped."""

    def __init__(self) -> None:
        self.done = False
        self.extra = b""
        self._left = 0  # payload bytes still missing of the current chunk
        self._in_chunk = False
        self._in_trailer = False
        self._tail = b""  # an unfinished line, or the line end of a chunk

    def feed(self, data: bytes) -> bytes:
        if self._tail:
            data, self._tail = self._tail + data, b""
        payload: list[bytes] = []
        at = self._finish_chunk(data, payload) if self._in_chunk else 0
        while not (self._in_chunk or self._in_trailer):
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                break
            size = _chunk_size(data[at:line_end])
            start = line_end + 2
            at = start + size
            if size and data[at : at + 2] == b"\r\n":  # the whole chunk is here
                payload.append(data[start:at])
                at += 2
            elif size:
                self._in_chunk, self._left = True, size
                at = self._finish_chunk(data, payload, start)
            else:
                self._in_trailer = True
        if self._in_trailer:
            at = self._skip_trailer(data, at)
        self._keep(data[at:])
        return payload[0] if len(payload) == 1 else b"".join(payload)

    def end(self) -> None:
        if not self.done:
            raise cut_off()

    def _finish_chunk(self, data: bytes, payload: list[bytes], at: int = 0) -> int:
        """Take what is here of the current chunk; once it is whole, its line end."""
        if self._left:
            piece = data[at : at + self._left]
            payload.append(piece)
            self._left -= len(piece)
            at += len(piece)
        if not self._left and len(data) - at >= 2:
            if data[at : at + 2] != b"\r\n":
                raise TransportFailed("protocol error: a chunk is longer than it said", retryable=True)
            self._in_chunk = False
            at += 2
        return at

    def _skip_trailer(self, data: bytes, at: int) -> int:
        while (line_end := data.find(b"\r\n", at)) >= 0:
            empty, at = line_end == at, line_end + 2
            if empty:
                self.done = True
                break
        return at

    def _keep(self, rest: bytes) -> None:
        if self.done:
            self.extra = rest
        elif len(rest) > _MAX_LINE:
            raise TransportFailed("protocol error: a chunk header is too long", retryable=True)
        else:
            self._tail = rest


class SizedBody:
    """``content-length``."""

    def __init__(self, size: int) -> None:
        self.done = size == 0
        self.extra = b""
        self._left = size

    def feed(self, data: bytes) -> bytes:
        if len(data) < self._left:
            self._left -= len(data)
            return data
        payload, self.extra = data[: self._left], data[self._left :]
        self._left, self.done = 0, True
        return payload

    def end(self) -> None:
        if not self.done:
            raise cut_off()


class UnboundedBody:
    """Neither chunks nor a length: the body ends with the connection."""

    def __init__(self) -> None:
        self.done = False
        self.extra = b""

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> None:
        self.done = True


def cut_off() -> TransportFailed:
    return TransportFailed("the connection closed before the answer was complete (unexpected eof)", retryable=True)


@lru_cache(1024)
def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise TransportFailed(f"protocol error: not a chunk size: {line[:40]!r}", retryable=True)
    return int(digits, 16)
