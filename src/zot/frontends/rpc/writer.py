"""Writes whole lines in order with bounded memory.
Above MERGE_ABOVE waiting bytes, neighbouring deltas become one line (``merged``), and long live output loses its
beginning (``dropped``); ``room`` lets the agent wait."""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core import events as ev
from zot.core.interceptors import Interceptor, ToolVerdict, TurnVerdict
from zot.errors import ZotError, describe_error
from zot.wire import rpc_frames as wire
from zot.wire.events import encode
from zot.wire.rpc_frames import Command, Response

if TYPE_CHECKING:
    from zot.provider.messages import ToolCallBlock
    from zot.wire.screen_frames import ScreenEvent as TerminalEvent
    from zot.wire.swarm_frames import SwarmEvent, SwarmUpdate

MERGE_ABOVE = 1024 * 1024
ROOM_BELOW = 256 * 1024
PROGRESS_KEPT = 64 * 1024  # characters of a running tool's output after merging
RESPONSES_MAX = 4 * 1024 * 1024  # unread responses; then no further command is read
GIVE_UP_ABOVE = 64 * 1024 * 1024  # bytes of extension events, which cannot wait, for a client that does not read

_encode_plain = msgspec.json.Encoder().encode


def _encode(value: msgspec.Struct) -> bytes:
    """Encodes; paths may not be UTF-8, so texts may have lone surrogates."""
    try:
        return _encode_plain(value)
    except UnicodeEncodeError:
        from zot.wire.extension_codec import well_formed  # rarely needed

        return _encode_plain(well_formed(msgspec.to_builtins(value)))


_Text = ev.TextDelta | ev.ThinkingDelta
_Delta = _Text | ev.ToolUseArgs | ev.ToolProgress
_DELTAS = (ev.TextDelta, ev.ThinkingDelta, ev.ToolUseArgs, ev.ToolProgress)


