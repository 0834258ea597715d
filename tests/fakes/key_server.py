"""A provider that lists its models for some keys and rejects every other key with its own message."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD = "sk-good-0123456789"


class FakeKeyServer:
    """Use as a context manager. ``keys`` are the tested keys; ``refusal`` is the status of a rejection."""

    def __init__(self, *good: str) -> None:
        self.good = frozenset(good)
        self.keys: list[str] = []
        self.refusal = 401
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
                fake.keys.append(key)
                refused = {"error": {"message": f"no such key: {key}, ask the administrator"}}
                body = json.dumps({"data": []} if key in fake.good else refused).encode()
                self.send_response(200 if key in fake.good else fake.refusal)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeKeyServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
