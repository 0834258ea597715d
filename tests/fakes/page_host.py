"""A server that has the page and sends it what a test or benchmark says: no conversation, no model, exact times."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any

from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from zot.frontends.serve.static_files import DIRECTORY, FILES

PATIENCE_S = 20.0
STATE = {
    **{"provider": "fake", "model": "m", "cwd": "/project", "message_count": 0, "busy": False, "todos": []},
    "usage": {"input": 0, "output": 0, "reasoning": 0, "cache_read": 0, "cache_write": 0, "cost_usd": 0.0},
    **{"permission_mode": "ask", "jail": None, "context_tokens": 1000, "context_window": 200_000, "reasoning": "off"},
}


class PageHost:
    """``messages`` by conversation. ``send`` gives frames to the page that joined last."""

    def __init__(self, messages: dict[str, Sequence[dict[str, Any]]]) -> None:
        self._messages = messages
        self._joined = threading.Condition()
        self._connection: ServerConnection | None = None
        self._seq = 0
        self._server: Server = serve(
            *(self._visited, "127.0.0.1", 0),
            process_request=self._file,
            subprotocols=[Subprotocol("zot-serve.1")],
            compression=None,
            max_size=None,
        )
        self.address = f"http://127.0.0.1:{self._server.socket.getsockname()[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> PageHost:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()

    def send(self, frames: Iterable[dict[str, Any]], every_s: float = 0.0) -> None:
        """One after the other, at an even pace."""
        with self._joined:
            assert self._joined.wait_for(lambda: self._connection is not None, PATIENCE_S)
            connection = self._connection
        assert connection is not None
        began = time.monotonic()
        for number, frame in enumerate(frames):
            if every_s and (early := began + number * every_s - time.monotonic()) > 0:
                time.sleep(early)
            self._seq += 1
            connection.send(json.dumps({"seq": self._seq, **frame}))

    # --- answers

    def _file(self, connection: ServerConnection, request: Request) -> Response | None:
        path = request.path.partition("?")[0]
        if path == "/rpc":
            return None
        if path in FILES:
            name, kind = FILES[path]
            return _response(kind, (DIRECTORY / name).read_bytes())
        rows = [{"conversation": name, "cwd": f"/{name}", "title": name} for name in self._messages]
        answers: dict[str, Any] = {
            "/conversations": {"conversations": rows, "directory": "/project", "version": "0"},
            "/sessions": {"sessions": [], "more": False},
            "/theme": {"light": {}, "dark": {}},
        }
        return _response("application/json", json.dumps(answers.get(path, {})).encode())

    def _visited(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        name = connection.request.path.partition("conversation=")[2].partition("&")[0]
        client = {"client": "client-1", "device": "browser"}
        welcome = {
            **{"type": "welcome", "conversation": name, "cwd": f"/{name}", "run": "run", "seq": self._seq},
            **{"missed": False, "client": "client-1", "driver": "client-1", "clients": [client], "open": []},
        }
        connection.send(json.dumps(welcome))
        with self._joined:
            self._connection = connection
            self._joined.notify_all()
        for line in connection:
            connection.send(json.dumps(self._answer(json.loads(line), name)))

    def _answer(self, command: dict[str, Any], name: str) -> dict[str, Any]:
        kind = command["type"]
        answer = {"type": "response", "id": command["id"], "command": kind, "success": True}
        match kind:
            case "get_state":
                return {**answer, "data": STATE}
            case "get_messages":
                return {**answer, "data": {"messages": self._messages.get(name, [])}}
            case "get_commands":
                return {**answer, "data": {"commands": []}}
            case "get_queue":
                return {**answer, "data": {"steering": [], "queued": []}}
            case "ping":
                return {**answer, "data": {"pong": True}}
            case _:
                return {**answer, "success": False, "error": f"unknown command: {kind}"}


def _response(kind: str, body: bytes) -> Response:
    headers = Headers({"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"})
    return Response(HTTPStatus.OK, "OK", headers, body)
