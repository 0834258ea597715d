"""A disk without room, for one child process: its files may not grow past a size (a real ``EFBIG``).

Only the soft limit is set, so ``make_room`` can lift it again for a process that runs.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence

# What is compiled on the way would be cut as well, and be found by everyone else.
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1"}

_RUN = (
    "import os, resource, sys; size = int(sys.argv[1]); hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard)); os.execv(sys.argv[2], sys.argv[2:])"
)


def confined(argv: Sequence[str], size: int) -> list[str]:
    """The command line of the same program on a disk where no file grows past ``size`` bytes."""
    return [sys.executable, "-c", _RUN, str(size), *argv]


CAN_MAKE_ROOM = hasattr(resource, "prlimit")


def make_room(pid: int) -> None:
    """The process may write again; only where ``CAN_MAKE_ROOM``."""
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
