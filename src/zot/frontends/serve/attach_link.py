"""Connections of ``zot attach``: the socket of this machine, or a WebSocket with the key of a device."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol, cast

import msgspec

from zot.frontends.serve import frames
from zot.wire.line_splitter import LineSplitter

LONGEST_LINE = 64 * 1024 * 1024
_READ = 256 * 1024


class AttachLink(Protocol):
    """Messages of the server, as lines."""

    def send(self, command: msgspec.Struct) -> None: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class LocalLink(asyncio.Protocol):
    """Lines that arrived before the server closed are read, also if a write failed meanwhile."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = LineSplitter(LONGEST_LINE)
        self._arrived: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if line is not None:
                self._arrived.put_nowait(line)

    def connection_lost(self, exc: Exception | None) -> None:
        with suppress(OSError):  # a failed write ends the connection before everything is read
            while data := self._connection.recv(_READ):
                self.data_received(data)
        self._arrived.put_nowait(None)

    def send(self, command: msgspec.Struct) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frames.encode(command) + b"\n")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (line := await self._arrived.get()) is not None:
            yield line

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def open_local(connection: socket.socket) -> LocalLink:
    connection.setblocking(False)
    _, link = await asyncio.get_running_loop().create_unix_connection(lambda: LocalLink(connection), sock=connection)
    return link
