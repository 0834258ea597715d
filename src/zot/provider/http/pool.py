"""HTTP/1.1 connection pool: keep-alive, TLS, proxies; no redirects, cookies, compression, HTTP/2 (decision 002).
A body read to its end returns the connection to the pool; anything else closes it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from zot.errors import BadRequest, TransportFailed
from zot.provider.http.connection import HttpConnection, NeverAnswered, connect
from zot.provider.http.message import Body, HttpRequest, ResponseHead, body_of, cut_off, encode_head
from zot.provider.http.route import Proxy, Route, Url, parse_url, proxy_for

if TYPE_CHECKING:
    import ssl

_IDLE_PER_ROUTE = 4
_IDLE_S = 60.0  # later a router may have dropped the connection silently
_RELEASE_S = 1.0  # how long a finished stream may take to send the end of its body


class HttpPool:
    """Owns its connections. ``proxy`` is the setting; the environment's proxies take precedence."""

    def __init__(self, *, proxy: str = "", environ: Mapping[str, str] | None = None) -> None:
        self._proxy = proxy
        self._environ = os.environ if environ is None else environ
        self._idle: dict[Route, list[HttpConnection]] = {}
        self._open: set[HttpConnection] = set()
        self._contexts: dict[bool, ssl.SSLContext] = {}

    def proxy_of(self, url: Url) -> Proxy | None:
        """The proxy that requests to this address use."""
        return proxy_for(url, self._environ, self._proxy)

    async def dispatch(
        self, request: HttpRequest, *, insecure: bool = False, connect_timeout: float = 30.0, address: str = ""
    ) -> HttpResponse:
        """Send the request and wait for the response head; TransportFailed or BadRequest. If a reused connection dies
        before the first byte, the request is repeated on a new one. Without a proxy, ``address`` is connected to
        instead of resolving the host."""
        url = parse_url(request.url)
        proxy = self.proxy_of(url)
        head = encode_head(request, url, proxy)
        address = "" if proxy is not None else address
        route = Route(url.scheme, url.host, url.port, proxy, insecure and url.scheme == "https", address)
        if (idle := self._take_idle(route)) is not None:
            try:
                return await self._exchange(idle, head, request.body)
            except NeverAnswered:
                pass
        connection = await connect(route, self._context, connect_timeout)
        connection.on_lost = self._open.discard
        self._open.add(connection)
        return await self._exchange(connection, head, request.body)

    async def aclose(self) -> None:
        self._idle.clear()
        for connection in list(self._open):
            connection.abort()
        self._open.clear()
        await asyncio.sleep(0)  # lets the loop close the sockets before it is closed itself

    async def _exchange(self, connection: HttpConnection, head: bytes, body: bytes) -> HttpResponse:
        try:
            connection.send(*((head + body,) if len(body) < 65536 else (head, body)))
            answer, rest = await connection.receive_head()
            return HttpResponse(answer, body_of(answer), connection, self, rest)
        except BaseException:
            connection.abort()
            raise

    def _take_idle(self, route: Route) -> HttpConnection | None:
        loop = asyncio.get_running_loop()
        idle = self._idle.get(route, [])
        while idle:
            connection = idle.pop()
            if connection.loop is not loop:
                continue  # belongs to an ended event loop, and so does its socket
            if connection.is_usable and loop.time() - connection.idle_since < _IDLE_S:
                return connection
            connection.abort()
        return None

    def give_back(self, connection: HttpConnection) -> None:
        idle = self._idle.setdefault(connection.route, [])
        if connection not in self._open or not connection.is_usable or len(idle) >= _IDLE_PER_ROUTE:
            connection.abort()
            return
        connection.idle_since = connection.loop.time()
        idle.append(connection)

    def _context(self, insecure: bool) -> ssl.SSLContext:
        if insecure not in self._contexts:
            self._contexts[insecure] = client_context(self._environ, insecure=insecure)
        return self._contexts[insecure]


