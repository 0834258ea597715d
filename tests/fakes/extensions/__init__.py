"""Small real extensions for the tests: a directory with a manifest and a program, run as a child process.

A Python body follows ``PRELUDE``: ``hello()``, ``send(type=…)``, ``raw(bytes)``, ``serve(tool_call=handler, …)``. Every
line the host writes is kept in ``seen.jsonl`` beside the manifest.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PRELUDE = """\
import json, os, signal, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = json.load(open(os.path.join(HERE, "extension.json")))["name"]


def raw(data):
    while data:
        data = data[os.write(1, data):]


def send(**frame):
    raw(json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode() + b"\\n")


def hello(*capabilities, name=NAME):
    send(type="hello", name=name, version="1", capabilities=list(capabilities))


def tool(name, **more):
    send(type="register_tool", **{"name": name, "description": name, "schema": {"type": "object"}, **more})


def subscribe(events=(), intercept=()):
    send(type="subscribe", events=list(events), intercept=list(intercept))


def ready():
    send(type="ready")


def text(id, text, **more):
    send(type="tool_result", id=id, content=[{"type": "text", "text": text}], **more)


def answer(frame, **more):
    send(type="event_intercept_response", id=frame["id"], **more)


def frames():
    for line in sys.stdin.buffer:
        with open(os.path.join(HERE, "seen.jsonl"), "ab") as file:
            file.write(line)
        yield json.loads(line)


def serve(**handlers):
    for frame in frames():
        if frame["type"] in handlers:
            handlers[frame["type"]](frame)
        if frame["type"] == "shutdown":
            break

"""


def write_extension(
    parent: Path, name: str, body: str = "hello(); ready(); serve()", *, program: str = "python", **manifest: Any
) -> Path:
    """Make the extension ``parent/name``; ``program`` is ``python`` or ``sh``."""
    directory = parent / name
    directory.mkdir(parents=True, exist_ok=True)
    if program == "python":
        (directory / "main.py").write_text(PRELUDE + body)
        run: dict[str, Any] = {"exec": sys.executable, "args": ["-S", "main.py"]}
    else:
        (directory / "main.sh").write_text(body)
        run = {"exec": "/bin/sh", "args": ["main.sh"]}
    (directory / "extension.json").write_text(json.dumps({"name": name, **run, **manifest}))
    return directory


def seen(directory: Path) -> list[dict[str, Any]]:
    """The frames the host has sent so far."""
    file = directory / "seen.jsonl"
    return [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []


def seen_of(directory: Path, type: str) -> list[dict[str, Any]]:
    return [frame for frame in seen(directory) if frame["type"] == type]


def events_seen(directory: Path) -> list[str]:
    return [frame["event"] for frame in seen_of(directory, "event")]
