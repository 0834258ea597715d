"""What is kept of a command's output: its head and its tail, and all of it in a private file once that is not all.

Memory stays within a few times the cap however much a command writes; the file is opened only when the cap is
passed (or when a background child goes on writing) and is bounded too.
"""

from __future__ import annotations

import os
from pathlib import Path

from zot.agent.tools.limits import MAX_BYTES, MAX_LINES
from zot.agent.tools.utf8 import from_character, whole_characters

HEAD_SHARE = 0.4
SPOOL_CAP = 100 * 1024 * 1024

_HEAD_BYTES, _HEAD_LINES = int(MAX_BYTES * HEAD_SHARE), int(MAX_LINES * HEAD_SHARE)
_TAIL_BYTES, _TAIL_LINES = MAX_BYTES - _HEAD_BYTES, MAX_LINES - _HEAD_LINES
_NEAR = 4096  # a cut moves to the end of a line when there is one within this many bytes


class Spool:
    """The full output in a file only its owner can read; a full disk or the cap ends it, never the command."""

    def __init__(self) -> None:
        directory = os.environ.get("TMPDIR") or "/tmp"
        self.path = Path(directory) / f"zot-bash-{os.urandom(6).hex()}.log"
        self.size = 0
        self.trouble = ""
        self._fd: int | None = None
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.trouble = f"it could not be created: {error.strerror}"

    def write(self, data: bytes | bytearray) -> None:
        if self._fd is None:
            return
        room = SPOOL_CAP - self.size
        try:
            self.size += os.write(self._fd, data[:room])
        except OSError as error:
            self._give_up(f"writing to it failed: {error.strerror}")
        if len(data) > room:
            self._give_up(f"only the first {SPOOL_CAP // (1024 * 1024)} MB were kept")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _give_up(self, why: str) -> None:
        self.trouble = self.trouble or why
        self.close()


class OutputCapture:
    """Fed with the bytes of one command as they come; ``text`` is what the model gets."""

    def __init__(self) -> None:
        self.spool: Spool | None = None
        self.total_bytes = 0
        self._newlines = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._overflowed = False

    @property
    def lines_truncated(self) -> bool:
        return self._lines(self._newlines, self._tail or self._head) > MAX_LINES

    @property
    def bytes_truncated(self) -> bool:
        return self.total_bytes > MAX_BYTES

    @property
    def truncated(self) -> bool:
        return self._overflowed

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        self._newlines += data.count(b"\n")
        if self.spool is not None:
            self.spool.write(data)
        if self._overflowed:
            self._tail += data
            if len(self._tail) > 4 * _TAIL_BYTES:
                del self._tail[:-_TAIL_BYTES]
            return
        self._head += data
        if self.bytes_truncated or self.lines_truncated:
            self._overflow()

    def open_spool(self) -> Spool:
        """The file with everything so far; what is fed later follows."""
        if self.spool is None:
            self.spool = Spool()
            self.spool.write(self._head)
        return self.spool

    def text(self) -> str:
        """The output, newline-terminated, with a marker for what was left out and one note per cap; or nothing."""
        if not self._overflowed:
            return _decoded(self._head)
        head, tail = (
            bytes(self._head),
            _last_part(bytes(self._tail[-_TAIL_BYTES:]), len(self._tail) <= _TAIL_BYTES),
        )
        lines = self._newlines - head.count(b"\n") - tail.count(b"\n")
        missing = self.total_bytes - len(head) - len(tail)
        marker = f"... [{f'{lines} lines, ' if lines else ''}{missing} bytes omitted]\n" if missing else ""
        return _decoded(head) + marker + _decoded(tail) + self._notes()

    def _notes(self) -> str:
        notes = f"... [truncated at {MAX_LINES} lines]\n" if self.lines_truncated else ""
        return notes + (f"... [truncated at {MAX_BYTES} bytes]\n" if self.bytes_truncated else "")

    def _overflow(self) -> None:
        self.open_spool()
        self._overflowed = True
        kept = _first_part(bytes(self._head))
        self._tail = self._head[len(kept) :]
        self._head = bytearray(kept)

    @staticmethod
    def _lines(newlines: int, last: bytearray) -> int:
        return newlines + (bool(last) and not last.endswith(b"\n"))


def _first_part(data: bytes) -> bytes:
    """At most the head's share, ending with a line where one ends nearby."""
    parts = data[:_HEAD_BYTES].split(b"\n", _HEAD_LINES)
    if len(parts) > _HEAD_LINES:
        return b"\n".join(parts[:_HEAD_LINES]) + b"\n"
    head = data[:_HEAD_BYTES]
    end = head.rfind(b"\n") + 1
    return head[:end] if end and len(head) - end <= _NEAR else whole_characters(head)


def _last_part(data: bytes, whole: bool) -> bytes:
    """At most the tail's share of lines, beginning with one where one begins nearby; ``whole`` starts clean."""
    parts = data.removesuffix(b"\n").rsplit(b"\n", _TAIL_LINES)
    if len(parts) > _TAIL_LINES:
        return data[len(parts[0]) + 1 :]
    if whole:
        return data
    start = data.find(b"\n", 0, _NEAR) + 1
    return data[start:] if start else from_character(data)


def _decoded(data: bytes | bytearray) -> str:
    text = data.decode("utf-8", "replace").replace("\0", "")
    return text if not text or text.endswith("\n") else f"{text}\n"
