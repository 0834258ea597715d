"""Lock and readiness line of a background process that several zots share. The process inherits the lock, and the
kernel releases it when the process ends."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from zot.system.files import try_lock
from zot.system.safe_open import open_to_append, open_to_change


def is_held(path: Path) -> bool:
    try:
        fd = open_to_change(path)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def held_from_birth(path: Path) -> int:
    """The lock as a descriptor for a child to inherit; -1 when somebody has it."""
    fd = open_to_append(path, os.O_RDWR)
    if try_lock(fd):
        return fd
    os.close(fd)
    return -1


@contextmanager
def for_a_moment(path: Path) -> Generator[bool]:
    """Whether the lock is ours in the block; it does not wait."""
    fd = open_to_append(path, os.O_RDWR)
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)


async def says_it_is_ready(fd: int) -> bool:
    """Whether anything comes out of this pipe; False when its process ended instead."""
    loop = asyncio.get_running_loop()
    said: asyncio.Future[bool] = loop.create_future()

    def ready() -> None:
        piece = os.read(fd, 100)
        if not said.done():
            said.set_result(bool(piece))

    loop.add_reader(fd, ready)
    try:
        return await said
    finally:
        loop.remove_reader(fd)
