"""HTTP and WebSocket. Any website can send requests here, so Host and Origin are checked first, there are no cookies,
and nothing of the user is served without the key of a device."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zot.errors import ZotError, describe_error
from zot.frontends.serve.access import Refused
from zot.frontends.serve.addresses import Addresses
from zot.frontends.serve.answers import failure
from zot.frontends.serve.client import HEARTBEAT_S, WebSocketClient
from zot.frontends.serve.listeners import Connection, Listeners, Place
from zot.provider.http.incoming import BodyTooLarge, IncomingRequest, read_request
from zot.provider.http.websocket_frames import accept_value

if TYPE_CHECKING:
    from zot.frontends.serve.access import Access
    from zot.frontends.serve.conversation import Conversation
    from zot.frontends.serve.hub import Hub

_BODY_LIMIT = 4 * 1024
_REQUEST_S = 10.0
_PIECE = 256 * 1024  # of an answer, written within the time of a request


class ServeServer:
    """Addresses and WebSocket of one user's server."""

    def __init__(self, access: Access, hub: Hub, home: Path, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._addresses = Addresses(access, hub, home)
        self._access = access
        self._hub = hub
        self._heartbeat_s = heartbeat_s
        self._listeners = Listeners(self._visited)
        self._clients: set[WebSocketClient] = set()
        self._names = itertools.count(1)
        self.open = self._listeners.open
        self.used_at = time.monotonic()

    @property
    def client_count(self) -> int:
        return len(self._clients)

    @property
    def places(self) -> Sequence[Place]:
        """Where it listens; the first is this machine."""
        return self._listeners.places

    async def close(self, seconds: float = 2.0) -> None:
        """Accept no more, and close every connection."""
        await self._listeners.stop_accepting()
        for client in [*self._clients]:
            client.close("the server ended")
        await self._listeners.close(seconds)

    # --- one connection

    async def _visited(self, link: Connection) -> None:
        try:
            request = await self._read(link)
            if request is not None and request.path == "/rpc":
                await self._rpc(request, link)
            elif request is not None:
                await _send(link, await self._addresses.answer(request, link.peer))
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # an invalid request gets no answer
        finally:
            self.used_at = time.monotonic()

    async def _read(self, link: Connection) -> IncomingRequest | None:
        """The request, if it may be answered."""
        try:
            async with asyncio.timeout(_REQUEST_S):
                request = await read_request(link.reader, _BODY_LIMIT)
        except BodyTooLarge:
            await _send(link, failure(413, f"a request has at most {_BODY_LIMIT} bytes"))
            return None
        if wrong := link.place.refusal(request):
            await _send(link, failure(403, wrong))
            return None
        if self._addresses.is_of_device(request):
            self._listeners.know()
        return request

    # --- WebSocket

    async def _rpc(self, request: IncomingRequest, link: Connection) -> None:
        try:
            device, protocol = self._addresses.device(request, link.peer)
            handshake = _handshake(request, protocol)
            conversation = await self._hub.get(
                request.query.get("conversation", ""), request.query.get("directory", "")
            )
        except Refused as refused:
            await _send(link, failure(refused.status, str(refused)))
            return
        except (ZotError, OSError) as error:
            await _send(link, failure(404, describe_error(error)))
            return
        link.writer.write(handshake)
        key_hash = device.key_hash
        client = WebSocketClient(
            f"client-{next(self._names)}",
            device.name,
            watches=request.query.get("watch", "") not in ("", "0"),
            reader=link.reader,
            writer=link.writer,
            is_allowed=lambda: self._access.known(key_hash) is not None,
            heartbeat_s=self._heartbeat_s,
        )
        await asyncio.to_thread(self._access.mark_seen, key_hash, link.peer)
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


async def _send(link: Connection, data: bytes) -> None:
    for start in range(0, len(data), _PIECE):
        async with asyncio.timeout(_REQUEST_S):
            link.writer.write(data[start : start + _PIECE])
            await link.writer.drain()
