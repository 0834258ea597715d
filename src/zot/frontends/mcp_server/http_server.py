"""Streamable HTTP: one address for all messages. An answer is JSON, or a stream of events once there is more to say.
A client that disconnects has given up its request: the work ends."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from typing import Any

import msgspec

from zot.errors import ZotError
from zot.features.mcp.protocol import CLASSIC, MODERN
from zot.frontends.json_rpc import (
    INTERNAL,
    INVALID_REQUEST,
    NO_METHOD,
    PARSE_ERROR,
    Id,
    Params,
    RpcError,
    as_object,
)
from zot.frontends.mcp_server.engine import Engine
from zot.frontends.mcp_server.exchange import ClientFacts, Rejected
from zot.frontends.mcp_server.http_requests import (
    HEAD_LIMIT,
    PATHS,
    STREAM_HEAD,
    HttpRefused,
    HttpRequest,
    check_headers,
    check_origin,
    read_body,
    read_head,
    response,
)
from zot.system.background_tasks import BackgroundTasks

MOST_CONNECTIONS = 64
MOST_SESSIONS = 64
_BODY_S = 30.0
_IDLE_S = 300.0
_LOOK_S = 0.2  # between looks at whether the client has gone
_STREAM_AFTER_S = 5.0  # a client waits longer for events than for headers
_ALIVE_S = 15.0
_UNREAD = 8 * 1024 * 1024  # bytes; then a client gets no more progress
_JSON = ("content-type", "application/json")


class _Message(msgspec.Struct):
    method: str | msgspec.UnsetType = msgspec.UNSET
    id: int | str | msgspec.UnsetType | None = msgspec.UNSET
    params: Any = None
    result: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Message).decode
_encode = msgspec.json.Encoder().encode


class _Session:
    """A stateful client."""

    def __init__(self, client: ClientFacts) -> None:
        self.id = secrets.token_urlsafe(24)
        self.client = client
        self.open: dict[Id, asyncio.Task[Params]] = {}
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self._count = 0

    def next_id(self) -> int:
        self._count += 1
        return self._count

    def end(self) -> None:
        for task in self.open.values():
            task.cancel()


class _Stream:
    """The outlet of one request: the first message opens an event stream."""

    def __init__(self, writer: asyncio.StreamWriter, session: _Session | None, *, can_stream: bool) -> None:
        self._writer = writer
        self._session = session
        self._can_stream = can_stream
        self._last = time.monotonic()
        self.is_open = False

    def notify(self, method: str, params: Params) -> None:
        if self._can_stream and self._writer.transport.get_write_buffer_size() < _UNREAD:
            self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Params) -> Any:
        session = self._session
        if session is None or not self._can_stream:
            raise RpcError(INTERNAL, "the client does not accept an event stream, so it cannot be asked")
        number = session.next_id()
        future = session.waiting[number] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await future
        finally:
            del session.waiting[number]

    def send(self, message: Any) -> None:
        self.open()
        self._writer.write(b"event: message\ndata: " + _encode(message) + b"\n\n")
        self._last = time.monotonic()

    def open(self) -> None:
        if not self.is_open:
            self.is_open = True
            self._writer.write(STREAM_HEAD + b"\r\n")

    def stay_alive(self, since: float) -> None:
        now = time.monotonic()
        if self._can_stream and not self.is_open and now - since > _STREAM_AFTER_S:
            self.open()
        elif self.is_open and now - self._last > _ALIVE_S:
            self._writer.write(b": still working\n\n")
            self._last = now


class HttpServer:
    """``token``: required of every request; without one only programs of this machine may connect."""

    def __init__(self, engine: Engine, token: str = "") -> None:
        self._engine = engine
        self._token = token
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._visits: set[asyncio.Task[Any]] = set()
        self._work = BackgroundTasks()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        try:
            self._server = await asyncio.start_server(self._visited, host, port, limit=HEAD_LIMIT)
        except OSError as error:
            raise ZotError(f"cannot listen on {host}:{port}: {error.strerror or error}; choose another port") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        for visit in list(self._visits):
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)
        await self._work.aclose()

    # --- connections

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        try:
            if len(self._visits) > MOST_CONNECTIONS:
                writer.write(response(503, b"too many connections\n", ends=True))
                return
            while await self._serve_one(reader, writer):
                await writer.drain()
        except HttpRefused as refused:
            writer.write(response(refused.status, f"{refused}\n".encode(), *refused.headers, ends=True))
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError):
            pass
        finally:
            self._visits.discard(task)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """True if the connection stays open."""
        async with asyncio.timeout(_IDLE_S):
            request = await read_head(reader)
        if request is None:
            return False
        check_origin(request, self.port, self._token)
        if request.path not in PATHS:
            raise HttpRefused(404, f"the address is http://HOST:{self.port}{PATHS[0]}")
        if request.method == "DELETE":
            writer.write(response(self._delete(request)))
            return request.keeps_alive
        if request.method != "POST":
            raise HttpRefused(405, "send messages with POST", ("allow", "POST, DELETE"))
        async with asyncio.timeout(_BODY_S):
            request = await read_body(request, reader)
        return await self._post(request, reader, writer) and request.keeps_alive

    def _delete(self, request: HttpRequest) -> int:
        session = self._sessions.pop(request.headers.get("mcp-session-id", ""), None)
        if session is None:
            return 404
        session.end()
        return 204

    # --- messages

    async def _post(self, request: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        try:
            message = _decode(request.body)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            code = INVALID_REQUEST if isinstance(error, msgspec.ValidationError) else PARSE_ERROR
            writer.write(_refusal(None, Rejected(code, f"not a JSON-RPC message: {error}"), 400))
            return True
        id = None if message.id is msgspec.UNSET else message.id
        try:
            if message.method is msgspec.UNSET or message.id is msgspec.UNSET:
                self._heard(request, message)
                writer.write(response(202))
                return True
            if id is None:
                raise Rejected(INVALID_REQUEST, "id None: it is null")
            return await self._request(request, id, message.method, as_object(message.params), reader, writer)
        except Rejected as error:
            writer.write(_refusal(id, error, 400))
            return True

    def _heard(self, request: HttpRequest, message: _Message) -> None:
        """A notification, or the answer to a question. Those of stateless clients mean nothing here."""
        if "mcp-session-id" not in request.headers:
            return
        session = self._session(request)
        if message.method == "notifications/cancelled":
            wanted: Any = as_object(message.params).get("requestId")
            if isinstance(wanted, int | str) and (task := session.open.get(wanted)) is not None:
                task.cancel()
        elif message.method is msgspec.UNSET and isinstance(message.id, int):
            future = session.waiting.get(message.id)
            if future is None or future.done():
                return
            if message.error is not None:
                text = str(as_object(message.error).get("message", "refused"))[:500]
                future.set_exception(RpcError(INTERNAL, text))
            else:
                future.set_result(message.result)

    def _session(self, request: HttpRequest) -> _Session:
        id = request.headers.get("mcp-session-id", "")
        if not id:
            raise Rejected(INVALID_REQUEST, "the header Mcp-Session-Id is missing; send `initialize` first")
        session = self._sessions.get(id)
        if session is None:
            raise HttpRefused(404, "unknown session: send `initialize` again")
        version = request.headers.get("mcp-protocol-version", CLASSIC[0])
        if version not in CLASSIC:
            raise Rejected(INVALID_REQUEST, f"unsupported protocol version {version[:40]!r}")
        self._sessions.move_to_end(id)
        return session

    async def _request(
        self,
        request: HttpRequest,
        id: int | str,
        method: str,
        params: Params,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        version = request.headers.get("mcp-protocol-version", "")
        is_modern = version in MODERN or self._engine.is_modern(params)
        if not is_modern and method == "initialize":
            self._begin(id, params, writer)
            return True
        session: _Session | None = None
        if is_modern:
            client = self._modern_client(request, method, params)
        else:
            session = self._session(request)
            client = session.client
            if id in session.open:
                raise Rejected(INVALID_REQUEST, f"id {id!r}: another request has it")
        stream = _Stream(writer, session, can_stream=request.accepts_stream)
        task = self._work.start(self._engine.serve(client, stream, method, params))
        if session is not None:
            session.open[id] = task
        try:
            await self._wait(task, stream, reader, writer)
        finally:
            if session is not None:
                session.open.pop(id, None)
        return await self._answer(id, task, stream, writer, is_modern=is_modern)

    def _modern_client(self, request: HttpRequest, method: str, params: Params) -> ClientFacts:
        """The version may be unknown, but header and message must agree about it."""
        if self._engine.is_modern(params):
            check_headers(request, method, params)
        return self._engine.modern_client(params)

    def _begin(self, id: int | str, params: Params, writer: asyncio.StreamWriter) -> None:
        client, result = self._engine.initialize(params)
        session = _Session(client)
        self._sessions[session.id] = session
        while len(self._sessions) > MOST_SESSIONS:
            _, oldest = self._sessions.popitem(last=False)
            oldest.end()
        body = _encode({"jsonrpc": "2.0", "id": id, "result": result})
        writer.write(response(200, body, _JSON, ("mcp-session-id", session.id)))

    async def _wait(
        self, task: asyncio.Task[Params], stream: _Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Until the work is done; it is cancelled if the client has gone."""
        began = time.monotonic()
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK_S)
                if reader.at_eof() or writer.is_closing():
                    break
                stream.stay_alive(began)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _answer(
        self, id: Id, task: asyncio.Task[Params], stream: _Stream, writer: asyncio.StreamWriter, *, is_modern: bool
    ) -> bool:
        if task.cancelled():
            if not stream.is_open:
                writer.write(response(202, ends=True))
            return False
        error = task.exception()
        if error is None:
            body: Params = {"jsonrpc": "2.0", "id": id, "result": task.result()}
        else:
            body = _error_of(id, error)
        if stream.is_open:
            stream.send(body)
            await writer.drain()
            return False
        writer.write(response(_status(error, is_modern=is_modern), _encode(body), _JSON))
        return True


def _status(error: BaseException | None, *, is_modern: bool) -> int:
    if isinstance(error, Rejected):
        return 400
    return 404 if is_modern and isinstance(error, RpcError) and error.code == NO_METHOD else 200


def _error_of(id: Id, error: BaseException) -> Params:
    given: Params = {"code": INTERNAL, "message": f"{type(error).__name__}: {error}"}
    if isinstance(error, RpcError):
        given = {"code": error.code, "message": str(error)}
        given |= {} if error.data is None else {"data": error.data}
    return {"jsonrpc": "2.0", "id": id, "error": given}


def _refusal(id: Id, error: Rejected, status: int) -> bytes:
    return response(status, _encode(_error_of(id, error)), _JSON)
