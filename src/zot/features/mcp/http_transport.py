"""Streamable HTTP transport: one POST per message, answered with JSON or an event stream. Redirects to other hosts
are errors. ``signer`` provides the login; nothing here waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urljoin, urlsplit

from zot import __version__
from zot.errors import ProviderError
from zot.features.mcp.protocol import (
    MODERN,
    Hear,
    Incoming,
    McpError,
    NeedsLogin,
    ServerClosed,
    SessionExpired,
    read_message,
)
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool, HttpResponse
from zot.provider.http.sse import SseParser

LARGEST = 8 * 1024 * 1024  # of one message
CONNECT_S = 15.0
MOST_REDIRECTS = 3
RESUMED = 5  # times that an interrupted stream is resumed
_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0
_GOODBYE_S = 0.5
_SAID = 300

Start = Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]]


class RequestSigner(Protocol):
    """Provides a server's authorization header, if logged in."""

    async def headers(self) -> dict[str, str]:
        """Headers that sign a request; empty if not logged in."""
        ...

    async def renewed(self, refused: dict[str, str]) -> bool:
        """Called after a 401; true if a retry may succeed."""
        ...


class _Reply(NamedTuple):
    """A response and its body, if already read."""

    response: HttpResponse
    body: bytes | None = None


class HttpTransport:
    """``headers`` are sent with every request; ``given`` are the configured ones."""

    def __init__(
        self,
        name: str,
        url: str,
        given: Mapping[str, str],
        pool: HttpPool,
        signer: RequestSigner | None,
        start_task: Start,
    ) -> None:
        self.hear: Hear = lambda message: None
        self.headers: dict[str, str] = {}
        self.heard = 0
        self.closed = ""
        self._name = name
        self._url = url
        self._given = {key.lower(): value for key, value in given.items()}
        self._pool = pool
        self._signer = signer
        self._start_task = start_task
        self._session = ""
        self._telling: asyncio.Task[Any] | None = None
        self._responses: set[HttpResponse] = set()

    @property
    def is_modern(self) -> bool:
        return self.headers.get("mcp-protocol-version", "") in MODERN

    @property
    def is_gone(self) -> bool:
        return bool(self.closed)

    async def ask(self, id: int, headers: Mapping[str, str], message: bytes) -> Incoming:
        if self.closed:
            raise ServerClosed(f"{self._name}: {self.closed}")
        if self._telling is not None:
            await asyncio.gather(self._telling, return_exceptions=True)  # notifications sent before must arrive first
        response, body = await self._send("POST", message, headers)
        self._responses.add(response)
        try:
            self._session = response.headers.get("mcp-session-id", "") or self._session
            return await self._answer(id, response, body)
        except ProviderError as error:
            raise ServerClosed(f"{self._name}: {error}") from error
        finally:
            self._responses.discard(response)
            response.abort()

    def notify(self, message: bytes) -> None:
        if self.closed or self.is_modern:
            return  # stateless servers take no notifications over HTTP
        before = self._telling

        async def send() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            try:
                (await self._send("POST", message, {})).response.abort()
            except (McpError, ProviderError):
                return

        self._telling = self._start_task(send())

    async def listen(self) -> None:
        """The event stream for a stateful server's own messages; most servers have none."""
        try:
            response, _ = await self._send("GET", b"", {"accept": "text/event-stream"})
        except McpError:
            return
        self._responses.add(response)
        try:
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                parser = SseParser(LARGEST)
                while piece := await response.more():
                    for event in parser.feed(piece):
                        self._pass_on(event.data)
        except ProviderError:
            return
        finally:
            self._responses.discard(response)
            response.abort()

    async def aclose(self, grace: float) -> None:
        self.closed = self.closed or "stopped"
        for response in list(self._responses):
            response.abort()
        if self._session and not self.is_modern:
            try:
                async with asyncio.timeout(min(grace, _GOODBYE_S)):
                    (await self._send("DELETE", b"", {})).response.abort()
            except (TimeoutError, McpError, ProviderError):
                pass

    # --- one request

    async def _send(self, method: str, body: bytes, headers: Mapping[str, str]) -> _Reply:
        """The successful response; McpError otherwise."""
        signed = await self._signer.headers() if self._signer is not None else {}
        response = await self._dispatched(method, body, {**signed, **headers})
        if response.status == 401 and self._signer is not None and signed and await self._signer.renewed(signed):
            response.abort()
            response = await self._dispatched(method, body, {**await self._signer.headers(), **headers})
        if response.status in (401, 403):
            challenge = response.headers.get("www-authenticate", "")
            answer_text = _words(await _read_all(response))
            if response.status == 401 or "insufficient_scope" in challenge:
                raise NeedsLogin(f"{self._name}: needs login (`zot mcp login {self._name}`)", challenge)
            raise McpError(f"{self._name}: http 403{answer_text}")
        if response.status == 404 and self._session and method == "POST":
            response.abort()
            self.closed = "the session expired"
            raise SessionExpired(f"{self._name}: {self.closed}")
        if response.status < 400:
            return _Reply(response)
        body = await _read_all(response)
        message = read_message(body)
        if message is None or not message.is_answer:  # a protocol error may come with an HTTP error status
            raise McpError(f"{self._name}: http {response.status}{_words(body)}")
        return _Reply(response, body)

    async def _dispatched(self, method: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        url = self._url
        for _ in range(MOST_REDIRECTS + 1):
            try:
                own = {
                    "accept": "application/json, text/event-stream",
                    "content-type": "application/json",
                    "user-agent": f"zot/{__version__}",
                    **self._given,
                    **self.headers,
                    **({"mcp-session-id": self._session} if self._session and not self.is_modern else {}),
                }
                response = await self._pool.dispatch(
                    HttpRequest(method, url, list({**own, **headers}.items()), body), connect_timeout=CONNECT_S
                )
            except ProviderError as error:
                raise ServerClosed(f"{self._name}: {error}") from error
            if not 300 <= response.status < 400:
                return response
            response.abort()
            target = urljoin(url, response.headers.get("location", ""))
            if _origin(target) != _origin(self._url):
                host = urlsplit(target).netloc.rpartition("@")[2][:200]
                raise McpError(
                    f"{self._name}: redirects to {host or 'an empty address'}; zot does not follow redirects to "
                    "other hosts"
                )
            if response.status not in (307, 308):
                raise McpError(f"{self._name}: http {response.status}: this redirect would drop the request body")
            url = target
        raise McpError(f"{self._name}: too many redirects")

    # --- responses

    async def _answer(self, id: int, response: HttpResponse, body: bytes | None) -> Incoming:
        kind = response.headers.get("content-type", "")
        if body is None and kind.startswith("text/event-stream"):
            return await self._from_stream(id, response)
        if response.status in (202, 204):
            raise McpError(f"{self._name}: http {response.status} without an answer")
        body = body if body is not None else await response.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise McpError(f"{self._name}: sent a message above 8 MiB")
        message = read_message(body)
        if message is None or not message.is_answer:
            raise McpError(f"{self._name}: http {response.status}: the answer is not a JSON-RPC message")
        return message

    async def _from_stream(self, id: int, response: HttpResponse) -> Incoming:
        """The answer in an event stream; resumes an interrupted stream at its last event id."""
        last, retry = "", _RETRY_S
        for _ in range(RESUMED + 1):
            parser = SseParser(LARGEST)
            try:
                answer = await self._read(id, response, parser)
            except ProviderError as error:
                if not parser.last_id:
                    raise McpError(f"{self._name}: {error}") from error
                answer = None
            last, retry = (
                parser.last_id or last,
                (
                    min(int(parser.retry) / 1000, _LONGEST_RETRY_S)
                    if parser.retry.isdecimal() and len(parser.retry) < 9
                    else retry
                ),
            )
            if answer is not None:
                return answer
            if not last or self.is_modern:
                raise ServerClosed(f"{self._name}: the event stream ended before the answer")
            self._responses.discard(response)
            response.abort()
            await asyncio.sleep(retry)
            response, _ = await self._send("GET", b"", {"accept": "text/event-stream", "last-event-id": last})
            self._responses.add(response)
        raise ServerClosed(f"{self._name}: the event stream ended {RESUMED} times before the answer")

    async def _read(self, id: int, response: HttpResponse, parser: SseParser) -> Incoming | None:
        while piece := await response.more():
            for event in parser.feed(piece):
                message = self._pass_on(event.data, id)
                if message is not None:
                    return message
        for event in parser.close():
            message = self._pass_on(event.data, id)
            if message is not None:
                return message
        return None

    def _pass_on(self, data: bytes, id: int | None = None) -> Incoming | None:
        """The message if it is the answer; others go to ``hear``."""
        self.heard += 1
        message = read_message(data) if data.strip() else None
        if message is None:
            return None
        if message.is_answer:
            return message if message.id == id or message.id is None else None
        self.hear(message)
        return None


async def _read_all(response: HttpResponse) -> bytes:
    try:
        async with asyncio.timeout(CONNECT_S):
            return await response.read(LARGEST)
    except (TimeoutError, ProviderError):
        return b""
    finally:
        response.abort()


def _words(body: bytes) -> str:
    text = " ".join(body[:4096].decode("utf-8", "replace").split())
    return f": {text[:_SAID]}" if text and not text.startswith("<") else ""


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", "", None)
    return (parts.scheme, parts.hostname or "", port)
