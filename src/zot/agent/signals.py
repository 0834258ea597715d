"""Signals in headless modes: the first one aborts the run, a second one ends the process at once.

Python's own handlers run between instructions even while a write to a slow reader is stuck, which an event loop's
would not; a write that is still stuck a moment after the signal is given up.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from zot.agent.console import Interrupted, Stdout

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
REASONS = {130: "interrupted", 143: "terminated", 129: "hangup"}


_PATIENCE_S = 0.3


class Signals:
    """``exit_code`` is 0 until a signal arrived."""

    def __init__(self, stdout: Stdout) -> None:
        self.exit_code = 0
        self.on_signal: Callable[[], None] = lambda: None
        self._stdout = stdout
        self._last_write = 0

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

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.exit_code:
            raise Interrupted(self.exit_code)
        self.exit_code = EXIT_CODES[signal.Signals(number)]
        self.on_signal()
        self._watch_for_a_stuck_write()

    def _watch_for_a_stuck_write(self) -> None:
        self._last_write = self._stdout.writes
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)

    def _look_again(self, _number: int, _frame: FrameType | None) -> None:
        if self._stdout.writing and self._stdout.writes == self._last_write:
            raise Interrupted(self.exit_code)
        self._watch_for_a_stuck_write()
