"""Console of a headless run: piped input, ``zot:`` lines on stderr, answers on stdout, signals.
The first signal aborts the run, the second ends the process, also while a slow reader blocks a write or a callback
blocks the loop."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager

from zot.errors import OutputFailed, ZotError

# The sanitizer is imported on use: a quiet run into a pipe never needs it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import FrameType
    from typing import Any, NoReturn, TypeVar

    from zot.core.events import RetryWait
    from zot.tui.sanitize import Sanitizer

    T = TypeVar("T")

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
REASONS = {130: "interrupted", 143: "terminated", 129: "hangup"}

_STUCK_S = 0.3  # seconds after a signal until a blocked write is abandoned
_INTERRUPT_AT, _GIVE_UP_AT = 4, 12  # seconds between checks of a blocked loop
_MENTION_S = 3.0
_LONGEST_PIPED = 64 << 20  # above any model's context


class StdoutClosed(Exception):
    """The reader of stdout is gone."""


class SignalInterrupt(BaseException):
    """A signal arrived while a write was blocked; has the exit code."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


# --- stderr


_notice_sinks: list[Callable[[str], None]] = []


def print_notice(text: str) -> None:
    """One line on stderr, prefixed with ``zot:``."""
    if _notice_sinks:
        _notice_sinks[-1](text)
    else:
        print_stderr(f"zot: {text}")


def redirect_notices(sink: Callable[[str], None]) -> Callable[[], None]:
    """Give notices to ``sink`` instead: stderr is part of the screen. Call the result to end this."""
    _notice_sinks.append(sink)
    return lambda: _notice_sinks.remove(sink)


def retry_line(wait: RetryWait) -> str:
    """``overloaded, try 4 of 10 in 8 s``."""
    seconds = f"{wait.wait_s:.0f}" if wait.wait_s >= 1 else f"{wait.wait_s:.1g}"
    return f"{wait.reason}, try {wait.attempt} of {wait.attempts} in {seconds} s"


