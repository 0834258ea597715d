"""WebSocket client (RFC 6455) over an ``HttpConnection``: opening handshake, messages, control frames.
Whatever a server does against the protocol ends the connection with the code the RFC names."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Mapping

from zot.errors import TransportFailed
from zot.provider.http.connection import HttpConnection, connect
from zot.provider.http.message import HttpRequest, ResponseHead, encode_head, split_head
from zot.provider.http.pool import client_context
from zot.provider.http.route import Route, parse_url, proxy_for
from zot.provider.http.websocket_frames import (
    CLOSE,
    LONGEST_CONTROL,
    NORMAL,
    TEXT,
    Message,
    MessageParser,
    ProtocolFault,
    accept_value,
    encode_frame,
)


class HandshakeRefused(TransportFailed):
    """The server does not open a WebSocket here; another try would not help."""


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
            self.send(code.to_bytes(2, "big") + reason.encode()[: LONGEST_CONTROL - 2], CLOSE)
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
    upgrades = [word.strip().lower() for word in headers.get("connection", "").split(",")]
    if headers.get("upgrade", "").lower() != "websocket" or "upgrade" not in upgrades:
        raise HandshakeRefused(f"{host}: the answer opens no WebSocket")
    if headers.get("sec-websocket-accept") != accept_value(key):
        raise HandshakeRefused(f"{host}: the answer is not for this handshake")
    if headers.get("sec-websocket-protocol") != protocol:
        offered = headers.get("sec-websocket-protocol") or "none"
        raise HandshakeRefused(f"{host}: speaks the sub-protocol {offered[:60]}, not {protocol}")
    if headers.get("sec-websocket-extensions"):
        raise HandshakeRefused(f"{host}: uses a WebSocket extension that was not asked for")
