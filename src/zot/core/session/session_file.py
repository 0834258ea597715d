"""Reads and appends rows of a session file; the writer has its lock.
Nothing is truncated: after a torn row the next one starts on a new line, and unreadable lines are copied once to
``<file>.bad``. Only regular files are opened, since a repository may contain one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import BinaryIO

import msgspec

from zot.core.session.records import NotARecord, Row, decode_row
from zot.errors import SessionError, SessionLocked
from zot.system.files import make_private_dir, sync_dir, try_lock
from zot.system.safe_open import TooLarge, create, open_for_update, open_to_append

LARGEST = 2 << 30
LONGEST_LINE = 256 << 20  # a row with many images is smaller; a larger line is not a row
_LARGEST_ASIDE = 64 << 20


class SessionWriter:
    """Owns the descriptor and with it the lock. ``torn``: the file does not end with a newline."""

    def __init__(self, fd: int, *, torn: bool = False) -> None:
        self.fd = fd
        self._torn = torn
        self._synced = False

    def append(self, row: bytes) -> int:
        """Append one row and return its offset; after an OSError it may be retried."""
        data = memoryview(b"\n" + row if self._torn else row)
        self._torn, self._synced = True, False
        while data:
            data = data[os.write(self.fd, data) :]
        self._torn = False
        return os.lseek(self.fd, 0, os.SEEK_CUR) - len(row)

    def line_at(self, offset: int) -> bytes:
        """The whole line that begins there."""
        parts: list[bytes] = []
        size = _FIRST_READ
        while part := os.pread(self.fd, size, offset):
            line, end, _ = part.partition(b"\n")
            parts.append(line + end)
            if end:
                break
            offset, size = offset + len(part), _PIECE
        return b"".join(parts)

    def sync(self) -> None:
        """Wait until it is on the disk; free if already synced."""
        if not self._synced:
            os.fsync(self.fd)
            self._synced = True

    def is_at(self, path: Path) -> bool:
        """True if this path is still the open file; False only if certain."""
        try:
            return os.path.samestat(os.stat(path), os.fstat(self.fd))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def copy_to(self, path: Path) -> SessionWriter:
        """Copy everything to a new file and return its writer; an OSError leaves no file."""
        copy = create_file(path)
        try:
            offset = 0
            while data := os.pread(self.fd, _PIECE, offset):
                offset += len(data)
                while data:
                    data = data[os.write(copy.fd, data) :]
            copy._torn = self._torn
            return copy
        except BaseException:
            copy.close()
            path.unlink(missing_ok=True)
            raise

    def close(self) -> None:
        os.close(self.fd)


_PIECE = 1024 * 1024
_FIRST_READ = 16 * 1024


def create_file(path: Path) -> SessionWriter:
    """Create a file, 0600 in a 0700 directory, locked; raises OSError, including FileExistsError."""
    make_private_dir(path.parent)
    fd = create(path, flags=os.O_RDWR | os.O_APPEND)
    try:
        os.fchmod(fd, 0o600)
        lock(fd)
        sync_dir(path.parent)
    except BaseException:
        os.close(fd)
        path.unlink(missing_ok=True)
        raise
    return SessionWriter(fd)


def free_name(path: Path) -> Path:
    """This path, or the next free one: ``a.jsonl``, ``a-2.jsonl``, …"""
    names = (path if n == 1 else path.with_name(f"{path.stem}-{n}{path.suffix}") for n in count(1))
    return next(name for name in names if not os.path.lexists(name))


def short_name(path: Path) -> str:
    """What users type for a session: the beginning of its id, which the name of a stored file ends with; else the
    path."""
    found = re.fullmatch(r"\d{8}-\d{6}-([0-9a-f]{8})", path.stem)
    return found[1] if found else str(path)


def open_file(path: Path) -> SessionWriter:
    """An existing file for append, locked; raises SessionError or SessionLocked."""
    try:
        fd = open_for_update(path, follow=True)
    except OSError as error:
        raise SessionError(
            f"cannot open session {path}: {error.strerror}; list sessions with `zot sessions`"
        ) from error
    try:
        _claim(fd, path)
        size = os.fstat(fd).st_size
        if size > LARGEST:
            raise SessionError(f"cannot open session {path}: it {TooLarge(path, LARGEST).strerror}")
        return SessionWriter(fd, torn=size > 0 and os.pread(fd, 1, size - 1) != b"\n")
    except BaseException:
        os.close(fd)
        raise


def _claim(fd: int, path: Path) -> None:
    if not lock(fd):
        name = short_name(path)
        fix = f"end that one, or continue in a fork: `zot sessions fork {name}`"
        raise SessionLocked(f"session {name} is in use by another zot; {fix}", path)
    # sessions are deleted under the lock; rows written to a deleted file would be lost
    if os.fstat(fd).st_nlink == 0:
        raise SessionError(f"session {path} was deleted by another process")


def lock(fd: int) -> bool:
    """Acquire the lock; a file system without locks counts as acquired."""
    try:
        return try_lock(fd)
    except OSError:
        return True


NO_ROW = -1  # instead of an offset: not in the file


class SessionLine(msgspec.Struct, frozen=True):
    """``row`` is None if the line is not a record; ``offset`` identifies it within its file."""

    offset: int
    raw: bytes
    row: Row | None


def read_lines(file: BinaryIO) -> Iterator[SessionLine]:
    offset = 0
    for raw in lines_of(file):
        if not raw.isspace():
            try:
                row = decode_row(raw)
            except NotARecord:
                row = None
            yield SessionLine(offset, raw, row)
        offset += len(raw)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Lines with their ends; an oversized one comes in pieces, none of which is a row."""
    return iter(partial(file.readline, LONGEST_LINE), b"")


def bad_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.bad")


def quarantine_lines(path: Path, lines: Iterable[bytes]) -> int:
    """Append lines to ``<path>.bad`` unless it has them; returns their number. Raises OSError."""
    fd = open_to_append(bad_path(path), os.O_RDWR)
    with os.fdopen(fd, "rb") as reader, os.fdopen(os.dup(fd), "wb") as writer:
        if os.fstat(fd).st_size > _LARGEST_ASIDE:
            raise TooLarge(bad_path(path), _LARGEST_ASIDE)
        known = set(reader.read(_LARGEST_ASIDE).splitlines())
        bare = dict.fromkeys(b" ".join(line.splitlines()) for line in lines)  # as ``splitlines`` will return them
        fresh = [line for line in bare if line not in known]
        writer.writelines(line + b"\n" for line in fresh)
        writer.flush()
        os.fsync(fd)
    return len(fresh)
