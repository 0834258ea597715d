"""A scripted model server on a real loopback socket, in its own thread, speaking every dialect by path.

``POST …/messages`` is Anthropic's, ``…/chat/completions`` and ``…/responses`` OpenAI's, ``…:streamGenerateContent``
Google's, ``…/converse-stream`` Amazon's; ``GET …/models`` lists ``models``; ``GET /_timings`` gives ``timings`` as
JSON. Each POST takes the next turn; when none is left, the last one is given again with ``repeat=True``, else the
answer is http 500 "script exhausted". As a program::

    python -m tests.fakes.model_server --port 0 --script FILE

where FILE is ``{"turns": [{"text": …} | {"tool_calls": [{"name", "args"}], "text": …} | {"tokens": N} |
{"error": {"status", "message"}}], "repeat": true}``; it prints its address on one line and serves until killed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

import msgspec

from tests.fakes.model_turns import (
    CallTools,
    Cut,
    CutBeforeHeaders,
    Held,
    Raw,
    Refuse,
    Say,
    SeenRequest,
    Silent,
    Slow,
    Stop,
    StreamError,
    Turn,
    TurnSource,
)
from tests.fakes.model_wire import WireDialect, content_type, dialect_of, events

__all__ = [
    "CallTools",
    "Cut",
    "CutBeforeHeaders",
    "FakeModelServer",
    "Held",
    "Raw",
    "Refuse",
    "Say",
    "SeenRequest",
    "Silent",
    "Slow",
    "Stop",
    "StreamError",
    "Timing",
    "Turn",
]

_SLICE = 256 * 1024


class Timing(NamedTuple):
    """Monotonic times of a request's first byte and of its answer's last byte (0 until it is sent)."""

    first_byte: float
    last_byte: float


class _Answer(NamedTuple):
    """A turn resolved for one request."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)
    chunks: tuple[bytes, ...] = ()
    stop_after: int | None = None  # body bytes; then the connection is cut, or falls silent
    silent: bool = False
    before_headers: bool = False
    delay_s: float | None = 0.0  # before each event, or before those with one of the texts; None: until `go_on`
    held: tuple[bytes, ...] = (b"",)


