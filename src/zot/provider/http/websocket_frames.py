"""Frames of a WebSocket (RFC 6455), for both ends: parsing, encoding, the answer to a handshake.
Whatever the other end does against the protocol is a ProtocolFault with the code the RFC names."""

from __future__ import annotations

import base64
import os
from typing import NamedTuple

from zot.errors import TransportFailed

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
NORMAL, GOING_AWAY, PROTOCOL_ERROR, UNSUPPORTED, NOT_UTF8 = 1000, 1001, 1002, 1003, 1007
POLICY, TOO_LARGE = 1008, 1009
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LONGEST_CONTROL = 125
_LONGEST_SKIPPED = 64 * 1024 * 1024
_MASK = 4


class ProtocolFault(TransportFailed):
    """``close_code`` is sent to the server."""

    def __init__(self, text: str, close_code: int = PROTOCOL_ERROR) -> None:
        super().__init__(f"WebSocket: {text}")
        self.close_code = close_code


class Message(NamedTuple):
    """A whole message or a control frame. ``data`` is None for a message above the limit, which was skipped."""

    kind: int
    data: bytes | None


class MessageParser:
    """Bytes of the other end to messages. A message above ``limit`` is skipped without being stored. The frames of a
    client are masked, those of a server never."""

    def __init__(self, limit: int, *, of_client: bool = False) -> None:
        self._limit = limit
        self._of_client = of_client
        self._buffer = bytearray()
        self._message = bytearray()
        self._kind = 0  # of the message whose fragments arrive
        self._skipping = 0  # bytes of a frame that are dropped
        self._too_long = False
        self._last = False  # the frame that is skipped ends its message

    def feed(self, data: bytes) -> list[Message]:
        """Raises ProtocolFault."""
        self._buffer += data
        found: list[Message] = []
        while (message := self._next()) is not None:
            if message.kind >= 0:
                found.append(message)
        return found

    def _next(self) -> Message | None:
        """The next message, one of kind -1 after a fragment, None while bytes are missing."""
        if self._skipping:
            return self._skip()
        head = self._head()
        if head is None:
            return None
        kind, last, start, size = head
        if kind >= CLOSE:
            return self._control(kind, start, size)
        if len(self._message) + size > self._limit or self._too_long:
            self._too_long, self._last, self._skipping = True, last, size
            self._message.clear()
            del self._buffer[:start]
            return self._skip()
        if len(self._buffer) < start + size:
            return None
        self._begin(kind)
        self._message += self._payload(start, size)
        del self._buffer[: start + size]
        return self._whole() if last else Message(-1, b"")

    def _head(self) -> tuple[int, bool, int, int] | None:
        """Kind, whether it is the last fragment, where the payload begins, its size."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        if first & 0x70:
            raise ProtocolFault("a frame with reserved bits")
        if bool(second & 0x80) != self._of_client:
            raise ProtocolFault("a frame without a mask" if self._of_client else "a masked frame of the server")
        kind, size, start = first & 0x0F, second & 0x7F, 2
        if kind not in (CONTINUED, TEXT, BINARY, CLOSE, PING, PONG):
            raise ProtocolFault(f"a frame of the unknown kind {kind}")
        if kind >= CLOSE and (size > LONGEST_CONTROL or not first & 0x80):
            raise ProtocolFault("a control frame that is too long or in fragments")
        if (kind == CONTINUED) != bool(self._kind) and kind < CLOSE:
            raise ProtocolFault("fragments in the wrong order")
        if size > LONGEST_CONTROL:
            start += 2 if size == 126 else 8
            if len(buffer) < start:
                return None
            size = int.from_bytes(buffer[2:start], "big")
            if size < (126 if start == 4 else 1 << 16) or size >> 63:
                raise ProtocolFault("a frame whose length is not encoded as the protocol wants")
        if kind < CLOSE and size > _LONGEST_SKIPPED:
            raise ProtocolFault(f"a frame of more than {_LONGEST_SKIPPED >> 20} MiB", TOO_LARGE)
        return kind, bool(first & 0x80), start + (_MASK if self._of_client else 0), size

    def _payload(self, start: int, size: int) -> bytes:
        payload = bytes(self._buffer[start : start + size])
        return masked(payload, bytes(self._buffer[start - _MASK : start])) if self._of_client else payload

    def _control(self, kind: int, start: int, size: int) -> Message | None:
        if len(self._buffer) < start + size:
            return None
        data = self._payload(start, size)
        del self._buffer[: start + size]
        if kind == CLOSE and size == 1:
            raise ProtocolFault("a close frame with half a code")
        return Message(kind, data)

    def _begin(self, kind: int) -> None:
        if kind != CONTINUED:
            self._kind = kind

    def _skip(self) -> Message | None:
        """Drop what has arrived of a frame that is too long."""
        dropped = min(self._skipping, len(self._buffer))
        del self._buffer[:dropped]
        self._skipping -= dropped
        if self._skipping:
            return None
        if not self._last:
            self._kind = self._kind or TEXT
            return Message(-1, b"")
        self._too_long, self._kind = False, 0
        return Message(TEXT, None)

    def _whole(self) -> Message:
        message = Message(self._kind, bytes(self._message))
        self._message.clear()
        self._kind = 0
        if message.kind == TEXT:
            try:
                (message.data or b"").decode()
            except UnicodeDecodeError:
                raise ProtocolFault("a text that is not UTF-8", NOT_UTF8) from None
        return message


def masked(payload: bytes, mask: bytes) -> bytes:
    """The payload under the mask, which also takes it off."""
    size = len(payload)
    repeated = (mask * (size // _MASK + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")


def encode_frame(kind: int, payload: bytes, mask: bytes | None = None) -> bytes:
    """One whole masked frame of a client."""
    mask = mask or os.urandom(_MASK)
    return _frame_head(kind, len(payload), 0x80) + mask + masked(payload, mask)


def encode_server_frame(kind: int, payload: bytes) -> bytes:
    """One whole frame of a server."""
    return _frame_head(kind, len(payload), 0) + payload


def _frame_head(kind: int, size: int, is_masked: int) -> bytes:
    if size < 126:
        return bytes((0x80 | kind, is_masked | size))
    if size < 1 << 16:
        return bytes((0x80 | kind, is_masked | 126)) + size.to_bytes(2, "big")
    return bytes((0x80 | kind, is_masked | 127)) + size.to_bytes(8, "big")


def accept_value(key: bytes) -> str:
    """``Sec-WebSocket-Accept`` for the key of a handshake."""
    import hashlib  # only for WebSockets

    return base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest()).decode()
