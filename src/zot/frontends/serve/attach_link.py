"""Connections of ``zot attach``: the socket of this machine, or a WebSocket with the key of a device."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Protocol

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


class LocalLink:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, command: msgspec.Struct) -> None:
        self._writer.write(frames.encode(command) + b"\n")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        lines = LineSplitter(LONGEST_LINE)
        while data := await self._reader.read(_READ):
            for line in lines.feed(data):
                if line is not None:
                    yield line

    async def close(self) -> None:
        self._writer.close()


async def open_local(connection: socket.socket) -> LocalLink:
    connection.setblocking(False)
    return LocalLink(*await asyncio.open_unix_connection(sock=connection))
