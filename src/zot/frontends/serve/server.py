"""HTTP and WebSocket on 127.0.0.1. Any website can send requests here, so Host and Origin are checked first, there
are no cookies, and nothing of the user is served without the key of a device."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING

from zot.errors import ZotError, describe_error
from zot.frontends.serve.access import Refused
from zot.frontends.serve.addresses import Addresses
from zot.frontends.serve.answers import failure
from zot.frontends.serve.client import HEARTBEAT_S, WebSocketClient
from zot.provider.http.incoming import HEAD_LIMIT, BodyTooLarge, IncomingRequest, read_request
from zot.provider.http.websocket_frames import accept_value

if TYPE_CHECKING:
    from zot.frontends.serve.access import Access
    from zot.frontends.serve.conversation import Conversation
    from zot.frontends.serve.hub import Hub

_BODY_LIMIT = 4 * 1024
_REQUEST_S = 10.0
_STRANGERS = 32  # connections before their key is known
_PIECE = 256 * 1024  # of an answer, written within the time of a request


class ServeServer:
    """``open`` returns the port."""

    def __init__(self, access: Access, hub: Hub, home: Path, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._addresses = Addresses(access, hub, home)
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
                await _send(writer, await self._addresses.answer(request, _peer(writer)))
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
            await _send(writer, failure(413, f"a request has at most {_BODY_LIMIT} bytes"))
            return None
        finally:
            self._strangers -= 1
        if wrong := self._wrong_place(request):
            await _send(writer, failure(403, wrong))
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

    # --- WebSocket

    async def _rpc(self, request: IncomingRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            device, protocol = self._addresses.device(request)
            handshake = _handshake(request, protocol)
            conversation = await self._hub.get(
                request.query.get("conversation", ""), request.query.get("directory", "")
            )
        except Refused as refused:
            await _send(writer, failure(refused.status, str(refused)))
            return
        except (ZotError, OSError) as error:
            await _send(writer, failure(404, describe_error(error)))
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
        await asyncio.to_thread(self._access.mark_seen, key_hash, _peer(writer))
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
    for start in range(0, len(data), _PIECE):
        async with asyncio.timeout(_REQUEST_S):
            writer.write(data[start : start + _PIECE])
            await writer.drain()


def _peer(writer: asyncio.StreamWriter) -> str:
    return str((writer.get_extra_info("peername") or ("",))[0])
