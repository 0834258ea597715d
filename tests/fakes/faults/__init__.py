"""Makes system calls of one process fail where a test specifies it: ``faults.c`` wraps the C library.

``environment`` is what the process is started with, ``met`` what became of it: every call that failed, or, for a plan
that only ``watches``, every call that could have.
"""

from __future__ import annotations

import errno
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

POSSIBLE = sys.platform == "linux"  # where LD_PRELOAD is, and /proc tells what a descriptor is
FOREVER = 10**9
SHORT = "SHORT"  # not an error: half of the data is written
CALLS = (
    *("open", "read", "write", "fsync", "stat", "fchmod", "flock", "ftruncate", "fallocate", "rename", "link"),
    *("unlink", "mkdir", "opendir", "readdir", "pipe", "socket", "socketpair", "epoll", "fork"),
    *("connect", "send", "recv"),
)


class Plan(NamedTuple):
    """``count`` calls fail with ``error``, after ``after`` of the same kind and about the same place went well."""

    calls: str
    where: str
    after: int = 0
    count: int = 1
    error: str = "EIO"

    def __str__(self) -> str:
        return f"{self.calls} {self.where} #{self.after}{'…' if self.count == FOREVER else ''} {self.error}"


class Met(NamedTuple):
    call: str
    what: str
    blocking: bool


WATCHES = Plan(",".join(CALLS), "", error="")


@functools.cache
def _library() -> str:
    directory = tempfile.mkdtemp(prefix="zot-faults-")
    library = os.path.join(directory, "faults.so")
    source = Path(__file__).with_name("faults.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, str(source), "-ldl"], check=True)
    return library


def environment(plan: Plan, where: str, log: Path) -> dict[str, str]:
    """``where`` is the plan's, as a path of this machine."""
    number = {"": -1, SHORT: 0}.get(plan.error)
    if number is None:
        number = getattr(errno, plan.error)
    words = (plan.calls, where, plan.after, plan.count, number, log)
    return {"LD_PRELOAD": _library(), "FAULTS": "|".join(str(word) for word in words)}


def met(log: Path) -> list[Met]:
    if not log.exists():
        return []
    rows = [line.split("\t") for line in log.read_text(errors="surrogateescape").splitlines()]
    return [Met(call, what, bool(blocking)) for call, what, blocking in rows]