class HttpResponse:
    """A response with its head; the body is arriving. Read it to its end, release it or abort it."""

    def __init__(self, head: ResponseHead, body: Body, connection: HttpConnection, pool: HttpPool, rest: bytes) -> None:
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        self._keeps_alive = head.keeps_alive
        self._body = body
        self._connection: HttpConnection | None = connection
        self._pool = pool
        self._rest = rest  # bytes that arrived with the head
        self._timer: asyncio.TimerHandle | None = None
        if body.done:
            body.extra = rest
            self._settle()

    @property
    def is_settled(self) -> bool:
        return self._connection is None

    async def more(self) -> bytes:
        """The next piece of the body, as much as has arrived; empty at its end."""
        while self._connection is not None:
            data = self._rest or await self._receive(self._connection)
            self._rest = b""
            if payload := self._fed(data):
                return payload
        if not self._body.done:
            raise cut_off()
        return b""

    async def read(self, limit: int) -> bytes:
        """The body up to ``limit`` bytes; a longer one is truncated and the connection closed."""
        pieces: list[bytes] = []
        size = 0
        while size <= limit and (piece := await self.more()):
            pieces.append(piece)
            size += len(piece)
        self.abort()
        return b"".join(pieces)[:limit]

    def release(self) -> None:
        """The body is no longer needed, but its end is near: keep the connection if it comes soon."""
        if (connection := self._connection) is not None:
            self._timer = connection.loop.call_later(_RELEASE_S, self.abort)
            connection.on_data = self._drain
            self._drain()

    def abort(self) -> None:
        """Close the connection at once unless the body ended; a waiting ``more`` raises."""
        if (connection := self._detach()) is not None:
            connection.abort()

    async def _receive(self, connection: HttpConnection) -> bytes:
        try:
            data = await connection.receive()
            if not data:
                self._body.end()
        except BaseException:
            self.abort()
            raise
        return data

    def _fed(self, data: bytes) -> bytes:
        """The payload in ``data``; at the end of the body the connection is released."""
        try:
            payload = self._body.feed(data) if data else b""
        except BaseException:
            self.abort()
            raise
        if self._body.done:
            self._settle()
        return payload

    def _drain(self) -> None:
        """Called for each arrival after ``release``: find the end of the body, drop the rest."""
        if (connection := self._connection) is None:
            return
        data = self._rest + connection.take()
        self._rest = b""
        if not data and not connection.is_usable:
            self.abort()
        with suppress(TransportFailed):  # a broken ending only costs the connection
            self._fed(data)

    def _settle(self) -> None:
        if (connection := self._detach()) is None:
            return
        if self._keeps_alive and not self._body.extra:
            self._pool.give_back(connection)
        else:
            connection.abort()

    def _detach(self) -> HttpConnection | None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.on_data = None
        if self._timer is not None:
            self._timer.cancel()
        return connection


# Accepted certificates: SSL_CERT_FILE and SSL_CERT_DIR, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, then the system's. A
# variable with a missing file is an error.

# Bundles of distributions, for interpreters built elsewhere.
_KNOWN_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def client_context(environ: Mapping[str, str], *, insecure: bool = False) -> ssl.SSLContext:
    """A context for http/1.1 clients; ``insecure`` skips all checks and must be the user's explicit choice."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        named = [(name, environ[name]) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environ.get(name)]
        if not named:
            named = [(name, environ[name]) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE") if environ.get(name)][
                :1
            ]
        for name, value in named:
            _load_named(context, name, value)
        if not named:
            _load_system(context)
    return context


def _load_named(context: ssl.SSLContext, name: str, value: str) -> None:
    places = value.split(os.pathsep) if name == "SSL_CERT_DIR" else [value]
    for place in places:
        try:
            if os.path.isdir(place):
                context.load_verify_locations(capath=place)
            else:
                context.load_verify_locations(cafile=place)
        except OSError as error:  # ssl.SSLError is one
            raise BadRequest(f"tls: {name}={value}: no usable certificates there ({error}); fix or unset it") from error


def _load_system(context: ssl.SSLContext) -> None:
    import ssl

    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        context.set_default_verify_paths()
        return
    for bundle in _KNOWN_BUNDLES:
        if os.path.exists(bundle):
            context.load_verify_locations(cafile=bundle)
            return
