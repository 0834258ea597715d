"""When a child that crashed is started again: after 1, 2, 4, 8, 16 s, then no more; a minute of life resets it."""

from __future__ import annotations

from zot.wire import limits


class Restarts:
    def __init__(self) -> None:
        self._used = 0

    def next_delay(self, lived_s: float) -> float | None:
        """How long to wait before the next start; None when there will be none."""
        if lived_s >= limits.RESTART_RESET:
            self._used = 0
        if self._used >= len(limits.RESTART_DELAYS):
            return None
        self._used += 1
        return limits.RESTART_DELAYS[self._used - 1]