class FakeModelServer:
    """Use as a context manager. ``requests`` and ``timings`` grow as it serves; ``connections`` counts sockets."""

    def __init__(
        self,
        turns: Sequence[TurnSource] = (),
        *,
        repeat: bool = False,
        models: Sequence[str] = ("fake-model",),
        window: int = 0,
        port: int = 0,
    ) -> None:
        self.requests: list[SeenRequest] = []
        self.timings: list[Timing] = []
        self.connections = 0
        self.url = ""
        self._turns = list(turns)
        self._repeat = repeat
        self._models = models
        self._window = window  # as llama.cpp tells it; 0 tells none
        self._port = port
        # Keyed by identity; the value holds the object, so that its identity stays its own.
        self._encoded: dict[tuple[int, WireDialect, str], tuple[Turn, tuple[bytes, ...]]] = {}
        self._framed: dict[int, tuple[tuple[bytes, ...], bytes]] = {}
        self._handlers: set[asyncio.Task[Any]] = set()
        self._closed_by_client = threading.Event()
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._go_on = asyncio.Semaphore(0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> FakeModelServer:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the fake model server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def add(self, *turns: TurnSource) -> None:
        """More turns, while it serves."""
        self._turns.extend(turns)

    def go_on(self) -> None:
        """The event that is held back may come."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._go_on.release)

    def wait_for_requests(self, count: int = 1, timeout: float = 20) -> None:
        """Until so many requests have arrived: only then has the script advanced."""
        deadline = time.monotonic() + timeout
        while len(self.requests) < count:
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(self.requests)} of {count} requests came")
            time.sleep(0.005)

    def wait_until_client_closes(self, timeout: float = 10) -> bool:
        """Whether a client closed a connection in the middle of an answer (Silent, Slow) within the time."""
        return self._closed_by_client.wait(timeout)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, limit=1 << 20)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self._closed_by_client.set()
        except asyncio.CancelledError:
            writer.transport.abort()  # the server stops
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether another may follow on the connection."""
        first = await reader.read(1)
        if not first:
            return False
        began = time.monotonic()
        seen = await _read_request(reader, first)
        if seen.path == "/_timings":
            return await self._write(_document([list(t) for t in self.timings]), reader, writer)
        if seen.path == "/props":  # whether it is a llama.cpp server: it is none, and no test counts the question
            return await self._write(_document({}, 404), reader, writer)
        self.requests.append(seen)
        number = len(self.timings)
        self.timings.append(Timing(began, 0.0))
        try:
            return await self._write(self._answer(seen), reader, writer)
        finally:
            self.timings[number] = Timing(began, time.monotonic())

    def _answer(self, seen: SeenRequest) -> _Answer:
        if seen.method == "GET" and seen.path.partition("?")[0].endswith("/models"):
            return _model_list(self._models, self._window, anthropic="anthropic-version" in seen.headers)
        if "sec-websocket-key" in seen.headers:  # Codex tries one first; this answer ends it without a retry
            return _document({"error": {"message": "no WebSocket here"}}, 426)
        dialect = dialect_of(seen.path)
        if seen.method != "POST" or dialect is None:
            return _document({"error": {"message": f"no such path: {seen.method} {seen.path}"}}, 404)
        if not self._turns:
            return _document({"error": {"type": "api_error", "message": "script exhausted"}}, 500)
        source = self._turns[0] if self._repeat and len(self._turns) == 1 else self._turns.pop(0)
        model = cast("dict[str, Any]", seen.json).get("model", "") if isinstance(seen.json, dict) else ""
        return self._resolve(source(seen) if callable(source) else source, dialect, str(model))

    def _resolve(self, turn: Turn, dialect: WireDialect, model: str) -> _Answer:
        match turn:
            case Refuse():
                return _refusal(turn)
            case Raw():
                return _Answer(turn.status, tuple(turn.headers.items()), tuple(turn.chunks))
            case Cut():
                return self._resolve(turn.turn, dialect, model)._replace(stop_after=turn.after_bytes)
            case Silent():
                answer = self._resolve(turn.turn, dialect, model)
                return answer._replace(stop_after=turn.after_bytes, silent=True)
            case CutBeforeHeaders():
                return _Answer(before_headers=True)
            case Slow():
                return self._resolve(turn.turn, dialect, model)._replace(delay_s=turn.delay_s)
            case Held():
                return self._resolve(turn.turn, dialect, model)._replace(delay_s=turn.delay_s, held=turn.before)
            case _:
                kind = ("content-type", content_type(dialect))
                return _Answer(headers=(kind,), chunks=self._events(turn, dialect, model))

    def _events(
        self, turn: Say | CallTools | Stop | StreamError, dialect: WireDialect, model: str
    ) -> tuple[bytes, ...]:
        """Encoded once for each turn: a long answer is given many times in a measurement."""
        key = (id(turn), dialect, model)
        if key not in self._encoded:
            self._encoded[key] = (turn, tuple(events(dialect, turn, model)))
        return self._encoded[key][1]

    async def _write(self, answer: _Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if answer.before_headers:
            return False
        head = [f"HTTP/1.1 {answer.status} {'OK' if answer.status == 200 else 'Scripted'}"]
        head += [f"{name}: {value}" for name, value in answer.headers]
        writer.write(("\r\n".join([*head, "transfer-encoding: chunked"]) + "\r\n\r\n").encode("latin-1"))
        await self._write_body(answer, writer)
        await writer.drain()
        if answer.silent:
            await reader.read()
            self._closed_by_client.set()
        return answer.stop_after is None

    async def _write_body(self, answer: _Answer, writer: asyncio.StreamWriter) -> None:
        chunks = answer.chunks if answer.stop_after is None else _first_bytes(answer.chunks, answer.stop_after)
        end = b"0\r\n\r\n" if answer.stop_after is None else b""
        if answer.delay_s != 0:
            for chunk in chunks:
                if any(text in chunk for text in answer.held):
                    await (self._go_on.acquire() if answer.delay_s is None else asyncio.sleep(answer.delay_s))
                writer.write(_frame(chunk))
                await writer.drain()
            writer.write(end)
            return
        framed = self._framed_chunks(chunks) + end
        for start in range(0, len(framed), _SLICE):
            writer.write(framed[start : start + _SLICE])
            await writer.drain()

    def _framed_chunks(self, chunks: tuple[bytes, ...]) -> bytes:
        """Every event as its own HTTP chunk in one buffer; cached for long answers."""
        if len(chunks) < 1000:
            return b"".join(map(_frame, chunks))
        if id(chunks) not in self._framed:
            self._framed[id(chunks)] = (chunks, b"".join(map(_frame, chunks)))
        return self._framed[id(chunks)][1]


def _frame(chunk: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunk else b""


def _first_bytes(chunks: tuple[bytes, ...], size: int) -> tuple[bytes, ...]:
    kept: list[bytes] = []
    for chunk in chunks:
        kept.append(chunk[:size])
        size -= len(kept[-1])
    return tuple(kept)


def _document(value: Any, status: int = 200) -> _Answer:
    return _Answer(status, (("content-type", "application/json"),), (msgspec.json.encode(value),))


def _refusal(turn: Refuse) -> _Answer:
    match turn.body:
        case dict():
            body = msgspec.json.encode(turn.body)
        case str():
            body = turn.body.encode()
        case _:
            body = turn.body
    headers = {"content-type": "application/json", **turn.headers}
    return _Answer(turn.status, tuple(headers.items()), (body,))


def _model_list(models: Sequence[str], window: int, *, anthropic: bool) -> _Answer:
    if anthropic:
        rows = [{"type": "model", "id": m, "display_name": m, "created_at": "2026-01-01T00:00:00Z"} for m in models]
        return _document({"data": rows, "has_more": False, "first_id": models[0], "last_id": models[-1]})
    meta = {"meta": {"n_ctx": window, "n_ctx_train": 2 * window}} if window else {}
    rows = [{"id": m, "object": "model", "owned_by": "fake", **meta} for m in models]
    return _document({"object": "list", "data": rows})


async def _read_request(reader: asyncio.StreamReader, first: bytes) -> SeenRequest:
    head = first + await reader.readuntil(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = line.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    try:
        decoded = msgspec.json.decode(body) if body else None
    except msgspec.DecodeError:
        decoded = None
    return SeenRequest(method, path, headers, body, decoded)


def turns_of(script: dict[str, Any]) -> list[Turn]:
    """The turns of a script file."""
    return [_turn_of(turn) for turn in script["turns"]]


def _turn_of(turn: dict[str, Any]) -> Turn:
    if "tokens" in turn:
        return Say(deltas=("word ",) * turn["tokens"], usage=(10, turn["tokens"]))
    if "error" in turn:
        error = turn["error"]
        return Refuse(error.get("status", 500), {"error": {"type": "api_error", "message": error.get("message", "")}})
    if "tool_calls" in turn:
        return CallTools([(call["name"], call.get("args", {})) for call in turn["tool_calls"]], turn.get("text", ""))
    return Say(turn["text"])


def main() -> None:
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(prog="python -m tests.fakes.model_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    options = parser.parse_args()
    script = msgspec.json.decode(options.script.read_bytes())
    with FakeModelServer(turns_of(script), repeat=script.get("repeat", False), port=options.port) as server:
        print(server.url, flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
