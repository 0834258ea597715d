"""One WebSocket connection of a client: its messages, its queue, its heartbeat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from zot.provider.http.websocket_frames import (
    CLOSE,
    GOING_AWAY,
    LONGEST_CONTROL,
    NORMAL,
    PING,
    POLICY,
    PONG,
    TEXT,
    TOO_LARGE,
    UNSUPPORTED,
    Message,
    MessageParser,
    ProtocolFault,
    encode_server_frame,
)
from zot.wire.rpc_frames import MAX_LINE

if TYPE_CHECKING:
    from zot.frontends.serve.conversation import Conversation

UNREAD_MAX = 8 * 1024 * 1024  # bytes that a client has not read; then it is cut off
HEARTBEAT_S = 20.0
_CHECK_S = 1.0
_READ = 64 * 1024
_CLOSE_S = 2.0
_ROOM_S = 0.005


class WebSocketClient:
    """``is_allowed``: its device was not revoked; it is asked before each command, and every second."""

    def __init__(
        self,
        name: str,
        device: str,
        *,
        watches: bool,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        is_allowed: Callable[[], bool],
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self.name = name
        self.device = device
        self.watches = watches
        self._reader = reader
        self._writer = writer
        self._is_allowed = is_allowed
        self._heartbeat_s = heartbeat_s
        self._parser = MessageParser(MAX_LINE, of_client=True)
        self._heard = time.monotonic()
        self._is_closed = False

    def send(self, line: bytes) -> None:
        if not self._is_closed:
            self._write(encode_server_frame(TEXT, line))

    def close(self, reason: str = "", code: int = GOING_AWAY) -> None:
        """Send a close frame, once; the connection ends when the client answers, or soon."""
        if self._is_closed:
            return
        self._write(encode_server_frame(CLOSE, code.to_bytes(2, "big") + reason.encode()[: LONGEST_CONTROL - 2]))
        self._is_closed = True
        asyncio.get_running_loop().call_later(_CLOSE_S, self.abort)

    def abort(self) -> None:
        self._is_closed = True
        self._writer.transport.abort()

    def _write(self, frame: bytes) -> None:
        if self._writer.transport.get_write_buffer_size() > UNREAD_MAX:
            self.abort()
        else:
            self._writer.write(frame)

    async def run(self, conversation: Conversation) -> None:
        """Pass its messages on until the connection ends."""
        async with asyncio.TaskGroup() as tasks:
            heart = tasks.create_task(self._beat())
            try:
                await self._read_all(conversation)
            finally:
                heart.cancel()
                asyncio.get_running_loop().call_later(_CLOSE_S, self.abort)  # if it does not read the rest

    async def _read_all(self, conversation: Conversation) -> None:
        try:
            while data := await self._reader.read(_READ):
                self._heard = time.monotonic()
                for message in self._parser.feed(data):
                    while conversation.is_backlogged:  # noqa: ASYNC110  rare, and it delays only this client
                        await asyncio.sleep(_ROOM_S)
                    if not self._handle(message, conversation):
                        return
        except ProtocolFault as fault:
            self.close(str(fault), fault.close_code)
        except OSError:
            pass  # it is gone

    def _handle(self, message: Message, conversation: Conversation) -> bool:
        """False at the end of the connection."""
        if message.kind == CLOSE:
            self.close(code=NORMAL)
            return False
        if message.kind == PING:
            self._write(encode_server_frame(PONG, message.data or b""))
        elif message.kind == TEXT and not self._is_closed:
            return self._command(message.data, conversation)
        elif message.kind != PONG:
            self.close("only text messages are understood", UNSUPPORTED)
        return True

    def _command(self, data: bytes | None, conversation: Conversation) -> bool:
        if data is None:
            self.close(f"a message has at most {MAX_LINE >> 20} MiB", TOO_LARGE)
            return False
        if not self._still_allowed():
            return False
        conversation.receive(self, data)
        return True

    def _still_allowed(self) -> bool:
        if not self._is_allowed():
            self.close("this device was revoked", POLICY)
            return False
        return True

    async def _beat(self) -> None:
        """End a connection whose other end is gone, or whose device was revoked."""
        pinged = time.monotonic()
        while self._still_allowed():
            await asyncio.sleep(min(_CHECK_S, self._heartbeat_s / 2))
            now = time.monotonic()
            if now - self._heard > 2.5 * self._heartbeat_s:
                self.abort()
                return
            if now - pinged > self._heartbeat_s and not self._is_closed:
                pinged = now
                self._write(encode_server_frame(PING, b""))
