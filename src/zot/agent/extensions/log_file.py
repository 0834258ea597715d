"""One log per extension: the child's stderr byte for byte, and the host's own lines behind ``[zot] ``.

The child writes through the descriptor itself, so a full log is copied to ``.log.1`` and emptied in place; renaming
it would leave the child writing into the old file.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from zot.agent.extensions.manifest import check_name
from zot.errors import ExtensionError
from zot.system.files import make_private_dir

MAX_BYTES = 5 * 1000 * 1000
_CHUNK = 1024 * 1024


def log_path(home: Path, name: str) -> Path:
    return home / "logs" / f"ext-{check_name(name)}.log"


def last_words(log: Path) -> list[str]:
    """The end of what the child wrote itself in its last life, which usually says why it is not running."""
    if not log.is_file():  # a pipe in the log's place must not hang us
        return []
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        lines = file.read().decode("utf-8", "replace").splitlines()
    start = max((place for place, line in enumerate(lines) if not line), default=0)  # each life begins with a blank
    return [line for line in lines[start:] if line.strip() and not line.startswith("[zot] ")]


class LogFile:
    """Open for appending while the extension lives; ``fd`` is handed to the child as its stderr."""

    def __init__(self, home: Path, name: str, version: str) -> None:
        self.path = log_path(home, name)
        self.fd = _open(self.path)
        self.trim()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.write(self.fd, b"\n")
        self.write(f"{name} {version or '-'} {stamp}")

    def write(self, text: str) -> None:
        """One or more host lines. A full disk loses the remark, never the extension."""
        lines = "".join(f"[zot] {line}\n" for line in text.splitlines() or [""])
        try:
            os.write(self.fd, lines.encode("utf-8", "replace"))
            self.trim()
        except OSError:
            return

    def trim(self) -> None:
        """Rotate a log above its limit. A child may fill it by itself, so the host also calls this now and then."""
        try:
            if os.fstat(self.fd).st_size > MAX_BYTES:
                _rotate(self.path)
        except OSError:
            return  # the log keeps growing; nothing else suffers

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _open(path: Path) -> int:
    try:
        make_private_dir(path.parent)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        os.set_blocking(fd, True)  # non-blocking only for the open: a pipe in the log's place must not hang us
        os.fchmod(fd, 0o600)
    except OSError as error:
        raise ExtensionError(f"the log {path} cannot be opened: {error.strerror or error}") from error
    return fd


def _rotate(path: Path) -> None:
    """Under a lock of its own: two runs share the log, and one rotation is enough."""
    source = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(source, fcntl.LOCK_EX)
        if os.fstat(source).st_size > MAX_BYTES:
            _move_content(source, path.with_name(f"{path.name}.1"))
    finally:
        os.close(source)


def _move_content(source: int, old: Path) -> None:
    temporary = old.with_name(f".{old.name}.tmp")
    target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        while chunk := os.read(source, _CHUNK):
            os.write(target, chunk)
        os.ftruncate(source, 0)
        os.replace(temporary, old)
    finally:
        os.close(target)
