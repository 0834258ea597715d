"""Web servers for ``web_fetch``: pages by path, and servers that stall, drip, flood or lie."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

from tests.fakes.http_server import FakeHttpServer, read_request

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]
Answer = bytes | Behaviour


def page(body: bytes | str, kind: str = "text/html; charset=utf-8", *, status: str = "200 OK", more: str = "") -> bytes:
    """An answer that ends its connection."""
    data = body.encode() if isinstance(body, str) else body
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n{more}connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + data


def redirect(location: str, status: int = 302, more: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status} Moved\r\nlocation: {location}\r\n{more}content-length: 0\r\nconnection: close\r\n\r\n"
    ).encode()


class FakePages(FakeHttpServer):
    """``answers`` by path; another path is a 404. ``asked`` are the paths, ``heads`` the requests."""

    def __init__(self, answers: Mapping[str, Answer], *, tls: bool = False, host: str = "127.0.0.1") -> None:
        super().__init__(handler=self._page, tls=tls, host=host)
        self.answers = dict(answers)
        self.heads: list[bytes] = []

    @property
    def asked(self) -> list[str]:
        return [head.split(b" ")[1].decode() for head in self.heads]

    async def _page(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await read_request(reader))
        answer = self.answers.get(self.asked[-1], page("not here", status="404 Not Found"))
        with contextlib.suppress(ConnectionError):
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(writer)
            await writer.drain()


async def never(writer: asyncio.StreamWriter) -> None:
    """Accepts and says nothing."""
    await asyncio.sleep(60)


def drip(pause: float) -> Behaviour:
    """One byte at a time, without an end."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(pause)

    return write


def flood(megabytes: int, piece: bytes = b"<p>text</p>\n") -> Behaviour:
    """A long page; ``sent`` counts what was taken of it."""
    block = piece * (65536 // len(piece))

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n")
        for _ in range(megabytes * 16):
            writer.write(block)
            await writer.drain()

    return write
