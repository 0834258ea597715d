"""Listening sockets of the server: plain HTTP on this machine, TLS beyond it. Connections are counted from the moment
they are accepted, so that clients which send nothing, or never finish their handshake, cannot shut out others."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ZotError
from zot.frontends.serve.network import LOOPBACK, bracketed
from zot.provider.http.incoming import HEAD_LIMIT

if TYPE_CHECKING:
    import ssl

    from zot.provider.http.incoming import IncomingRequest

STRANGERS = 32  # connections whose key is not known; above it the oldest is closed
STRANGERS_OF_ADDRESS = 8  # beyond this machine
_HANDSHAKE_S = 5.0
_BACKLOG = 128
_NO_ROOM_S = 0.1
_PORT_TRIES = 20
_WRONG_HOST = "this server answers at {} only"
_FOREIGN = "a page of another website must not use this server"


class Place(msgspec.Struct, frozen=True):
    """Where a server listens; ``hosts`` are the names that requests may have."""

    scheme: str
    address: str
    port: int
    names: tuple[str, ...]
    fingerprint: str = ""

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.hosts[0]}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{bracketed(name)}:{self.port}" for name in self.names)

    def refusal(self, request: IncomingRequest) -> str:
        """Why a request comes from elsewhere: a name of another machine, or a page of another website."""
        host = request.headers.get("host", "").lower()
        if host not in self.hosts and not (self._is_default_port and f"{host}:{self.port}" in self.hosts):
            return _WRONG_HOST.format(self.hosts[0])
        if request.headers.get("origin", f"{self.scheme}://{host}") != f"{self.scheme}://{host}":
            return _FOREIGN
        return "" if request.headers.get("sec-fetch-site", "none") in ("none", "same-origin") else _FOREIGN

    @property
    def _is_default_port(self) -> bool:
        return self.port == (443 if self.scheme == "https" else 80)


class Connection:
    """An accepted connection. ``is_known`` once it has shown the key of a device."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: Place, peer: str) -> None:
        self.reader = reader
        self.writer = writer
        self.place = place
        self.peer = peer


Visit = Callable[[Connection], Awaitable[None]]


class Listeners:
    """``visit`` is called with each connection, in a task of its own."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._visits: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.Task[None], str] = {}  # with the address of each, the oldest first
        self.places: list[Place] = []

    def open(
        self, port: int, beyond: tuple[str, tuple[str, ...], str] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        """Listen on this machine, and with TLS on the address, the names and the fingerprint of ``beyond``, at the same
        port. ZotError if it is taken, or the address is another machine's."""
        address = beyond[0] if beyond else ""
        for attempt in range(_PORT_TRIES):
            here = _listen(LOOPBACK, port)
            free = int(here.getsockname()[1])
            try:
                there = _listen(address, free) if address else None
            except ZotError:
                here.close()
                if port or attempt == _PORT_TRIES - 1 or not is_local_address(address):
                    raise
                continue
            break
        else:
            raise AssertionError
        self._add(here, Place("http", LOOPBACK, free, (LOOPBACK, "localhost")), None)
        if there is not None and beyond is not None:
            self._add(there, Place("https", address, free, beyond[1], beyond[2]), tls)

    def _add(self, listening: socket.socket, place: Place, tls: ssl.SSLContext | None) -> None:
        self._sockets.append(listening)
        self.places.append(place)
        self._accepting.append(asyncio.create_task(self._accept(listening, place, tls)))

    def know(self) -> None:
        """The connection of this task has shown the key of a device."""
        task = asyncio.current_task()
        if task is not None:
            self._strangers.pop(task, None)

    async def stop_accepting(self) -> None:
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for each in self._sockets:
            each.close()

    async def close(self, seconds: float) -> None:
        """Let running visits end, then cancel them."""
        await self.stop_accepting()
        if self._visits:
            await asyncio.wait([*self._visits], timeout=seconds)
        for visit in [*self._visits]:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    # --- connections

    async def _accept(self, listening: socket.socket, place: Place, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except OSError:  # too many open files, or it is gone already
                await asyncio.sleep(_NO_ROOM_S)
                continue
            task = asyncio.create_task(self._serve(accepted, place, tls, str(peer[0])))
            self._visits.add(task)
            self._strangers[task] = str(peer[0])
            task.add_done_callback(self._ended)
            self._make_room(place, str(peer[0]))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._visits.discard(task)
        self._strangers.pop(task, None)

    def _make_room(self, place: Place, peer: str) -> None:
        """Close the oldest connection without a key, if there are too many."""
        of_peer = [task for task, address in self._strangers.items() if address == peer]
        crowd = of_peer if place.scheme == "https" and len(of_peer) > STRANGERS_OF_ADDRESS else [*self._strangers]
        if len(self._strangers) > STRANGERS or crowd is of_peer:
            self._strangers.pop(crowd[0])
            crowd[0].cancel()

    async def _serve(self, accepted: socket.socket, place: Place, tls: ssl.SSLContext | None, peer: str) -> None:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = asyncio.StreamReader(limit=HEAD_LIMIT)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        try:
            seconds = _HANDSHAKE_S if tls else None
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, accepted, ssl=tls, ssl_handshake_timeout=seconds, ssl_shutdown_timeout=seconds
            )
        except (OSError, asyncio.CancelledError):  # no TLS, or another version of it
            accepted.close()
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await self._visit(Connection(reader, writer, place, peer))
        except asyncio.CancelledError:
            writer.transport.abort()  # without a farewell that the other end could delay
            raise
        finally:
            with suppress(OSError):
                writer.close()


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((address, port))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise ZotError(_why_not(address, port, error)) from None
    return listening


def _why_not(address: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRNOTAVAIL:
        return f"cannot listen on {address}: this machine does not have this address; --lan finds the right one"
    fix = "choose another --port" if error.errno != errno.EACCES else "choose a --port above 1023"
    return f"cannot listen on {bracketed(address)}:{port}: {error.strerror or error}; {fix}"


def is_local_address(address: str) -> bool:
    """True if this machine has the address."""
    with suppress(OSError), socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return True
    return False
