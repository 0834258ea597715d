"""Log of a child process: its stderr byte for byte, and zot's lines with ``[zot] ``, in order.
Each extension and MCP server has one log over all starts; a log above 5 MB is moved to ``.log.1``."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from zot.errors import ExtensionError
from zot.features.stderr_pipe import StderrPipe
from zot.system.files import make_private_dir
from zot.system.safe_open import create, open_buffered, open_for_update, open_to_append

MAX_BYTES = 5 * 1000 * 1000  # bytes before rotation
_CHUNK = 1024 * 1024
_CRASH = re.compile(r"panic: |fatal error: |([A-Za-z_][\w.]*)?(Error|Exception)( \[\w+\])?: ")  # Go twice, Node
_BIRTH = re.compile(r"\[zot\] .* \d{4}-\d\d-\d\dT[\d:]{8}Z")  # the first line of a process


class ProcessLog:
    """One process in its log. ExtensionError or OSError: it cannot be opened.
    ``for_child`` is the child's stderr, which the caller closes once the child has it. ``on_dropped`` receives the
    bytes dropped in a flood; without it they are logged."""

    def __init__(self, path: Path, title: str, on_dropped: Callable[[int], None] | None = None) -> None:
        self.path = path
        self._file = LogFile(path, title)
        try:
            self._stderr = StderrPipe(self._file.append, on_dropped or self._note_dropped)
        except BaseException:
            self._file.close()
            raise
        self.for_child = self._stderr.for_child

    def write(self, text: str) -> None:
        """zot's lines, after the child's output so far."""
        self._stderr.drain()
        self._file.write(text)

    def error_line(self) -> str:
        """The line of its stderr that explains its exit; empty without output."""
        self._stderr.drain()
        return error_line(last_output(self.path))

    def close(self) -> None:
        """Close once the child can write nothing more."""
        self._stderr.drain()
        self._stderr.close()
        self._file.close()

    def _note_dropped(self, count: int) -> None:
        self._file.write(flood_text(count))


def flood_text(count: int) -> str:
    return f"floods its stderr: dropped {count:,} bytes"


def last_output(log: Path) -> list[str]:
    """The last output of its latest process, which usually explains the exit."""
    try:
        with open_buffered(log) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            lines = file.read(4096).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    start = max((place for place, line in enumerate(lines) if _BIRTH.fullmatch(line)), default=0)
    return [line for line in lines[start:] if line.strip() and not line.startswith("[zot] ")]


def error_line(output: list[str]) -> str:
    """The line that explains an exit: by the formats of languages, else the last one."""
    if traces := [place for place, line in enumerate(output) if line.startswith("Traceback (most recent call last)")]:
        output = [line for line in output[traces[-1] + 1 :] if not line[0].isspace()] or output
        return output[0].strip()
    for line in output:
        if _CRASH.match(line):
            return line.strip()
    return output[-1].strip() if output else ""


class LogFile:
    """Open for appending while the process runs; ``title`` begins its first line.
    Another run may append to the same file, so a full log is copied to ``.log.1`` and truncated in place."""

    def __init__(self, path: Path, title: str) -> None:
        self.path = path
        self.fd = _open(self.path)
        self._trim()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.append(b"\n")
        self.write(f"{title} {stamp}")

    def write(self, text: str) -> None:
        """One or more lines of zot."""
        lines = "".join(f"[zot] {line}\n" for line in text.splitlines() or [""])
        self.append(lines.encode("utf-8", "replace"))

    def append(self, data: bytes) -> None:
        """Append, and rotate a log above its limit. A full disk loses the line, never the process."""
        try:
            os.write(self.fd, data)
            self._trim()
        except OSError:
            return

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _trim(self) -> None:
        try:
            if os.fstat(self.fd).st_size > MAX_BYTES:
                _rotate(self.path)
        except OSError:
            return  # the log keeps growing; nothing else is affected


def _open(path: Path) -> int:
    try:
        make_private_dir(path.parent)
        fd = open_to_append(path, os.O_RDWR)
        os.fchmod(fd, 0o600)
    except OSError as error:
        raise ExtensionError(f"cannot open the log {path}: {error.strerror or error}") from error
    return fd


def _rotate(path: Path) -> None:
    """Under its own lock: two runs share the log, and one rotation is enough."""
    source = open_for_update(path)
    try:
        fcntl.flock(source, fcntl.LOCK_EX)
        if os.fstat(source).st_size > MAX_BYTES:
            _move_content(source, path.with_name(f"{path.name}.1"))
    finally:
        os.close(source)


def _move_content(source: int, old: Path) -> None:
    """Copies only the end of a huge log. Under the lock a leftover temporary file is unused."""
    temporary = old.with_name(f".{old.name}.tmp")
    temporary.unlink(missing_ok=True)
    target = create(temporary)
    try:
        os.lseek(source, max(0, os.fstat(source).st_size - 2 * MAX_BYTES), os.SEEK_SET)
        while chunk := os.read(source, _CHUNK):
            os.write(target, chunk)
        os.ftruncate(source, 0)
        os.replace(temporary, old)
    finally:
        os.close(target)
        temporary.unlink(missing_ok=True)
