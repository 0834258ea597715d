"""The connection to an extension at a URL: a WebSocket whose text messages are frames. A lost connection is resumed
within 60 s: both sides repeat what the other has not seen, by ``seq``; otherwise the extension starts again."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from zot.errors import BadRequest, TransportFailed
from zot.provider.http.websocket import HandshakeRefused, WebSocket, open_websocket
from zot.provider.http.websocket_frames import BINARY, CLOSE, NORMAL, PING, TEXT, Message
from zot.wire import limits

PROTOCOL = "zot-ext.1"
RESUME_HEADER = "zot-ext-resume"
_TURN_S = 0.0001
_NOT_TEXT = b"(a binary message)"  # no JSON: reported as a malformed frame

Receive = Callable[[bytes | None], None]


class LinkAddress(msgspec.Struct, frozen=True):
    url: str
    token: str
    environ: Mapping[str, str]
    proxy: str = ""

    def __repr__(self) -> str:
        """Omits the token."""
        return f"LinkAddress({self.url!r})"


class _Head(msgspec.Struct, frozen=True):
    type: Any = ""
    seq: Any = None
    resume: Any = None
    seen: Any = None


_head = msgspec.json.Decoder(_Head).decode


class UrlLink:
    """A ``FrameLink``. ``note`` writes a line to the extension's log. ``is_final``: another try would not help."""

    def __init__(self, address: LinkAddress, receive: Receive, note: Callable[[str], None]) -> None:
        self._address = address
        self._receive = receive
        self._note = note
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[str] = self._loop.create_future()
        self.is_final = False
        self.resume = os.urandom(16).hex()
        self._socket: WebSocket | None = None
        self._sent: deque[tuple[int, bytes]] = deque()
        self._sent_bytes = 0
        self._number = 0  # of the last frame sent
        self._seen = 0  # number of the last frame received
        self._ack = b""
        self._greeted = False
        self._stopping = False
        self._clean = False
        self._task = asyncio.ensure_future(self._live())

    # --- for the child (FrameLink)

    def send(self, line: bytes) -> bool:
        """The first line is ``hello_ack``, which has no number."""
        if self.over.done() or self._stopping:
            return False
        if not self._ack:
            self._ack = line
            if self._socket is not None:
                self._socket.send(line[:-1])
            return True
        self._number += 1
        numbered = b'%s,"seq":%d}' % (line[:-2], self._number)
        self._keep(numbered)
        if self._socket is not None:
            self._socket.send(numbered)
            if self._socket.unsent > limits.QUEUE_BYTES:
                self.disconnect(f"does not read: {self._socket.unsent >> 20} MiB waiting")
                return False
        return True

    @property
    def is_backlogged(self) -> bool:
        return self._socket is None or self._socket.unsent > 0

    def close_stdin(self) -> None:
        self._stopping = True
        if self._socket is not None:
            self._socket.close()
        else:
            self._end("")

    def disconnect(self, reason: str) -> None:
        self._end(reason)

    async def watch_exit(self) -> None:
        await self.wait()

    async def exit_code(self, seconds: float) -> int | None:
        return 0 if self._clean else None

    async def wait(self) -> object:
        return await asyncio.wait([self._task])

    async def terminate(self, grace: float) -> object:
        self._end("")
        return await self.reap()

    async def reap(self) -> None:
        self._end("")
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    # --- the connection

    async def _live(self) -> None:
        try:
            socket = await self._open()
            while socket is not None:
                reason = await self._serve(socket)
                socket = None if self.over.done() else await self._resumed(reason)
        except (TransportFailed, BadRequest) as error:
            self.is_final = isinstance(error, (HandshakeRefused, BadRequest)) or not error.retryable
            self._end(f"cannot connect: {error}")
        finally:
            self._end("")

    async def _open(self, *, again: bool = False) -> WebSocket:
        headers = {"authorization": f"Bearer {self._address.token}", **({RESUME_HEADER: self.resume} if again else {})}
        return await open_websocket(
            self._address.url,
            headers,
            protocol=PROTOCOL,
            environ=self._address.environ,
            proxy=self._address.proxy,
            timeout=limits.LINK_CONNECT,
            limit=limits.MAX_LINE - 1,
        )

    async def _serve(self, socket: WebSocket) -> str:
        """Handle messages until the connection ends; returns why."""
        self._socket = socket
        missed = 0
        try:
            while not self.over.done():
                try:
                    async with asyncio.timeout(limits.LINK_PING):
                        messages = await socket.receive()
                except TimeoutError:
                    if missed >= limits.LINK_PINGS_MISSED:
                        return f"did not answer {missed} pings"
                    missed += 1
                    socket.send(b"zot", PING)
                    continue
                missed = 0
                if (reason := await self._handle(socket, messages)) is not None:
                    return reason
        except TransportFailed as error:
            return str(error)
        finally:
            self._socket = None
            socket.abort()
        return ""

    async def _handle(self, socket: WebSocket, messages: list[Message]) -> str | None:
        """Why the connection ended, or None. A flood leaves time for others."""
        until = time.perf_counter() + _TURN_S
        for message in messages:
            if (reason := self._message(socket, message)) is not None:
                return reason
            if time.perf_counter() > until:
                await asyncio.sleep(0)
                until = time.perf_counter() + _TURN_S
        return None

    def _message(self, socket: WebSocket, message: Message) -> str | None:
        match message.kind:
            case _ if message.kind == TEXT:
                self._text(message.data)
            case _ if message.kind == BINARY:
                self._receive(_NOT_TEXT)
            case _ if message.kind == PING:
                socket.send(message.data or b"", PING + 1)
            case _ if message.kind == CLOSE:
                return self._closed(socket, message.data or b"")
            case _:
                pass
        return None

    def _closed(self, socket: WebSocket, data: bytes) -> str:
        code = int.from_bytes(data[:2], "big") if data else 1005
        socket.close(NORMAL)
        if self._stopping or code == NORMAL:
            self._clean = True
            self._end("")
        words = data[2:].decode("utf-8", "replace")
        return f"closed the connection (code {code}{': ' + words[:100] if words else ''})"

    def _text(self, line: bytes | None) -> None:
        if line is None:
            self._receive(None)
            return
        if self._greeted:
            number = _number(line)
            if number is not None:
                if number <= self._seen:
                    return  # repeated after a resumption
                if number != self._seen + 1:
                    self._end(f"skipped from frame {self._seen} to {number}")
                    return
                self._seen = number
        self._greeted = True
        self._receive(line)

    # --- resuming

    def _keep(self, line: bytes) -> None:
        self._sent.append((self._number, line))
        self._sent_bytes += len(line)
        while len(self._sent) > limits.QUEUE_FRAMES or self._sent_bytes > limits.QUEUE_BYTES:
            self._sent_bytes -= len(self._sent.popleft()[1])

    async def _resumed(self, reason: str) -> WebSocket | None:
        """A connection that goes on; None after the end."""
        if not self._ack or self._stopping:
            self._end(reason)
            return None
        self._note(f"lost the connection: {reason}; resuming")
        until = self._loop.time() + limits.LINK_RESUME
        for delay in (*limits.RESTART_DELAYS, *limits.RESTART_DELAYS[-1:] * 4):
            await asyncio.sleep(min(delay, max(0.0, until - self._loop.time())))
            if self.over.done() or self._loop.time() >= until:
                break
            try:
                socket = await self._open(again=True)
            except HandshakeRefused as error:
                self.is_final = True
                self._end(f"cannot connect: {error}")
                return None
            except TransportFailed:
                continue
            if await self._agreed(socket):
                self._note("resumed")
                return socket
            socket.abort()
            break
        self._end(f"lost the connection: {reason}")
        return None

    async def _agreed(self, socket: WebSocket) -> bool:
        """True if the server resumes: repeat what it has not seen."""
        try:
            async with asyncio.timeout(limits.LINK_CONNECT):
                while not (messages := await socket.receive()):
                    pass
        except (TimeoutError, TransportFailed):
            return False
        first, rest = messages[0], messages[1:]
        head = _decoded(first.data) if first.kind == TEXT and first.data is not None else None
        if head is None or head.type != "hello" or head.resume != self.resume or not _is_count(head.seen):
            return False
        oldest = self._sent[0][0] if self._sent else self._number + 1
        if not oldest - 1 <= head.seen <= self._number:
            return False
        socket.send(b'%s,"seen":%d}' % (self._ack[:-2], self._seen))
        for number, line in self._sent:
            if number > head.seen:
                socket.send(line)
        self._socket = socket
        return all(self._message(socket, message) is None for message in rest)

    def _end(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_result(reason)
        if self._socket is not None and not self._stopping:
            self._socket.abort()


def _decoded(line: bytes) -> _Head | None:
    try:
        return _head(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _number(line: bytes) -> int | None:
    head = _decoded(line)
    return head.seq if head is not None and _is_count(head.seq) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
