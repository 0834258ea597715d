"""One connection to a server: plain, TLS, or tunnelled through a proxy.
Received bytes are buffered and returned at once, so that a burst costs one wake-up. Every fault is a TransportFailed
with its reason."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from typing import cast

from zot.errors import TransportFailed
from zot.provider.http.message import ResponseHead, cut_off, encode_connect, split_head
from zot.provider.http.route import Proxy, Route, Url

_HIGH_WATER = 1024 * 1024  # pause reading the socket above this many unread bytes
_HAPPY_EYEBALLS_S = 0.25
_MOST_INTERIM = 100  # interim responses (100, 103) before the final one


class HttpConnection(asyncio.Protocol):
    """Owns one transport from ``connection_made`` to ``connection_lost``. One reader at a time."""

    def __init__(self, route: Route, loop: asyncio.AbstractEventLoop) -> None:
        self.route = route
        self.loop = loop
        self.idle_since = 0.0
        self.on_data: Callable[[], None] | None = None  # called for each arrival while no reader waits in `receive`
        self.on_lost: Callable[[HttpConnection], None] | None = None
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._waiting_bytes = 0
        self._paused = False
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_usable(self) -> bool:
        """True if open and without unrequested data."""
        return not self._ended and not self._pieces

    @property
    def unsent(self) -> int:
        """Bytes that wait for the other side to read."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def send(self, *parts: bytes) -> None:
        assert self._transport is not None
        for part in parts:
            if part:
                self._transport.write(part)

    async def receive(self) -> bytes:
        """All bytes since the last call, waiting for some; empty at the end of the connection."""
        if not self._pieces and not self._ended:
            self._waiter = self.loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = self.take()
        if not data and self._error is not None:
            raise TransportFailed(reason(self._error, self.route.host), retryable=True) from self._error
        return data

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        self._waiting_bytes = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def abort(self) -> None:
        """Close at once, without TLS shutdown; a waiting ``receive`` gets an error."""
        if not self._ended:
            self._ended, self._error = True, ConnectionAbortedError()
        self._pieces.clear()
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    async def receive_head(self) -> tuple[ResponseHead, bytes]:
        """The next final response head and the bytes after it; NeverAnswered if no byte arrived."""
        data = b""
        searched = interim = 0
        while True:
            while (split := split_head(data, searched)) is not None:
                head, data = split
                searched, interim = 0, interim + 1
                if head.status == 101:
                    raise TransportFailed("protocol error: the server switched protocols", retryable=False)
                if head.status >= 200:
                    return head, data
                if interim > _MOST_INTERIM:
                    raise TransportFailed("protocol error: too many interim responses", retryable=False)
            searched = len(data)
            data += await self._receive_answer(started=bool(data))

    async def _receive_answer(self, *, started: bool) -> bytes:
        try:
            if data := await self.receive():
                return data
        except TransportFailed as error:
            if started:
                raise
            raise NeverAnswered(str(error), retryable=True) from error
        if started:
            raise cut_off()
        raise NeverAnswered("the connection closed before any answer (unexpected eof)", retryable=True)

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        assert self._transport is not None
        transport = await self.loop.start_tls(self._transport, self, context, server_hostname=host)
        if transport is None:
            raise ConnectionResetError
        self._transport = transport

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > _HIGH_WATER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = self._error or exc
        self._wake()
        if self.on_lost is not None:
            self.on_lost(self)

    def _wake(self) -> None:
        if self._waiter is not None:
            if not self._waiter.done():
                self._waiter.set_result(None)
        elif self.on_data is not None:
            self.on_data()


class NeverAnswered(TransportFailed):
    """The connection ended before the first byte of an answer: on a reused one, the request may be dispatched again."""


async def connect(route: Route, contexts: Callable[[bool], ssl.SSLContext], timeout: float) -> HttpConnection:
    """Open a connection along ``route``; ``contexts`` returns the TLS context, insecure or not."""
    loop = asyncio.get_running_loop()
    connection = HttpConnection(route, loop)
    first = route.proxy.url if route.proxy else Url(route.scheme, route.host, route.port, "/")
    is_address = route.address or ":" in first.host or first.host.replace(".", "").isdecimal()
    try:
        async with asyncio.timeout(timeout):
            context = contexts(route.insecure) if first.scheme == "https" else None
            await loop.create_connection(
                lambda: connection,
                route.address or first.host,
                first.port,
                ssl=context,
                server_hostname=first.host if context is not None else None,
                happy_eyeballs_delay=None if is_address else _HAPPY_EYEBALLS_S,
            )
            if route.proxy is not None and route.scheme == "https":
                await _tunnel(connection, route.proxy)
                await connection.start_tls(contexts(route.insecure), route.host)
    except TimeoutError as error:
        connection.abort()
        raise TransportFailed(f"connect to {first.address}: i/o timeout after {timeout:g} s", retryable=True) from error
    except OSError as error:
        connection.abort()
        retryable = not isinstance(error, ssl.SSLCertVerificationError)
        via = f"{route.proxy.name}: " if route.proxy else f"connect to {first.address}: "
        raise TransportFailed(via + reason(error, first.host), retryable=retryable) from error
    except BaseException:
        connection.abort()
        raise
    return connection


async def _tunnel(connection: HttpConnection, proxy: Proxy) -> None:
    route = connection.route
    connection.send(encode_connect(Url(route.scheme, route.host, route.port, "/"), proxy))
    head, rest = await connection.receive_head()
    if head.status // 100 == 2 and not rest:
        return
    why = "; check the user and password in its address" if head.status == 407 else ""
    raise TransportFailed(
        f"{proxy.name} refused a tunnel to {route.host}:{route.port}: http {head.status} {head.reason}{why}",
        status=head.status if head.status == 407 else 0,
        retryable=head.status in (429, 502, 503, 504),
    )


def reason(error: BaseException, host: str) -> str:
    """Why a connection failed, in the words other layers match."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"tls handshake: the certificate of {host} was rejected: {error.verify_message or error.reason}"
        case ssl.SSLError():
            return f"tls handshake with {host} failed: {error.reason or error}"
        case socket.gaierror():
            return f"no such host: {host}"
        case BrokenPipeError():
            return "broken pipe"
        case ConnectionResetError() | ConnectionAbortedError():
            return "connection reset"
        case TimeoutError():
            return "i/o timeout"
        case _ if _is_refusal(error):
            return "connection refused"
        case OSError(strerror=str(text)):
            return text.lower()
        case _:
            return str(error) or type(error).__name__


def _is_refusal(error: BaseException) -> bool:
    """A name with several addresses fails with all their errors in one text."""
    return isinstance(error, ConnectionRefusedError) or (
        isinstance(error, OSError) and f"[Errno {errno.ECONNREFUSED}]" in str(error)
    )
