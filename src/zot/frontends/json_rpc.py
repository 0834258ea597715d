"""JSON-RPC 2.0 over lines: one peer reads and writes; requests go both ways.
A client that does not read makes updates wait and in the end disconnects; it never fills the memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec

from zot.errors import ZotError
from zot.system.background_tasks import BackgroundTasks
from zot.wire.line_splitter import LineSplitter

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
AUTH_REQUIRED, NOT_FOUND, CANCELLED = -32000, -32002, -32800

MAX_LINE = 32 * 1024 * 1024
BACKLOG = 1024 * 1024  # bytes; above it the agent waits
GIVE_UP = 64 * 1024 * 1024
_READ = 64 * 1024

Id = int | str | None
Params = dict[str, Any]


def as_object(value: object) -> dict[str, Any]:
    """The object of a message, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


class RpcError(ZotError):
    """An error answer, of the client or for it."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class _Line(msgspec.Struct):
    method: str | msgspec.UnsetType = msgspec.UNSET
    id: int | str | msgspec.UnsetType | None = msgspec.UNSET
    params: Any = None
    result: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Line).decode
_encode = msgspec.json.Encoder().encode

Handler = Callable[[str, Params], Awaitable[Any]]


class Peer:
    """``on_request`` answers requests, ``on_notification`` takes notifications. ``early`` was read before."""

    def __init__(self, on_request: Handler, on_notification: Callable[[str, Params], None], early: bytes = b"") -> None:
        self._early = early
        self._on_request = on_request
        self._on_notification = on_notification
        self._lines = LineSplitter(MAX_LINE)
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._serving: dict[Id, asyncio.Task[Any]] = {}
        self._tasks = BackgroundTasks()
        self._count = 0
        self._out = bytearray()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = asyncio.Event()
        self._writing = self._polled = False
        self.reason = ""  # why the connection was given up

    # --- sending

    def notify(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any) -> Any:
        """The client's result; RpcError if it refuses or has gone. Cancelling tells the client."""
        self._count += 1
        number = self._count
        future = self._waiting[number] = self._loop.create_future()
        if self._ended.is_set():
            future.set_exception(_gone())
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await future
        except asyncio.CancelledError:
            self.notify("$/cancel_request", {"requestId": number})
            raise
        finally:
            del self._waiting[number]

    def notify_request(self, method: str, params: Any) -> None:
        """A request whose answer does not matter."""
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})

    async def wait_for_room(self) -> None:
        """Until the client has read enough, or has gone."""
        await self._room.wait()

    @property
    def is_backlogged(self) -> bool:
        return not self._room.is_set()

    def _send(self, message: Any) -> None:
        if self._ended.is_set():
            return
        try:
            line = _encode(message)
        except UnicodeEncodeError:  # names of files may not be UTF-8
            from zot.wire.extension_codec import well_formed

            line = _encode(well_formed(msgspec.to_builtins(message)))
        self._out += line + b"\n"
        if len(self._out) > GIVE_UP:
            self.end(f"the client left more than {GIVE_UP >> 20} MiB unread")
            return
        if not self._writing:
            self._write()

    def _write(self) -> None:
        try:
            while self._out:
                del self._out[: os.write(1, memoryview(self._out)[:_READ])]
        except BlockingIOError:
            if not self._writing:
                self._writing = True
                self._loop.add_writer(1, self._write)
        except OSError:
            self.end()
            return
        else:
            if self._writing:
                self._loop.remove_writer(1)
            self._writing = False
        if len(self._out) > BACKLOG:
            self._room.clear()
        else:
            self._room.set()

    # --- receiving

    async def run(self) -> None:
        """Serve until the client closes its end."""
        blocking = {fd: os.get_blocking(fd) for fd in (0, 1)}  # a terminal or pipe may be shared with the shell
        try:
            for fd in blocking:
                os.set_blocking(fd, False)
            await self._serve_lines()
        finally:
            for fd, before in blocking.items():
                os.set_blocking(fd, before)

    async def _serve_lines(self) -> None:
        self._feed(self._early)
        try:
            self._loop.add_reader(0, self._read)
            self._polled = True
        except PermissionError:  # a file
            self._loop.call_soon(self._read_file)
        await self._ended.wait()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_gone())
        await self._tasks.aclose()

    def end(self, reason: str = "") -> None:
        if self._ended.is_set():
            return
        self.reason = reason
        if self._polled:
            self._loop.remove_reader(0)
        if self._writing:
            self._loop.remove_writer(1)
        self._room.set()
        self._ended.set()

    def _read_file(self) -> None:
        self._read()
        if not self._ended.is_set():
            self._loop.call_soon(self._read_file)

    def _read(self) -> None:
        try:
            data = os.read(0, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._take(self._lines.rest())
            self.end()
            return
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if line is None:
                self._fail(None, INVALID_REQUEST, f"a line longer than {MAX_LINE >> 20} MiB")
                self.end("the client sent a line that is too long")
            elif not self._ended.is_set():
                self._take(line)

    def _take(self, line: bytes) -> None:
        if not (line := line.strip()):
            return
        try:
            message = _decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            code = INVALID_REQUEST if isinstance(error, msgspec.ValidationError) else PARSE_ERROR
            self._fail(None, code, f"not a JSON-RPC message: {error}")
            return
        params = as_object(message.params)
        if message.method is msgspec.UNSET:
            self._answered(message)
        elif message.id is msgspec.UNSET:
            self._notified(message.method, params)
        else:
            task = self._tasks.start(self._serve(message.id, message.method, params))
            self._serving[message.id] = task

    def _answered(self, message: _Line) -> None:
        future = self._waiting.get(message.id) if isinstance(message.id, int) else None
        if future is None or future.done():
            return
        if message.error is None:
            future.set_result(message.result)
            return
        fields = as_object(message.error)
        code, text = fields.get("code"), str(fields.get("message", message.error))
        future.set_exception(RpcError(code if isinstance(code, int) else INTERNAL, text))

    def _notified(self, method: str, params: Params) -> None:
        if method == "$/cancel_request":
            id: Any = params.get("requestId")
            task = self._serving.get(id) if isinstance(id, int | str) else None
            if task is not None:
                task.cancel()
            return
        self._on_notification(method, params)

    async def _serve(self, id: Id, method: str, params: Params) -> None:
        try:
            result = await self._on_request(method, params)
        except asyncio.CancelledError:
            self._fail(id, CANCELLED, "cancelled")
            raise
        except RpcError as error:
            self._fail(id, error.code, str(error), error.data)
        except ZotError as error:
            self._fail(id, INTERNAL, str(error))
        except Exception as error:
            self._fail(id, INTERNAL, f"{type(error).__name__}: {error}")
        else:
            self._send({"jsonrpc": "2.0", "id": id, "result": result})
        finally:
            self._serving.pop(id, None)

    def _fail(self, id: Id, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        self._send({"jsonrpc": "2.0", "id": id, "error": error})


def _gone() -> RpcError:
    return RpcError(CANCELLED, "the client has disconnected")
