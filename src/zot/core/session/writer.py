"""Appends rows to one session file: one ``write`` per row, newline included, on an ``O_APPEND`` descriptor.

The file stays locked as long as the writer lives, so that a second process is told instead of interleaving. A
writer never truncates: after a torn row the next one starts on a new line.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from zot.errors import SessionError, SessionLocked
from zot.system.files import make_private_dir, sync_dir, try_lock


class RowWriter:
    """Owns the descriptor and with it the lock. ``torn`` says that the file does not end with a newline."""

    def __init__(self, fd: int, *, torn: bool = False) -> None:
        self.fd = fd
        self._torn = torn

    def append(self, row: bytes) -> int:
        """Write one row and return the offset it starts at; raises OSError, after which it may be tried again."""
        data = memoryview(b"\n" + row if self._torn else row)
        self._torn = True
        while data:
            data = data[os.write(self.fd, data) :]
        self._torn = False
        return os.lseek(self.fd, 0, os.SEEK_CUR) - len(row)

    def sync(self) -> None:
        os.fsync(self.fd)

    def close(self) -> None:
        os.close(self.fd)


def create_file(path: Path) -> RowWriter:
    """A new file, 0600 in a 0700 directory, locked; raises OSError, FileExistsError among them."""
    make_private_dir(path.parent)
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(fd, 0o600)
        lock(fd)
        sync_dir(path.parent)
    except BaseException:
        os.close(fd)
        path.unlink(missing_ok=True)
        raise
    return RowWriter(fd)


def open_file(path: Path) -> RowWriter:
    """An existing file for append, locked; raises SessionError or SessionLocked."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise SessionError(f"cannot open session {path}: {error.strerror}; `zot sessions` lists them") from error
    try:
        _claim(fd, path)
        return RowWriter(fd, torn=_ends_torn(fd))
    except BaseException:
        os.close(fd)
        raise


def _claim(fd: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise SessionError(f"cannot open session {path}: it is not a file")
    if not lock(fd):
        raise SessionLocked(
            f"session {path} is in use by another zot; end that one, or go on in a branch: `zot sessions fork {path}`"
        )
    # Whoever deletes a session does so under the lock: a name that is gone now would swallow what we write.
    if os.fstat(fd).st_nlink == 0:
        raise SessionError(f"session {path} was deleted by another process")


def lock(fd: int) -> bool:
    """Take the lock; a file system that has no locks counts as taken."""
    try:
        return try_lock(fd)
    except OSError:
        return True


def _ends_torn(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"
