"""Helpers for tests of ``zot ext``: extensions in the places it searches, and its output."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot

RAW = """\
import json, pathlib, sys
pathlib.Path("started").touch()
print(json.dumps({"type": "hello", "name": "x"}), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello_ack":
        print(json.dumps({"type": "register_command", "name": "shared"}))
        print(json.dumps({"type": "register_tool", "name": "bash", "schema": {"type": "object"}}))
        print(json.dumps({"type": "ready"}), flush=True)
    if frame["type"] == "shutdown":
        break
"""


def extension(directory: Path, /, **fields: Any) -> Path:
    directory.mkdir(parents=True)
    (directory / "main.py").write_text(RAW)
    manifest = {"name": directory.name, "exec": sys.executable, "args": ["main.py"], **fields}
    (directory / "extension.json").write_text(json.dumps({k: v for k, v in manifest.items() if v is not None}))
    return directory


def installed(zot: Zot, folder: str, /, **fields: Any) -> Path:
    return extension(zot.home / "zot" / "extensions" / folder, **fields)


def in_project(zot: Zot, folder: str, /, **fields: Any) -> Path:
    return extension(zot.project / ".zot" / "extensions" / folder, **fields)


def left(zot: Zot) -> list[str]:
    """Entries of the user's extensions directory."""
    place = zot.home / "zot" / "extensions"
    return sorted(os.listdir(place)) if place.exists() else []


def untrusted(zot: Zot) -> list[str]:
    lines = zot("ext", "doctor").out.splitlines()
    if "not trusted, not started:" not in lines:
        return []
    start = lines.index("not trusted, not started:") + 1
    return [line.strip() for line in lines[start:] if line.startswith("  ") and "runs `" in line]


def on_a_terminal(zot: Zot, *words: str, stream: str = "stdout") -> str:
    """Output of the program to a stream that is a terminal."""
    primary, secondary = pty.openpty()
    try:
        done = subprocess.Popen(zot.argv(words), cwd=zot.project, env=zot.env(), **{stream: secondary})
        os.close(secondary)
        output = b""
        while chunk := _read_terminal(primary):
            output += chunk
        assert done.wait(30) == 0
        return output.decode()
    finally:
        os.close(primary)


def _read_terminal(primary: int) -> bytes:
    try:
        return os.read(primary, 4096)
    except OSError:
        return b""
