"""What a headless run says to people and writes to pipes: ``zot:`` lines on stderr, answers on stdout.

Every line is made safe for a terminal. A reader that went away ends the process quietly (exit 141); a reader
that is slow blocks a write, and a signal that arrives meanwhile still ends the run.
"""

from __future__ import annotations

import os
import sys

from zot.errors import OutputFailed

# The sanitizer is imported where something is said or shown: a quiet run into a pipe never needs it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from zot.tui.sanitize import Sanitizer


class StdoutClosed(Exception):
    """Nobody reads our stdout any more."""


class Interrupted(BaseException):
    """A signal arrived while a write was stuck; carries the exit code."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def say(text: str) -> None:
    """One line on stderr, prefixed with our name."""
    print_line(f"zot: {text}")


def print_line(text: str) -> None:
    """One line on stderr, made safe for a terminal."""
    from zot.tui.sanitize import one_line

    try:
        sys.stderr.write(f"{one_line(text)}\n")
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
        """Write everything, or raise StdoutClosed when nobody reads and OutputFailed when it cannot be written."""
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
        except OSError as error:
            raise OutputFailed(f"cannot write to stdout: {error.strerror or error}") from error
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
        self._sanitizer = _sanitizer() if stdout.is_terminal else None

    def write(self, text: str) -> None:
        self._write(self._sanitizer.feed(text) if self._sanitizer else text)

    def close(self) -> None:
        """Whatever an unfinished escape sequence held back."""
        if self._sanitizer:
            self._write(self._sanitizer.close())

    def _write(self, text: str) -> None:
        if text:
            self._stdout.write(text.encode("utf-8", "replace"))


def _sanitizer() -> Sanitizer:
    from zot.tui.sanitize import Sanitizer

    return Sanitizer()
