"""How far a download is: a bar with rate and time left on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from zot.local_model.memory import amount

_BAR_EVERY_S = 0.1
_LINE_EVERY_S = 5.0
_RATE_OVER_S = 30.0  # the rate is that of the last seconds
_WIDEST = 30


class Progress:
    """On stderr, where ``close`` leaves the terminal on a line of its own; or told to ``show``, as often as a bar is
    drawn."""

    def __init__(self, label: str, total: int, show: Callable[[str], None] | None = None) -> None:
        self._label, self._total = label, total
        self._show = show
        self._terminal = show is not None or sys.stderr.isatty()
        self._seen: list[tuple[float, int]] = []
        self._told = 0.0 if self._terminal else time.monotonic() - _LINE_EVERY_S + 1.0
        self._drawn = False

    def at(self, done: int) -> None:
        """So many bytes are here."""
        now = time.monotonic()
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()  # it begins again
        if not self._seen or now - self._seen[-1][0] > _BAR_EVERY_S:
            self._seen.append((now, done))
            while len(self._seen) > 2 and now - self._seen[0][0] > _RATE_OVER_S:
                self._seen.pop(0)
        if now - self._told >= (_BAR_EVERY_S if self._terminal else _LINE_EVERY_S):
            self._told = now
            self._write(self._text(done))

    def close(self) -> None:
        if self._drawn:
            self._put("\n")
            self._drawn = False

    def _text(self, done: int) -> str:
        share = min(done / self._total, 1.0) if self._total else 0.0
        rate = self._rate()
        pace = f"  {amount(int(rate))}/s  {_duration((self._total - done) / rate)} left" if rate > 0 else ""
        return f"{share:4.0%}  {amount(done)} of {amount(self._total)}{pace}"

    def _rate(self) -> float:
        if len(self._seen) < 2:
            return 0.0
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        return (after - before) / (last - first) if last > first else 0.0

    def _write(self, text: str) -> None:
        if self._show is not None:
            self._show(text.strip())
            return
        if not self._terminal:
            self._put(f"{self._label}: {text.strip()}\n")
            return
        columns = _columns()
        room = min(_WIDEST, columns - len(self._label) - len(text) - 5)
        share = int(text.split("%")[0]) / 100
        bar = f" {'█' * int(room * share):░<{room}}" if room >= 5 and _draws_blocks() else ""
        self._put(f"\r\x1b[2K{f'{self._label}{bar} {text}'[: columns - 1]}")
        self._drawn = True

    def _put(self, text: str) -> None:
        with suppress(OSError, UnicodeError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def _draws_blocks() -> bool:
    return (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
