"""Lock and readiness line of a background process shared by several zots.
The process inherits the lock, and the kernel releases it when the process ends."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from zot.system.files import try_lock
from zot.system.safe_open import open_for_update, open_to_append


def is_locked(path: Path) -> bool:
    try:
        fd = open_for_update(path)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def acquire_lifetime_lock(path: Path) -> int:
    """The lock as a descriptor for a child to inherit; -1 if it is taken."""
    fd = open_to_append(path, os.O_RDWR)
    if try_lock(fd):
        return fd
    os.close(fd)
    return -1


@contextmanager
def try_startup_lock(path: Path) -> Generator[bool]:
    """Yields whether the lock was acquired; it does not wait."""
    fd = open_to_append(path, os.O_RDWR)
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)


async def wait_for_ready_line(fd: int) -> bool:
    """True if this pipe has output; False if its process ended."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bool] = loop.create_future()

    def ready() -> None:
        piece = os.read(fd, 100)
        if not result.done():
            result.set_result(bool(piece))

    loop.add_reader(fd, ready)
    try:
        return await result
    finally:
        loop.remove_reader(fd)
