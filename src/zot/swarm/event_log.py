"""``events.jsonl``: the events of a worker without partial ones; rotated when it is too large."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from zot.system.safe_open import open_buffered, open_to_append

PIECES = frozenset({b"text_delta", b"thinking_delta", b"tool_use_args", b"tool_progress"})
_NOBODYS = frozenset({b"response", b"permit_request", b"permit_settled"})
_LARGEST = 64 * 1024 * 1024
_TAIL = 4 * 1024 * 1024


def type_of(line: bytes) -> bytes:
    """The type of an event line, which comes first; empty without one."""
    return line[9 : line.find(b'"', 9)] if line.startswith(b'{"type":"') else b""


class EventLog:
    """Open while its worker has a process; OSError if a write fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._size = 0

    def append(self, line: bytes, kind: bytes = b"") -> None:
        if kind in PIECES or kind in _NOBODYS:
            return
        if self._size > _LARGEST:
            self.close()
            self._path.replace(self._path.with_suffix(".1.jsonl"))
        if self._fd < 0:
            self._fd = open_to_append(self._path, os.O_RDWR)
            self._size = os.fstat(self._fd).st_size
            if self._size and os.pread(self._fd, 1, self._size - 1) != b"\n":
                os.write(self._fd, b"\n")  # after a partial line that a full disk left
        written = os.write(self._fd, line + b"\n")
        self._size += written
        if written != len(line) + 1:
            raise OSError(28, os.strerror(28), str(self._path))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def recorded(path: Path, most: int = _TAIL) -> Iterator[bytes]:
    """The lines of a log, or only the last ones of a large one."""
    try:
        file = open_buffered(path)
    except FileNotFoundError:
        return
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            file.seek(size - most)
            file.readline()
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def last_line(path: Path) -> bytes:
    """The last line, without its line feed; empty without one."""
    line = b""
    for line in recorded(path):  # noqa: B007  the last value is wanted
        pass
    return line


def last_answer(path: Path) -> str:
    """The text of the last message of the model."""
    last = b""
    for line in recorded(path):
        if type_of(line) == b"assistant_message":
            last = line
    try:
        return text_of(msgspec.json.decode(last)) if last else ""
    except msgspec.DecodeError:
        return ""


def text_of(message: dict[str, Any]) -> str:
    """The text of a message event."""
    return "".join(str(block.get("text", "")) for block in message.get("content", ()) if block.get("type") == "text")
