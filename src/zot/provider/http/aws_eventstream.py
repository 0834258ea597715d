"""Parser of Amazon's binary event stream (``application/vnd.amazon.eventstream``).
Both checksums are verified, and every length is limited before its bytes are awaited."""

from __future__ import annotations

from binascii import crc32
from struct import Struct

import msgspec

from zot.errors import TransportFailed
from zot.provider.http.sse import MAX_EVENT_BYTES, MAX_STREAM_BYTES, SseEvent

_PRELUDE = Struct(">III")  # length of the message, length of its headers, checksum of these two
_CHECKSUM = Struct(">I")
_LEAST = _PRELUDE.size + _CHECKSUM.size
_MAX_HEADERS = 128 * 1024
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # header values of a fixed size, by type
_STRING = 7
_COUNTED = (6, _STRING)  # bytes and text, after two bytes of length
_KNOWN = 64  # cached header blocks: a stream repeats them


class EventStreamParser:
    """Feed bytes, get completed events, as in ``SseParser``. Exceptions are named ``exception:<type>``, errors
    ``error:<code>``; payloads are JSON. Oversized, corrupt or unfinished messages raise TransportFailed."""

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._total = 0
        self._needed = _PRELUDE.size  # minimum bytes to continue
        self._names: dict[bytes, tuple[str, bytes | None]] = {}

    def feed(self, chunk: bytes) -> list[SseEvent]:
        self._total += len(chunk)
        if self._total > MAX_STREAM_BYTES:
            raise _broken(f"the stream is larger than {MAX_STREAM_BYTES // 2**20} MiB", retryable=False)
        self._rest += chunk
        if len(self._rest) < self._needed:
            return []
        events: list[SseEvent] = []
        data, at = bytes(self._rest), 0
        while len(data) - at >= _PRELUDE.size:
            size = self._size(data, at)
            if len(data) - at < size:
                break
            events.append(self._message(data[at : at + size]))
            at += size
        self._rest = bytearray(data[at:])
        self._needed = self._size(data, at) if len(self._rest) >= _PRELUDE.size else _PRELUDE.size
        return events

    def close(self) -> list[SseEvent]:
        """End of input: an incomplete message is dropped, and the decoder reports the missing ending."""
        return []

    def _size(self, data: bytes, at: int) -> int:
        """The length of the next message, once its prelude is valid."""
        total, headers, checksum = _PRELUDE.unpack_from(data, at)
        if crc32(data[at : at + 8]) != checksum:
            raise _broken("not an event stream, or changed in transit")
        if total < _LEAST or headers > min(total - _LEAST, _MAX_HEADERS):
            raise _broken("invalid message size", retryable=False)
        if total > self._limit:
            raise _broken(f"a stream event is larger than {self._limit} bytes", retryable=False)
        return total

    def _message(self, message: bytes) -> SseEvent:
        body, (checksum,) = message[: -_CHECKSUM.size], _CHECKSUM.unpack(message[-_CHECKSUM.size :])
        if crc32(body) != checksum:
            raise _broken("message checksum mismatch")
        _, size, _ = _PRELUDE.unpack_from(message)
        head = body[_PRELUDE.size : _PRELUDE.size + size]
        known = self._names.get(head)
        if known is None:
            headers = _headers(head)
            match headers.get(":message-type", "event"):
                case "exception":
                    known = f"exception:{headers.get(':exception-type', 'exception')}", None
                case "error":
                    reason = {"message": headers.get(":error-message", "")}
                    known = f"error:{headers.get(':error-code', 'error')}", msgspec.json.encode(reason)
                case _:
                    known = headers.get(":event-type", ""), None
            if len(self._names) < _KNOWN:
                self._names[head] = known
        name, instead = known
        return SseEvent(name, body[_PRELUDE.size + size :] if instead is None else instead)


def _headers(block: bytes) -> dict[str, str]:
    """The headers with text values; others are skipped."""
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(block):
            name = block[at + 1 : at + 1 + block[at]].decode("utf-8", "replace")
            at += 1 + block[at]
            kind, at = block[at], at + 1
            size = _SIZES.get(kind, 0)
            if kind in _COUNTED:
                size, at = int.from_bytes(block[at : at + 2], "big"), at + 2
            elif kind not in _SIZES:
                raise _broken("unknown header type", retryable=False)
            if at + size > len(block):
                raise IndexError
            if kind == _STRING:
                found[name] = block[at : at + size].decode("utf-8", "replace")
            at += size
    except IndexError as error:
        raise _broken("incomplete headers", retryable=False) from error
    return found


def _broken(what: str, *, retryable: bool = True) -> TransportFailed:
    return TransportFailed(f"protocol error: {what}", retryable=retryable)