class Writer:
    """Never raises and never blocks on a pipe. Created inside a running loop.
    ``on_closed`` is called once when writing is no longer possible; ``failure`` is why, unless the reader disconnected.
    ``close`` restores the file descriptor."""

    def __init__(self, fd: int = 1) -> None:
        self.closed = False
        self.failure = ""
        self.on_closed: Callable[[], None] = lambda: None
        self.on_room: Callable[[], None] = lambda: None
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._joined: _Joined | None = None
        self._unread_responses = 0  # bytes of responses since there was room
        self._held = self._planned = self._watching = False
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()
        mode = os.fstat(fd).st_mode
        # A terminal shares its flags with the shell, and a file never blocks: both stay unchanged.
        self._unblocked = (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and os.get_blocking(fd)
        if self._unblocked:
            os.set_blocking(fd, False)
        if not hasattr(select, "epoll"):
            self._hang_up = None
        else:
            epoll = select.epoll()
            try:
                epoll.register(self._fd, 0)
                self._loop.add_reader(epoll.fileno(), self._hung_up)
            except OSError:  # a file or a device cannot disconnect
                epoll.close()
                self._hang_up = None
            else:
                self._hang_up = epoll

    def _hung_up(self) -> None:
        self._stop_watching_for_hang_up()
        self._lost()

    def _stop_watching_for_hang_up(self) -> None:
        if self._hang_up is not None:
            self._loop.remove_reader(self._hang_up.fileno())
            self._hang_up.close()
            self._hang_up = None

    # --- sending

    def respond(self, response: wire.Response) -> None:
        line = _encode(response)
        self._unread_responses += len(line)
        self._send(line)

    def send_event(
        self,
        event: wire.ExtensionEvent
        | wire.McpState
        | wire.Asked
        | wire.ViewEvent
        | SwarmUpdate
        | SwarmEvent
        | TerminalEvent,
    ) -> None:
        """An event of an extension or of the front end; these cannot wait, so a client that never reads is dropped."""
        if len(self._buffer) > GIVE_UP_ABOVE:
            self._lost(f"the client left more than {GIVE_UP_ABOVE >> 20} MiB unread")
        self._send(_encode(event))

    def emit(self, event: ev.AgentEvent) -> None:
        """An event of the agent."""
        if isinstance(event, _DELTAS) and len(self._buffer) > MERGE_ABOVE:
            if self._joined is None or not self._joined.takes(event):
                if self._joined is not None:
                    self._seal()
                self._joined = _Joined(event)
            self._joined.add(event)
        elif (line := encode(event)) is not None:
            self._send(line)

    def _send(self, line: bytes) -> None:
        if self.closed:
            return
        if self._joined is not None:
            self._seal()
        self._buffer += line
        self._buffer += b"\n"
        self._empty.clear()
        if len(self._buffer) > MERGE_ABOVE:
            self._room.clear()
        if not (self._held or self._planned or self._watching):
            self._planned = True
            self._loop.call_soon(self.flush)

    def _seal(self) -> None:
        if self._joined is not None:
            self._buffer += self._joined.line()
            self._buffer += b"\n"
            self._joined = None

    # --- writing

    def begin_batch(self) -> None:
        """Gather lines until ``flush``: many responses in one write."""
        self._held = True

    def flush(self) -> None:
        """Write as much as the reader accepts; the rest follows later."""
        self._held = self._planned = False
        try:
            while self._buffer:
                del self._buffer[: os.write(self._fd, self._buffer)]
                if self._joined is not None and len(self._buffer) < ROOM_BELOW:
                    self._seal()
        except BlockingIOError:
            self._watch(True)
        except (BrokenPipeError, ConnectionResetError):
            self._lost()
        except OSError as error:
            self._lost(f"cannot write to stdout: {error.strerror or error}")
        else:
            self._watch(False)
        if len(self._buffer) < ROOM_BELOW:
            if self._unread_responses > RESPONSES_MAX:
                self._loop.call_soon(self.on_room)
            self._unread_responses = 0
            self._room.set()
        if not self._buffer:
            self._empty.set()

    def _watch(self, wanted: bool) -> None:
        if wanted and not self._watching:
            self._loop.add_writer(self._fd, self.flush)
        elif self._watching and not wanted:
            self._loop.remove_writer(self._fd)
        self._watching = wanted

    def _lost(self, failure: str = "") -> None:
        """No reader: drop waiting lines and report it once."""
        self._watch(False)
        self._buffer.clear()
        self._joined = None
        self._room.set()
        self._empty.set()
        if not self.closed:
            self.closed = True
            self.failure = failure
            self._loop.call_soon(self.on_closed)

    # --- backpressure

    @property
    def is_backlogged(self) -> bool:
        """True if too many responses are unread to read another command; ``on_room`` ends it."""
        return self._unread_responses > RESPONSES_MAX and not self.closed

    @property
    def has_room(self) -> bool:
        """True while little is unread."""
        return len(self._buffer) < MERGE_ABOVE

    async def wait_for_room(self) -> None:
        """Wait while too much is unread."""
        await self._room.wait()

    async def wait_until_flushed(self) -> None:
        """Wait until everything is written, or the reader is gone."""
        if self._buffer and not self._watching:
            self.flush()
        await self._empty.wait()

    def close(self) -> None:
        self._watch(False)
        self._stop_watching_for_hang_up()
        if self._unblocked:
            os.set_blocking(self._fd, True)


class _Joined:
    """Neighbouring deltas of one kind and tool call, merged to one line."""

    def __init__(self, first: _Delta) -> None:
        self._kind = type(first)
        self._id = "" if isinstance(first, _Text) else first.id
        self._replaces = isinstance(first, ev.ToolProgress) and first.replace
        self._newest: ev.ToolProgress | None = None
        self._texts: list[str] = []
        self._size = self._count = self._dropped = 0

    def takes(self, event: _Delta) -> bool:
        if type(event) is not self._kind or self._replaces != (isinstance(event, ev.ToolProgress) and event.replace):
            return False
        return isinstance(event, _Text) or event.id == self._id

    def add(self, event: _Delta) -> None:
        if isinstance(event, ev.ToolProgress) and event.replace:  # only the newest counts
            self._newest, self._size, self._count = event, len(event.text), self._count + 1
            return
        text = event.text if isinstance(event, ev.ToolProgress) else event.delta
        self._texts.append(text)
        self._size += len(text)
        self._count += 1
        if self._kind is ev.ToolProgress and self._size > 2 * PROGRESS_KEPT:
            tail = "".join(self._texts)[-PROGRESS_KEPT:]
            self._dropped += self._size - len(tail)
            self._texts, self._size = [tail], len(tail)

    def line(self) -> bytes:
        text, merged = "".join(self._texts), self._count if self._count > 1 else 0
        if self._kind is ev.TextDelta:
            return _encode(wire.TextDelta(delta=text, merged=merged))
        if self._kind is ev.ThinkingDelta:
            return _encode(wire.ThinkingDelta(delta=text, merged=merged))
        if self._kind is ev.ToolUseArgs:
            return _encode(wire.ToolUseArgs(id=self._id, delta=text, merged=merged))
        if (last := self._newest) is not None:
            return _encode(
                wire.ToolProgress(
                    id=self._id,
                    text=last.text,
                    merged=merged,
                    replace=True,
                    fraction=last.fraction,
                    view=last.view,
                    content=last.content,
                )
            )
        return _encode(wire.ToolProgress(id=self._id, text=text, merged=merged, dropped=self._dropped))


class Backpressure(Interceptor):
    """An interceptor that delays each turn and tool while the client has too much unread.
    Within a turn the answer is read to its end, because the provider would not wait; its deltas are merged instead."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def before_turn(self, step: int) -> TurnVerdict:
        await self._writer.wait_for_room()
        return TurnVerdict()

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        await self._writer.wait_for_room()
        return ToolVerdict()


# The one response of a command, now or later.


class PendingResponse:
    """Call it with the data, or ``fail`` with the reason; once."""

    __slots__ = ("_command", "_id", "_writer")

    def __init__(self, writer: Writer, command: Command) -> None:
        self._writer = writer
        self._id = command.id
        self._command = str(command.__struct_config__.tag)

    def __call__(self, data: Any = msgspec.UNSET) -> None:
        self._writer.respond(Response(id=self._id, command=self._command, success=True, data=data))

    def fail(self, error: str) -> None:
        self._writer.respond(Response(id=self._id, command=self._command, success=False, error=error))


async def respond_later(work: Awaitable[Any], reply: PendingResponse) -> None:
    """Respond later with the result of the work."""
    try:
        data = await work
    except (ZotError, OSError) as error:
        reply.fail(describe_error(error))
    else:
        reply(msgspec.UNSET if data is None else data)
