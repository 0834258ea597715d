"""What one command in a jail holds, and when it is let go.

The first process in there dies with bubblewrap, and the kernel ends all the others before it is over. So whoever wants
to know that nothing is left waits for that one, and looks at no other process of the machine.
"""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from threading import Lock, Thread

_LINGER_S = 1.0
_DYING_S = 1.0
_FIRST = re.compile(rb'"child-pid": *([0-9]+)')


class Lingering:
    """Lets go a moment later of what the last command held: the next one mostly comes at once, and holding the names
    anew would cost more than anything else zot does for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: ExitStack | None = None
        self._until = 0.0
        self._waits = False

    def take(self, kept: ExitStack) -> None:
        with self._lock:
            before, self._kept = self._kept, kept
            self._until = time.monotonic() + _LINGER_S
            waits, self._waits = self._waits, True
        if not waits:
            Thread(target=self._wait, name="zot-jail-names", daemon=True).start()
        if before is not None:
            before.close()

    def let_go(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def _wait(self) -> None:
        """One thread for a row of commands: starting one for each would cost as much as it saves."""
        while True:
            with self._lock:
                left = self._until - time.monotonic()
                if left <= 0:
                    self._waits = False
                    break
            time.sleep(left)
        self.let_go()


class Cell:
    """The protected names, and the pipe on which bubblewrap tells that it began. ``remarks``, once it is released, are
    what a person should hear of what the command did."""

    def __init__(
        self,
        end: Callable[[], list[str]],
        kept: ExitStack | None = None,
        told: int = -1,
        lingering: Lingering | None = None,
    ) -> None:
        self.remarks: list[str] = []
        self._end: Callable[[], list[str]] | None = end
        self._kept = kept
        self._told = told
        self._lingering = lingering
        self._own_processes = kept is not None  # nobody else's can be seen, and they end together
        self._first: int | None = None  # of them; 0 when there was none

    def began(self) -> bool:
        """Once the command is over: whether there was one."""
        if self._own_processes and self._first is None:
            self._first = _first_process(self._told)
        return self._first != 0

    def is_empty(self, session: int) -> bool:
        """See ``zot.system.processes.Cell``."""
        if not self.began() or self._first is None:
            return False
        try:
            # The number of one that is gone may be somebody else's by now.
            return os.getsid(self._first) != session or _is_over(self._first)
        except ProcessLookupError:
            return True
        except (AttributeError, OSError):
            return False

    def release(self) -> None:
        if self._kept is not None:
            self.began()
            kept, self._kept = self._kept, None
            kept.close() if self._lingering is None else self._lingering.take(kept)
        if self._end is not None:
            end, self._end = self._end, None
            self.remarks = end()


def _first_process(told: int) -> int:
    os.set_blocking(told, False)
    with suppress(BlockingIOError):
        if found := _FIRST.search(os.read(told, 4096)):
            return int(found[1])
    return 0


def _is_over(pid: int) -> bool:
    """Within a reasonable time."""
    fd = os.pidfd_open(pid)
    try:
        waiting = select.poll()
        waiting.register(fd, select.POLLIN)
        ended = bool(waiting.poll(_DYING_S * 1000))
    finally:
        os.close(fd)
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # where orphans become zot's children, it is one
    return ended
