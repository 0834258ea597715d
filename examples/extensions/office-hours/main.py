"""Lets the agent call the model only during office hours: the place to put budgets, quotas and rate limits.

OFFICE_HOURS says when (default ``09:00-17:00``), OFFICE_DAYS on which days (default ``1-5``, Monday is 1).
"""

from __future__ import annotations

import os
import time

from zot.ext import Extension, TurnStartDecision

ext = Extension("office-hours", "1.0.0")
HOURS = os.environ.get("OFFICE_HOURS", "09:00-17:00")
DAYS = os.environ.get("OFFICE_DAYS", "1-5")


def minutes(clock: str) -> int:
    hours, _, rest = clock.partition(":")
    return int(hours) * 60 + int(rest or 0)


def is_open(now: time.struct_time) -> bool:
    opens, closes = map(minutes, HOURS.split("-"))
    first, last = map(int, DAYS.split("-"))
    return first <= now.tm_wday + 1 <= last and opens <= now.tm_hour * 60 + now.tm_min < closes


@ext.intercept_turn_start
def turn_start(step: int) -> TurnStartDecision:
    """A turn that began in time may finish: only the first step of a prompt is asked about."""
    if step > 1 or is_open(time.localtime()):
        return TurnStartDecision()
    return TurnStartDecision(block=True, reason=f"out of office: the agent works {HOURS}, days {DAYS}")


if __name__ == "__main__":
    ext.run()
