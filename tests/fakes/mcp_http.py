"""FakeMcpServer over streamable HTTP, on a real socket in the test's own event loop; ``before`` may answer first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.fakes.http_server import FakeHttpServer, read_request
from tests.fakes.mcp_server import FakeMcpServer


class Seen:
    """One request."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.verb, self.path, _ = first.split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.json: dict[str, Any] = json.loads(self.body) if self.body.startswith(b"{") else {}
        self.method: str = self.json.get("method", "")


Before = Callable[[Seen], bytes | None]


class FakeMcpHttp(FakeMcpServer):
    """``stream``: answers come as server-sent events; ``session``: the classic era's session id."""

    def __init__(
        self, spec: dict[str, Any] | None = None, *, before: Before | None = None, stream: bool = False
    ) -> None:
        super().__init__(spec or {})
        self.seen: list[Seen] = []
        self.session = ""
        self.before = before
        self._stream = stream
        self._said: list[dict[str, Any]] = []
        self._server = FakeHttpServer(handler=self._visited)

    @property
    def url(self) -> str:
        return f"{self._server.url}/mcp"

    @property
    def origin(self) -> str:
        return self._server.url

    async def __aenter__(self) -> FakeMcpHttp:
        await self._server.__aenter__()
        return self

    async def __aexit__(self, *rest: Any) -> None:
        await self._server.__aexit__(*rest)

    def send(self, message: dict[str, Any]) -> None:
        self._said.append(message)

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                seen = Seen(await read_request(reader))
                self.seen.append(seen)
                writer.write(self._answered(seen))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answered(self, seen: Seen) -> bytes:
        if self.before is not None and (first := self.before(seen)) is not None:
            return first
        if seen.verb != "POST":
            return answer(405, b"")
        if self.session and seen.method != "initialize" and seen.headers.get("mcp-session-id") != self.session:
            return answer(404, b"")
        self._said.clear()
        self.count += 1
        self.heed(seen.json)
        extra = {"mcp-session-id": self.session} if self.session and seen.method == "initialize" else {}
        if "id" not in seen.json:
            return answer(202, b"")
        if self._stream:
            events = "".join(f"event: message\ndata: {json.dumps(message)}\n\n" for message in self._said)
            return answer(200, events.encode(), "text/event-stream", extra)
        return answer(200, json.dumps(self._said[-1]).encode() if self._said else b"", extra=extra)


def answer(status: int, body: bytes, kind: str = "application/json", extra: dict[str, str] | None = None) -> bytes:
    headers = {"content-type": kind, "content-length": str(len(body)), **(extra or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body
