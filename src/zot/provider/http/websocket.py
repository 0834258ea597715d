"""WebSocket client (RFC 6455) over an ``HttpConnection``: opening handshake, masked frames, fragments, control frames.
Whatever a server does against the protocol ends the connection with the code the RFC names."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Mapping
from typing import NamedTuple

from zot.errors import TransportFailed
from zot.provider.http.connection import HttpConnection, connect
from zot.provider.http.message import HttpRequest, ResponseHead, encode_head, split_head
from zot.provider.http.pool import client_context
from zot.provider.http.route import Route, parse_url, proxy_for

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
NORMAL, PROTOCOL_ERROR, NOT_UTF8, TOO_LARGE = 1000, 1002, 1007, 1009
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LONGEST_CONTROL = 125
_LONGEST_SKIPPED = 64 * 1024 * 1024


class HandshakeRefused(TransportFailed):
    """The server does not open a WebSocket here; another try would not help."""


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
    """Bytes of a server to messages. A message above ``limit`` is skipped without being stored."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
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
        self._message += self._buffer[start : start + size]
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
        if second & 0x80:
            raise ProtocolFault("a masked frame of the server")
        kind, size, start = first & 0x0F, second & 0x7F, 2
        if kind not in (CONTINUED, TEXT, BINARY, CLOSE, PING, PONG):
            raise ProtocolFault(f"a frame of the unknown kind {kind}")
        if kind >= CLOSE and (size > _LONGEST_CONTROL or not first & 0x80):
            raise ProtocolFault("a control frame that is too long or in fragments")
        if (kind == CONTINUED) != bool(self._kind) and kind < CLOSE:
            raise ProtocolFault("fragments in the wrong order")
        if size > _LONGEST_CONTROL:
            start += 2 if size == 126 else 8
            if len(buffer) < start:
                return None
            size = int.from_bytes(buffer[2:start], "big")
            if size < (126 if start == 4 else 1 << 16) or size >> 63:
                raise ProtocolFault("a frame whose length is not encoded as the protocol wants")
        if kind < CLOSE and size > _LONGEST_SKIPPED:
            raise ProtocolFault(f"a frame of more than {_LONGEST_SKIPPED >> 20} MiB", TOO_LARGE)
        return kind, bool(first & 0x80), start, size

    def _control(self, kind: int, start: int, size: int) -> Message | None:
        if len(self._buffer) < start + size:
            return None
        data = bytes(self._buffer[start : start + size])
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


def encode_frame(kind: int, payload: bytes, mask: bytes | None = None) -> bytes:
    """One whole masked frame of a client."""
    size = len(payload)
    if size < 126:
        head = bytes((0x80 | kind, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((0x80 | kind, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | kind, 0x80 | 127)) + size.to_bytes(8, "big")
    mask = mask or os.urandom(4)
    repeated = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return head + mask + masked.to_bytes(size, "big")


class WebSocket:
    """An open WebSocket. One reader at a time."""

    def __init__(self, connection: HttpConnection, rest: bytes, limit: int) -> None:
        self._connection = connection
        self._parser = MessageParser(limit)
        self._rest = rest
        self._closed = False

    @property
    def unsent(self) -> int:
        """Bytes that wait for the server to read."""
        return self._connection.unsent

    def send(self, payload: bytes, kind: int = TEXT) -> None:
        if not self._closed:
            self._connection.send(encode_frame(kind, payload))

    def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Send a close frame, once; the server answers with one."""
        if not self._closed:
            self.send(code.to_bytes(2, "big") + reason.encode()[: _LONGEST_CONTROL - 2], CLOSE)
            self._closed = True

    def abort(self) -> None:
        self._closed = True
        self._connection.abort()

    async def receive(self) -> list[Message]:
        """The messages that have arrived, waiting for bytes; TransportFailed at the end of the connection."""
        data, self._rest = self._rest, b""
        data = data or await self._connection.receive()
        if not data:
            raise TransportFailed("the connection was closed without a close frame", retryable=True)
        try:
            return self._parser.feed(data)
        except ProtocolFault as fault:
            self.close(fault.close_code)
            raise


async def open_websocket(
    url: str,
    headers: Mapping[str, str],
    *,
    protocol: str,
    environ: Mapping[str, str],
    proxy: str,
    timeout: float,
    limit: int,
) -> WebSocket:
    """Connect to a ``ws`` or ``wss`` address; HandshakeRefused or TransportFailed. Redirects are not followed."""
    scheme, _, place = url.partition("://")
    place = f"{'https' if scheme.lower() == 'wss' else 'http'}://{place}"
    address = parse_url(place)
    key = base64.b64encode(os.urandom(16))
    wanted = {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-key": key.decode(),
        "sec-websocket-version": "13",
        "sec-websocket-protocol": protocol,
        **headers,
    }
    via = proxy_for(address, environ, proxy)
    route = Route(address.scheme, address.host, address.port, via, False)
    try:
        async with asyncio.timeout(timeout):
            connection = await connect(route, lambda insecure: client_context(environ), timeout)
            try:
                request = HttpRequest("GET", place, list(wanted.items()), b"")
                connection.send(encode_head(request, address, via))
                head, rest = await _head(connection)
                _check(head, key, protocol, address.host)
            except BaseException:
                connection.abort()
                raise
    except TimeoutError as error:
        raise TransportFailed(f"{address.host}: no answer within {timeout:g} s", retryable=True) from error
    return WebSocket(connection, rest, limit)


async def _head(connection: HttpConnection) -> tuple[ResponseHead, bytes]:
    data = b""
    while (split := split_head(data)) is None:
        more = await connection.receive()
        if not more:
            raise TransportFailed("the connection was closed during the handshake", retryable=True)
        data += more
    return split


def _check(head: ResponseHead, key: bytes, protocol: str, host: str) -> None:
    headers = head.headers
    if 300 <= head.status < 400:
        raise HandshakeRefused(f"{host}: redirects are not followed (to {headers.get('location', 'nowhere')[:200]})")
    if head.status in (401, 403):
        raise HandshakeRefused(f"{host}: http {head.status}: the token was not accepted")
    if head.status != 101:
        retryable = head.status in (408, 429) or head.status >= 500
        kind = TransportFailed if retryable else HandshakeRefused
        raise kind(f"{host}: http {head.status} instead of a WebSocket", retryable=retryable)
    import hashlib  # only for addresses of extensions

    expected = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest()).decode()
    upgrades = [word.strip().lower() for word in headers.get("connection", "").split(",")]
    if headers.get("upgrade", "").lower() != "websocket" or "upgrade" not in upgrades:
        raise HandshakeRefused(f"{host}: the answer opens no WebSocket")
    if headers.get("sec-websocket-accept") != expected:
        raise HandshakeRefused(f"{host}: the answer is not for this handshake")
    if headers.get("sec-websocket-protocol") != protocol:
        offered = headers.get("sec-websocket-protocol") or "none"
        raise HandshakeRefused(f"{host}: speaks the sub-protocol {offered[:60]}, not {protocol}")
    if headers.get("sec-websocket-extensions"):
        raise HandshakeRefused(f"{host}: uses a WebSocket extension that was not asked for")
