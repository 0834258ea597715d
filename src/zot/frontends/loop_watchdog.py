"""Interrupts callbacks that block the event loop, so that signals, esc and ctrl+c work.
Signals raise ``LoopInterrupted`` in the blocking callback, or end the process; a thread watches for keys that wait."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from zot.frontends.console import EXIT_CODES

PATIENCE_S = 1.0
_STRIKES = 4  # interruptions in a row; then the process exits
_LONGEST_END = 30  # times the patience, for a shutdown that continues but does not finish
_TOGETHER_S = 30.0  # presses further apart are independent
_CALLBACK = asyncio.Handle._run.__code__  # pyright: ignore[reportPrivateUsage]  # the frame below every callback


class LoopInterrupted(asyncio.CancelledError):
    """Raised in the blocking callback; a task it ends counts as cancelled."""


class LoopWatchdog:
    """Created inside a running loop, in the main thread. ``leave`` ends the mode; ``last_resort`` the process."""

    def __init__(self, leave: Callable[[int], object], last_resort: Callable[[int], object]) -> None:
        self.exit_code = 0
        self._loop = asyncio.get_running_loop()
        self._leave = leave
        self._last_resort = last_resort
        self._turned = True
        self._strikes = self._alarms = 0
        self._keys: KeyWatcher | None = None
        self._pressed_at = -_TOGETHER_S
        for number in EXIT_CODES:
            signal.signal(number, self._signalled)
        signal.signal(signal.SIGALRM, self._alarm)

    def watch_keys(self, reads: Callable[[], int], take: Callable[[], list[str]]) -> None:
        """``reads`` counts reads of stdin by the loop; ``take`` reads waiting input and names the keys."""
        self._keys = KeyWatcher(self._loop, reads, take)

    def close(self) -> None:
        """After the loop: restore the signal handlers."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in (*EXIT_CODES, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        if self._keys is not None:
            self._keys.close()

    def _signalled(self, number: int, _: FrameType | None) -> None:
        self._end(EXIT_CODES[signal.Signals(number)])

    def _end(self, code: int) -> None:
        begun, self.exit_code = self.exit_code, self.exit_code or code
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._leave, code)
        if not begun:
            self._ask()

    def _ask(self) -> None:
        """The alarm shows whether the loop still runs."""
        self._turned = False
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answer)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)

    def _answer(self) -> None:
        self._turned = True

    def _alarm(self, _: int, frame: FrameType | None) -> None:
        if self.exit_code:
            self._alarms += 1
            self._strikes = 0 if self._turned else self._strikes + 1
            if self._strikes >= _STRIKES or self._alarms > _LONGEST_END:
                self._last_resort(self.exit_code)
            held = not self._turned
            self._ask()
            if held:
                _interrupt(frame)
        elif self._keys is not None and self._keys.held:
            self._keys.held = False
            names = self._keys.take()
            if "ctrl+c" not in names and "esc" not in names:
                return
            before, self._pressed_at = self._pressed_at, time.monotonic()
            if "ctrl+c" in names and self._pressed_at - before < _TOGETHER_S:
                self._end(EXIT_CODES[signal.SIGINT])
            _interrupt(frame)


def _interrupt(frame: FrameType | None) -> None:
    """Only inside a callback: the loop itself is never interrupted."""
    while frame is not None:
        if frame.f_code is _CALLBACK:
            raise LoopInterrupted("blocked the event loop for too long")
        frame = frame.f_back


class KeyWatcher:
    """Waits for input, then checks whether the loop reads it; calls ``held`` if not."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, reads: Callable[[], int], take: Callable[[], list[str]]
    ) -> None:
        self.held = False
        self.take = take
        self._loop = loop
        self._reads = reads
        self._main = threading.main_thread().ident or 0
        self._closing = threading.Event()
        self._woken, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="zot-keys")
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        os.write(self._wake, b"!")
        self._thread.join(2 * PATIENCE_S)
        os.close(self._wake)
        os.close(self._woken)

    def _watch(self) -> None:
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # stdin or the loop is closed
            while not self._closing.is_set():
                select.select([0, self._woken], [], [])
                before = self._reads()
                if self._closing.wait(PATIENCE_S) or self._reads() != before or not select.select([0], [], [], 0)[0]:
                    continue
                turned = threading.Event()
                self._loop.call_soon_threadsafe(turned.set)
                if not turned.wait(PATIENCE_S):
                    self.held = True
                    signal.pthread_kill(self._main, signal.SIGALRM)
