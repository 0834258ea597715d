"""What a headless run says to people and writes to pipes: ``zot:`` lines on stderr, answers on stdout.

Every line is made safe for a terminal. A reader that went away ends the process quietly (exit 141); a reader
that is slow blocks a write, and a signal that arrives meanwhile still ends the run.
"""

from __future__ import annotations

import os
import sys

from zot.tui.sanitize import Sanitizer, one_line, sanitize


class StdoutClosed(Exception):
    """Nobody reads our stdout any more."""


class Interrupted(BaseException):
    """A signal arrived while a write was stuck; carries the exit code."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def say(text: str) -> None:
    """One line on stderr, prefixed with our name."""
    try:
        sys.stderr.write(f"zot: {one_line(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody reads stderr: there is nobody to tell


class Stdout:
    """Raw stdout. ``writing`` and the count ``writes`` let a signal handler tell a write that is stuck."""

    def __init__(self, fd: int = 1) -> None:
        self.fd = fd
        self.writing = False
        self.writes = 0
        self.is_terminal = os.isatty(fd)

    def write(self, data: bytes) -> None:
        """Write everything, or raise StdoutClosed."""
        view = memoryview(data)
        self.writing = True
        self.writes += 1
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise StdoutClosed from error
        except BlockingIOError:
            self._write_slowly(view)
        finally:
            self.writing = False

    def _write_slowly(self, view: memoryview) -> None:
        """The other end made our stdout non-blocking: wait for room instead of losing bytes."""
        import select

        while view:
            select.select([], [self.fd], [])
            try:
                view = view[os.write(self.fd, view) :]
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError) as error:
                raise StdoutClosed from error


class TextOutput:
    """Model text on stdout: sanitised on a terminal, byte for byte into a pipe or file."""

    def __init__(self, stdout: Stdout) -> None:
        self._stdout = stdout
        self._sanitizer = Sanitizer() if stdout.is_terminal else None

    def write(self, text: str) -> None:
        safe = self._sanitizer.feed(text) if self._sanitizer else text
        self._stdout.write(safe.encode("utf-8", "replace"))

    def write_whole(self, text: str) -> None:
        safe = sanitize(text) if self._sanitizer else text
        self._stdout.write(safe.encode("utf-8", "replace"))

    def close(self) -> None:
        if self._sanitizer and (rest := self._sanitizer.close()):
            self._stdout.write(rest.encode("utf-8", "replace"))
