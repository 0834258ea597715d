"""HTTP and WebSocket on 127.0.0.1. Any website can send requests here, so Host and Origin are checked first, there
are no cookies, and nothing but the text page is served without the key of a device."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import ZotError, describe_error
from zot.frontends.serve.access import Refused
from zot.frontends.serve.client import HEARTBEAT_S, WebSocketClient
from zot.provider.http.incoming import HEAD_LIMIT, BodyTooLarge, IncomingRequest, read_request
from zot.provider.http.websocket_frames import accept_value

if TYPE_CHECKING:
    from zot.frontends.serve.access import Access, Device
    from zot.frontends.serve.conversation import Conversation
    from zot.frontends.serve.hub import Hub

PROTOCOL = "zot-serve.1"
_KEY_PREFIX = "zot-key."  # browsers cannot set headers of a WebSocket, but offer sub-protocols
_BODY_LIMIT = 4 * 1024
_REQUEST_S = 10.0
_STRANGERS = 32  # connections before their key is known
_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_PAGE = """\
This is zot serve, the server of the zot coding agent on this machine.

It has no page yet. Programs join a conversation at /rpc (WebSocket) with the key of a device, which they get once for
the token in the address that `zot serve` prints. `zot docs serve` describes it.
"""


class _Exchange(msgspec.Struct):
    token: str
    name: str = ""


class _DeviceKey(msgspec.Struct):
    name: str
    key: str


class ServeServer:
    """``open`` returns the port."""

    def __init__(self, access: Access, hub: Hub, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._access = access
        self._hub = hub
        self._heartbeat_s = heartbeat_s
        self._server: asyncio.Server | None = None
        self._visits: set[asyncio.Task[None]] = set()
        self._strangers = 0
        self._clients: set[WebSocketClient] = set()
        self._names = itertools.count(1)
        self.port = 0
        self.used_at = time.monotonic()

    @property
    def client_count(self) -> int:
        return len(self._clients)

    async def open(self, port: int = 0) -> int:
        """ZotError if the port is taken."""
        try:
            self._server = await asyncio.start_server(self._visited, "127.0.0.1", port, limit=HEAD_LIMIT)
        except OSError as error:
            raise ZotError(
                f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}; choose another --port"
            ) from None
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self.port

    async def close(self, seconds: float = 2.0) -> None:
        """Accept no more, and close every connection."""
        if self._server is not None:
            self._server.close()
        for client in [*self._clients]:
            client.close("the server ended")
        if self._visits:
            await asyncio.wait([*self._visits], timeout=seconds)
        for visit in [*self._visits]:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    # --- one connection

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        try:
            request = await self._read(reader, writer)
            if request is not None and request.path == "/rpc":
                await self._rpc(request, reader, writer)
            elif request is not None:
                await _send(writer, self._answer(request))
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # an invalid request gets no answer
        finally:
            self._visits.discard(task)
            self.used_at = time.monotonic()
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> IncomingRequest | None:
        """The request, if it may be answered. Few connections may be at this point."""
        if self._strangers >= _STRANGERS:
            return None
        self._strangers += 1
        try:
            async with asyncio.timeout(_REQUEST_S):
                request = await read_request(reader, _BODY_LIMIT)
        except BodyTooLarge:
            await _send(writer, _failure(413, f"a request has at most {_BODY_LIMIT} bytes"))
            return None
        finally:
            self._strangers -= 1
        if wrong := self._wrong_place(request):
            await _send(writer, _failure(403, wrong))
            return None
        return request

    def _wrong_place(self, request: IncomingRequest) -> str:
        """Why this request comes from elsewhere: a name of another machine, or a page of another website."""
        hosts = f"127.0.0.1:{self.port}", f"localhost:{self.port}"
        if request.headers.get("host", "").lower() not in hosts:
            return "this server answers on 127.0.0.1 only"
        origin = request.headers.get("origin")
        if origin is not None and origin not in [f"http://{host}" for host in hosts]:
            return "a page of another website must not use this server"
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "a page of another website must not use this server"
        return ""

    def _answer(self, request: IncomingRequest) -> bytes:
        try:
            match request.method, request.path:
                case "GET", "/":
                    return _response(200, _PAGE.encode(), "text/plain; charset=utf-8")
                case "POST", "/device":
                    return self._exchange(request)
                case "GET", "/conversations":
                    self._device(request)
                    return _json(200, {"conversations": self._hub.list()})
                case _, "/" | "/device" | "/conversations":
                    return _failure(405, "this address does not take that method")
                case _:
                    return _failure(404, "nothing here; `zot docs serve` lists the addresses")
        except Refused as refused:
            return _failure(refused.status, str(refused))
        except (ZotError, OSError) as error:
            return _failure(500, describe_error(error))

    def _exchange(self, request: IncomingRequest) -> bytes:
        """A token for the key of a device. JSON only: a page of another website would have to ask first."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _failure(415, "send the token as application/json")
        try:
            given = msgspec.json.decode(request.body, type=_Exchange)
        except (msgspec.MsgspecError, RecursionError):
            return _failure(400, 'send {"token": "…", "name": "…"}')
        key, name = self._access.exchange(given.token, given.name)
        return _json(200, _DeviceKey(name, key))

    def _device(self, request: IncomingRequest) -> tuple[Device, str]:
        """The device of the request, and the sub-protocol to answer. Refused without a key."""
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        offered = [word.strip() for word in request.headers.get("sec-websocket-protocol", "").split(",")]
        protocol = PROTOCOL if PROTOCOL in offered else ""
        if kind.lower() != "bearer":
            key = next((word.removeprefix(_KEY_PREFIX) for word in offered if word.startswith(_KEY_PREFIX)), "")
        if not key:
            raise Refused(401, "the key of a device is missing; `zot docs serve` says how to get one")
        return self._access.device(key.strip()), protocol

    # --- WebSocket

    async def _rpc(self, request: IncomingRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            device, protocol = self._device(request)
            handshake = _handshake(request, protocol)
            conversation = await self._hub.get(
                request.query.get("conversation", ""), request.query.get("directory", "")
            )
        except Refused as refused:
            await _send(writer, _failure(refused.status, str(refused)))
            return
        except (ZotError, OSError) as error:
            await _send(writer, _failure(404, describe_error(error)))
            return
        writer.write(handshake)
        key_hash = device.key_hash
        client = WebSocketClient(
            f"client-{next(self._names)}",
            device.name,
            watches=request.query.get("watch", "") not in ("", "0"),
            reader=reader,
            writer=writer,
            is_allowed=lambda: self._access.known(key_hash) is not None,
            heartbeat_s=self._heartbeat_s,
        )
        self._access.mark_seen(key_hash)
        await self._serve(client, conversation, request)

    async def _serve(self, client: WebSocketClient, conversation: Conversation, request: IncomingRequest) -> None:
        after = request.query.get("after", "")
        number = int(after) if after.isascii() and after.isdecimal() and len(after) < 16 else None
        self._clients.add(client)
        try:
            conversation.join(client, run=request.query.get("run", ""), after=number)
            await client.run(conversation)
        except ZotError as error:
            client.close(str(error))
        finally:
            conversation.leave(client)
            self._clients.discard(client)


def _handshake(request: IncomingRequest, protocol: str) -> bytes:
    """The answer that opens the WebSocket; Refused if the request is none."""
    headers = request.headers
    upgrades = [word.strip().lower() for word in headers.get("connection", "").split(",")]
    if request.method != "GET" or headers.get("upgrade", "").lower() != "websocket" or "upgrade" not in upgrades:
        raise Refused(426, "this address takes WebSockets only")
    key = headers.get("sec-websocket-key", "")
    if headers.get("sec-websocket-version") != "13" or len(key) != 24:
        raise Refused(400, "this WebSocket speaks another version; expected 13")
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept_value(key.encode('latin-1'))}",
        *([f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []),
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    async with asyncio.timeout(_REQUEST_S):
        writer.write(data)
        await writer.drain()


def _failure(status: int, error: str) -> bytes:
    return _json(status, {"error": error})


def _json(status: int, value: Any) -> bytes:
    return _response(status, msgspec.json.encode(value), "application/json")


def _response(status: int, body: bytes, kind: str) -> bytes:
    head = [
        f"HTTP/1.1 {status} {_REASONS[status]}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        f"Content-Security-Policy: {_POLICY}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Cross-Origin-Opener-Policy: same-origin",
        "Cross-Origin-Resource-Policy: same-origin",
        "Connection: close",
    ]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    426: "Upgrade Required",
    429: "Too Many Requests",
    500: "Internal Server Error",
}
