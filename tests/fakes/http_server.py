"""Small HTTP peers on real sockets in the test's own event loop: a server that plays raw answers, and a proxy."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

TLS = Path(__file__).parent / "tls"
CERTIFICATE = TLS / "cert.pem"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One request, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)


class FakeHttpServer:
    """Calls ``handler`` for each connection, or answers each request with the next of ``answers`` verbatim.

    ``requests`` holds what was received; ``connections`` counts sockets.
    """

    def __init__(
        self,
        answers: Sequence[bytes] = (),
        *,
        handler: Handler | None = None,
        tls: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0
        self._answers = list(answers)
        self._handler = handler or self._answer
        self._tls = tls
        self._host = host
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    async def __aenter__(self) -> FakeHttpServer:
        context = None
        if self._tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE, TLS / "key.pem")
        self._server = await asyncio.start_server(self._connected, self._host, 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            self.requests.append(await read_request(reader))
            answer = self._answers.pop(0)
            writer.write(answer)
            await writer.drain()
            if b"connection: close" in answer:
                return


class FakeProxy(FakeHttpServer):
    """Tunnels CONNECT to ``target`` for any name, and answers absolute-form requests itself."""

    def __init__(self, target: int = 0, *, refuse: bytes = b"", tls: bool = False) -> None:
        super().__init__(handler=self._proxy, tls=tls)
        self._target = target
        self._refuse = refuse

    async def _proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        self.requests.append(request)
        if self._refuse:
            writer.write(self._refuse)
        elif request.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._target)
            await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))
        else:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nproxied")
        await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