def print_stderr(text: str) -> None:
    """One line on stderr, made safe for a terminal."""
    from zot.tui.sanitize import one_line

    try:
        sys.stderr.write(f"{one_line(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # stderr is closed; there is nowhere to report


# --- the event loop


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``, with one error line if the system cannot create a loop."""
    import asyncio

    runner = asyncio.Runner()
    try:
        runner.get_loop()
    except OSError as error:
        work.close()
        sys.unraisablehook = lambda _: None  # an incomplete loop warns when it is deleted
        raise ZotError(f"cannot start: {error.strerror or error}") from None
    with runner:
        return runner.run(work)


# --- stdout


class Stdout:
    """Raw stdout. ``writing`` and the count ``writes`` let a signal handler detect a blocked write."""

    def __init__(self, fd: int = 1) -> None:
        self.fd = fd
        self.writing = False
        self.writes = 0
        self.is_terminal = os.isatty(fd)

    def write(self, data: bytes) -> None:
        """Write everything, or raise StdoutClosed without a reader and OutputFailed on errors."""
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
        """The reader made our stdout non-blocking: wait for room instead of losing bytes."""
        import select

        while view:
            select.select([], [self.fd], [])
            try:
                view = view[os.write(self.fd, view) :]
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError) as error:
                raise StdoutClosed from error
            except OSError as error:
                raise OutputFailed(f"cannot write to stdout: {error.strerror or error}") from error


class TextOutput:
    """Model text on stdout: sanitised on a terminal, byte for byte into a pipe or file."""

    def __init__(self, stdout: Stdout) -> None:
        self._stdout = stdout
        self._sanitizer = _sanitizer() if stdout.is_terminal else None

    def write(self, text: str) -> None:
        self._write(self._sanitizer.feed(text) if self._sanitizer else text)

    def close(self) -> None:
        """Flush an unfinished escape sequence."""
        if self._sanitizer:
            self._write(self._sanitizer.close())

    def _write(self, text: str) -> None:
        if text:
            self._stdout.write(text.encode("utf-8", "replace"))


def _sanitizer() -> Sanitizer:
    from zot.tui.sanitize import Sanitizer

    return Sanitizer()


# --- stdin, read whole first unless it is a terminal or a device


def is_piped() -> bool:
    """True if stdin is open and not a character device."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:
        return False


def read_stdin() -> str:
    """All of stdin, trimmed; prints a notice while waiting, since an open pipe looks like a hang."""
    chunks: list[bytes] = []
    import select  # only piped runs need it

    if not select.select([0], [], [], _MENTION_S)[0]:
        print_notice("waiting for stdin to close (run with </dev/null if nothing is piped in)")
    size = 0
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
        if (size := size + len(chunk)) > _LONGEST_PIPED:
            limit = _LONGEST_PIPED >> 20
            raise ZotError(f"stdin is larger than {limit} MiB; save it to a file and name the file in the prompt")
    data = b"".join(chunks)
    text = data.decode("utf-8", "replace")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        print_notice("stdin is not valid UTF-8; invalid bytes were replaced")
    return text.strip()


def join_prompt(piped: str, argument: str) -> str:
    """The piped text, a newline, then the argument; either may be empty."""
    return "\n".join(part for part in (piped.strip(), argument.strip()) if part)


# --- signals


class Signals:
    """``exit_code`` is 0 until a signal arrives.
    Python's own handlers also run while a write or the loop is blocked; an event loop's would not."""

    def __init__(self, stdout: Stdout) -> None:
        self.exit_code = 0
        self.on_signal: Callable[[], None] = lambda: None
        self.loop: AbstractEventLoop | None = None
        self._stdout = stdout
        self._last_write = 0
        self._turned = True
        self._held = 0

    @contextmanager
    def installed(self) -> Generator[None]:
        handlers = dict.fromkeys(EXIT_CODES, self._handle) | {signal.SIGALRM: self._look_again}
        previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code:
            if _in_a_callback(frame):  # it would swallow the exception
                exit_immediately(self.exit_code)
            raise SignalInterrupt(self.exit_code)
        self.exit_code = EXIT_CODES[signal.Signals(number)]
        self.on_signal()
        self._watch_for_a_stuck_write()

    def _watch_for_a_stuck_write(self) -> None:
        self._last_write = self._stdout.writes
        signal.setitimer(signal.ITIMER_REAL, _STUCK_S)

    def _look_again(self, _number: int, frame: FrameType | None) -> None:
        if self._stdout.writing and self._stdout.writes == self._last_write:
            raise SignalInterrupt(self.exit_code)
        self._watch_for_a_stuck_write()
        if self.loop is not None and not self.loop.is_closed():
            loop = self.loop
            self._held = 0 if self._turned else self._held + 1
            self._turned = False
            loop.call_soon_threadsafe(self._turn)
            if self._held >= _GIVE_UP_AT:
                print_notice("cannot interrupt a blocked operation; exiting")
                exit_immediately(self.exit_code)
            if self._held and self._held % _INTERRUPT_AT == 0 and _in_a_callback(frame):
                loop.set_exception_handler(lambda _loop, _context: None)  # raised here
                raise sys.modules["asyncio"].CancelledError("blocked the event loop for too long")

    def _turn(self) -> None:
        self._turned = True


def _in_a_callback(frame: FrameType | None) -> bool:
    """True inside a callback; between callbacks the loop must not be interrupted."""
    handle = getattr(sys.modules.get("asyncio"), "Handle", None)
    while frame is not None and handle is not None:
        if frame.f_code is handle._run.__code__:
            return True
        frame = frame.f_back
    return False


def exit_immediately(code: int) -> NoReturn:
    """No orderly end is possible: kill the children and exit."""
    if "zot.system.processes" in sys.modules:
        from zot.system.processes import kill_all

        kill_all()
    os._exit(code)
