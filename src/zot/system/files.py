"""How zot writes files so that nothing is lost: a temporary file beside the target, fsync, rename.

Private files are 0600 in directories 0700; read-modify-write happens under ``locked``.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def make_private_dir(path: Path) -> None:
    """Create ``path`` and missing parents 0700; existing ones keep their mode."""
    if not path.is_dir():
        make_private_dir(path.parent)  # mkdir(parents=True) would give parents the umask's mode
        path.mkdir(mode=0o700, exist_ok=True)


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace ``path`` as a whole, or leave it untouched and raise OSError."""
    make_private_dir(path.parent)
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(fd, "wb", closefd=True) as file:
            os.fchmod(fd, mode)
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_dir(path.parent)


def sync_dir(path: Path) -> None:
    """Make a rename in ``path`` durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the cross-process lock that belongs to ``path`` (a sibling ``.lock`` file) while in the block."""
    make_private_dir(path.parent)
    fd = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def try_lock(fd: int) -> bool:
    """Take the exclusive lock on an open file without waiting; False when another process holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def move_aside(path: Path) -> Path:
    """Rename a bad user file to ``<name>.bad`` (``.bad-2``, …), never overwriting; returns the new path."""
    target = path.with_name(f"{path.name}.bad")
    number = 2
    while target.exists():
        target = path.with_name(f"{path.name}.bad-{number}")
        number += 1
    path.rename(target)
    return target
