"""A real loopback server that answers every request with one recorded response, byte for byte.

The body is sent chunked and cut at a length no line keeps to, so that events and characters are split.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

_CUT = 997


@asynccontextmanager
async def replayed(body: bytes, *, status: int = 200, content_type: str = "text/event-stream") -> AsyncGenerator[str]:
    """The base URL of a server that lives as long as the block."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _read_request(reader)
            writer.write(_head(status, content_type))
            for start in range(0, len(body), _CUT):
                piece = body[start : start + _CUT]
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # a client may leave once it has read the end of the answer
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port: int = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"


async def _read_request(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    _, found, rest = head.partition(b"content-length:")
    if found:
        await reader.readexactly(int(rest.split(b"\r\n", 1)[0]))


def _head(status: int, content_type: str) -> bytes:
    lines = (
        f"HTTP/1.1 {status} Recorded",
        f"content-type: {content_type}",
        "transfer-encoding: chunked",
        "connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")
