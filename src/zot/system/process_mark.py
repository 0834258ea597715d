"""A mark that descendants inherit whatever they do with session, parent and environment (Linux).
It is the soft limit on file locks: unused since Linux 2.6, kept by fork and exec, shown in ``/proc/PID/limits``.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from zot.system import process_setup
from zot.system.safe_open import read_whole

_LOCKS = 10  # RLIMIT_LOCKS, which ``resource`` does not name
_LEAST = 10**18  # 19 digits: no limit that a user would set
_limit = threading.Lock()  # the limit belongs to the whole process


def create_mark() -> int:
    """A new mark; 0 if children cannot be marked, or the process belongs to an embedding program."""
    if not process_setup.ours or sys.platform != "linux":
        return 0
    import resource

    most = resource.getrlimit(_LOCKS)[1]
    mark = _LEAST + int.from_bytes(os.urandom(7), "big")
    return mark if most == resource.RLIM_INFINITY or most >= mark else 0


@contextmanager
def marked_children(mark: int) -> Generator[None]:
    """Children started in the block get ``mark``; with 0 they get none, not even this process's own."""
    if sys.platform != "linux":
        yield
        return
    import resource

    with _limit:
        before = resource.getrlimit(_LOCKS)
        resource.setrlimit(_LOCKS, (mark or before[1], before[1]))
        try:
            yield
        finally:
            resource.setrlimit(_LOCKS, before)


def is_marked(pid: int) -> bool:
    """True for a descendant of any zot that was started for a tool, an extension or a server; unreadable counts as one.
    Only Linux has marks."""
    if sys.platform != "linux":
        return False
    try:
        lines = read_whole(f"/proc/{pid}/limits").splitlines()
        words = next(line for line in lines if line.startswith(b"Max file locks")).split()
        return words[3].isdigit() and int(words[3]) >= _LEAST
    except (OSError, StopIteration, IndexError):
        return True


def limits_line(mark: int) -> str:
    """The part of ``/proc/PID/limits`` that shows the mark."""
    return f"Max file locks            {mark} "
