"""Signals in headless modes: the first one aborts the run, a second one ends the process at once.

Handlers run between Python instructions even while a write to a slow reader is stuck, which an event loop's
own handlers would not.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from zot.agent.console import Interrupted, Stdout

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
REASONS = {130: "interrupted", 143: "terminated", 129: "hangup"}


class Signals:
    """``exit_code`` is 0 until a signal arrived."""

    def __init__(self, stdout: Stdout) -> None:
        self.exit_code = 0
        self.on_signal: Callable[[], None] = lambda: None
        self._stdout = stdout

    @contextmanager
    def installed(self) -> Generator[None]:
        previous = {number: signal.signal(number, self._handle) for number in EXIT_CODES}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        again = self.exit_code != 0
        self.exit_code = self.exit_code or EXIT_CODES[signal.Signals(number)]
        if again or self._stdout.writing:
            raise Interrupted(self.exit_code)
        self.on_signal()
