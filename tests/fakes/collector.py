"""A real OpenTelemetry collector (rotel) that prints what it takes, and a small one of our own for its failures."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Rotel:
    """``spans`` are the spans it took so far, as dicts of what it printed."""

    def __init__(self, log: Path, url: str) -> None:
        self._log = log
        self.url = url

    @property
    def text(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def spans(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = []
        for block in re.split(r"^Span #\d+\n", self.text, flags=re.M)[1:]:
            block = block.split("\nResourceSpans")[0]
            head = re.findall(r"^ *(Trace ID|Parent ID|ID|Name|Kind|Status code)\s*: (.*)$", block, flags=re.M)
            attributes = re.findall(r"^ +-> ([\w.]+): \w+\((.*?)\)$", block, flags=re.M)
            found.append({**dict(head), **dict(attributes)})
        return found

    def wait_for(self, count: int) -> list[dict[str, str]]:
        deadline = time.monotonic() + 10
        while len(self.spans) < count and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.spans


@contextmanager
def rotel(directory: Path) -> Iterator[Rotel]:
    spec = find_spec("rotel")
    assert spec is not None and spec.origin is not None
    program, port, log = Path(spec.origin).with_name("rotel-agent"), free_port(), directory / "rotel.log"
    argv = [program, "start", "--otlp-http-endpoint", f"127.0.0.1:{port}", "--otlp-grpc-endpoint"]
    argv += [f"127.0.0.1:{free_port()}", "--exporter", "blackhole", "--debug-log", "traces", "--debug-log", "metrics"]
    with log.open("wb") as out:
        child = subprocess.Popen([*argv, "--debug-log-verbosity", "detailed"], stdout=out, stderr=out)
    try:
        _wait_for_port(port)
        yield Rotel(log, f"http://127.0.0.1:{port}")
    finally:
        child.kill()
        child.wait()


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the collector did not start")


class FakeCollector:
    """Answers with ``status`` after ``delay_s``; keeps the requests."""

    def __init__(self, status: int = 200, delay_s: float = 0.0) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.requests.append((self.path, dict(self.headers), json.loads(body)))
                time.sleep(delay_s)
                answer = b'{"message": "no such tenant"}' if status >= 400 else b"{}"
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeCollector:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def spans(self) -> list[dict[str, Any]]:
        bodies = [body for path, _, body in self.requests if path.endswith("/v1/traces")]
        return [
            span
            for body in bodies
            for resource in body["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]
