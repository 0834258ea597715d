"""An extension at a URL: a WebSocket server (of the library ``websockets``) in the test's own event loop."""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tests.fakes.http_server import CERTIFICATE
from zot.provider.auth.auth_store import AuthStore

TOKEN = "tok-remote-123456"


class RemoteExtension:
    """``frames`` are those of zot, each once; ``opened`` are the headers of all connections. Frames of the test are
    numbered and repeated as the protocol wants; with ``resumes`` False every connection starts again."""

    def __init__(self, *, capabilities: tuple[str, ...] = ("edition2",), resumes: bool = True) -> None:
        self.capabilities = capabilities
        self.resumes = resumes
        self.frames: list[dict[str, Any]] = []
        self.acks: list[dict[str, Any]] = []
        self.opened: list[dict[str, str]] = []
        self.resumed = 0
        self.port = 0
        self.registrations: list[dict[str, Any]] = []
        self.handlers: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.link: ServerConnection | None = None
        self._numbers = itertools.count(1)
        self._sent: list[dict[str, Any]] = []
        self._seen = 0
        self._token = ""

    def send(self, **frame: Any) -> None:
        numbered = {**frame, "seq": next(self._numbers)}
        self._sent.append(numbered)
        if self.link is not None:
            self._post(self.link, json.dumps(numbered))

    def _post(self, link: ServerConnection, text: str | bytes) -> None:
        link.transport.write(b"")  # raises when it is gone
        _TASKS.add(task := asyncio.ensure_future(self._quietly(link, text)))
        task.add_done_callback(_TASKS.discard)

    async def _quietly(self, link: ServerConnection, text: str | bytes) -> None:
        with suppress(ConnectionClosed):
            await link.send(text)

    def cut(self) -> None:
        """The connection breaks without a close frame."""
        assert self.link is not None
        self.link.transport.abort()
        self.link = None

    async def handle(self, link: ServerConnection) -> None:
        assert link.request is not None
        self.opened.append(dict(link.request.headers.raw_items()))
        asked = link.request.headers.get("zot-ext-resume", "")
        again = self.resumes and asked != "" and asked == self._token
        hello: dict[str, Any] = {"type": "hello", "name": "remote", "capabilities": list(self.capabilities)}
        with suppress(ConnectionClosed):
            await link.send(json.dumps({**hello, **({"resume": asked, "seen": self._seen} if again else {})}))
            ack = json.loads(await link.recv())
            self.acks.append(ack)
            if again:
                self.resumed += 1
                for frame in [each for each in self._sent if each["seq"] > ack["seen"]]:
                    await link.send(json.dumps(frame))
                self.link = link
            else:
                self._token, self._seen = ack.get("resume", ""), 0
                self._numbers, self._sent = itertools.count(1), []
                self.link = link
                for frame in self.registrations:
                    self.send(**frame)
            async for text in link:
                self._received(json.loads(text))

    def _received(self, frame: dict[str, Any]) -> None:
        if frame["seq"] <= self._seen:
            return
        assert frame["seq"] == self._seen + 1, frame
        self._seen = frame["seq"]
        self.frames.append(frame)
        if (handler := self.handlers.get(frame["type"])) is not None:
            handler(frame)

    def of(self, type: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["type"] == type]


_TASKS: set[asyncio.Task[None]] = set()


@asynccontextmanager
async def serving(
    remote: RemoteExtension, *, tls: bool = False, protocol: str = "zot-ext.1", port: int = 0
) -> AsyncGenerator[Server]:
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_name("key.pem"))
    async with serve(
        remote.handle,
        "127.0.0.1",
        port,
        ssl=context,
        subprotocols=[Subprotocol(protocol)],
        process_request=_authorized,
        max_size=None,
        close_timeout=1,
    ) as server:
        remote.port = next(iter(server.sockets)).getsockname()[1]
        yield server


def _authorized(link: ServerConnection, request: Any) -> Any:
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        return link.respond(401, "no\n")
    return None


def write_remote(parent: Path, url: str, name: str = "remote", **manifest: Any) -> Path:
    """A directory with the manifest of an extension at ``url``."""
    directory = parent / name
    directory.mkdir(parents=True)
    fields: dict[str, Any] = {
        "name": name,
        "url": url,
        "permissions": {"net": True, "intercept": True},
        "settings": {"key": {"type": "string", "secret": True}},
        "token": "key",
    }
    (directory / "extension.json").write_text(
        json.dumps({k: v for k, v in (fields | manifest).items() if v is not None})
    )
    return directory


def store_token(home: Path, token: str = TOKEN, name: str = "remote") -> None:
    AuthStore(home).set_api_key(f"extension:{name}:key", token)
