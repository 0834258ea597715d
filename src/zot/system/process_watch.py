"""A tiny shell that outlives zot by one moment: when zot is gone, however it went, it kills what zot left.

It sleeps on a pipe whose other end only zot holds, so the kernel wakes it even after SIGKILL. Each line zot writes
is the whole list of its living process groups; at the end of the pipe the last list is killed, and on Linux every
process still carrying zot's mark. It is started a moment after the first command, so that a short command never
waits for it.
"""

from __future__ import annotations

import os
import subprocess

_SCRIPT = """
trap '' INT TERM HUP QUIT PIPE
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group"; done
for round in 1 2 3; do
  found=$(grep -lsF "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do
    pid=${file#/proc/}
    kill -s KILL "${pid%/environ}"
  done
done
"""
_MOST_GROUPS = 400  # keeps a line below PIPE_BUF, so that a list is never torn


class Watch:
    """Owns the watching shell of this process; ``mark`` is the text to look for in environments."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._pipe: int | None = None
        self._shell: subprocess.Popen[bytes] | None = None
        self._told: list[int] | None = None

    def publish(self, groups: list[int]) -> None:
        """Tell the shell which groups live now, starting it the first time."""
        if self._pipe is None:
            self._start()
        if self._pipe is None or groups == self._told:
            return
        line = " ".join(str(group) for group in groups[:_MOST_GROUPS])
        try:
            os.write(self._pipe, f"{line}\n".encode())
            self._told = groups
        except OSError:
            self.stop()  # somebody killed it; the next command starts another

    def stop(self) -> None:
        """Let the shell go; it kills what is left in its last list and on the machine with our mark."""
        if self._pipe is not None:
            os.close(self._pipe)
        if self._shell is not None and self._shell.poll() is None:
            self._shell.returncode = 0  # it ends by itself in a moment; do not warn that it still runs
        self._pipe = self._shell = self._told = None

    def _start(self) -> None:
        """Without a shell, zot still kills its children whenever it ends by itself."""
        read_end, write_end = os.pipe()
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "zot-watch", self._mark],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", os.defpath)},
                cwd="/",
                start_new_session=True,
            )
            self._pipe = write_end
        except OSError:
            os.close(write_end)
        finally:
            os.close(read_end)
