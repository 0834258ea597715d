"""Which failures are worth another attempt, and after how long. Pure: no clock but the one passed in, no waiting.

Ten attempts within about three minutes unless the endpoint says otherwise: each wait is twice the one before, up to a
minute, a little more or less by chance, so that many who failed together do not come back together. A provider that
asks for a longer pause gets it, up to three minutes; a longer one ends the attempts, and the error says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from random import random

from zot.errors import Overloaded, ProviderError, RateLimited

LONGEST_WAIT_S = 60.0
LONGEST_ASKED_S = 180.0
NOBODY_THERE = 2  # retries of a connection this very machine refuses: no server is running, and few start by themselves
RATE_LIMITED = "rate limited"
_SPREAD = 0.2  # of a wait, in both directions
_DOUBLINGS = 40  # more of them are longer than any wait
_YEAR_S = 365 * 86400.0
_LONGEST_DATE = 64  # characters; a longer one is none
_LONGEST_REASON = 100


def is_retried(status: int) -> bool:
    """Statuses that may go away by themselves. 501 never does."""
    return status in (408, 409, 429) or (500 <= status < 600 and status != 501)


def next_wait(
    error: ProviderError, failed: int, *, retries: int, first_s: float, chance: Callable[[], float] = random
) -> float | None:
    """Seconds before the next attempt after ``failed`` attempts that failed; None when the error is final."""
    if not error.retryable or failed > retries:
        return None
    usual = min(first_s * 2 ** min(failed - 1, _DOUBLINGS), LONGEST_WAIT_S)
    wait = round(usual * (1 + _SPREAD * (2 * chance() - 1)), 3)
    asked = error.retry_after or 0.0
    # One who asks for less than the usual wait is asked no sooner: ten attempts within a second outlast nothing.
    return max(wait, asked) if asked <= LONGEST_ASKED_S else None


def final(error: ProviderError) -> ProviderError:
    """The error as the caller sees it: names a pause that was too long to wait for."""
    if error.retryable and error.retry_after is not None and error.retry_after > LONGEST_ASKED_S:
        asked = f"{error.retry_after:.0f} s" if error.retry_after < _YEAR_S else "for years"
        error.args = (f"{error} (asked to wait {asked}, longer than {LONGEST_ASKED_S:.0f} s; try later)",)
    return error


def reason(error: ProviderError) -> str:
    """Why there is a wait, in the few words a status row has room for."""
    match error:
        case RateLimited():
            return RATE_LIMITED
        case Overloaded() if error.status in (0, 503, 529):
            return "overloaded"
        case Overloaded():
            return f"server error (http {error.status})"
        case _:
            text = " ".join(str(error).removeprefix(f"{error.provider}: ").split())
            return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "…"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The pause a provider asks for, in seconds from ``now`` (Unix time); None when it names none."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    seconds = _number(value)
    return seconds if seconds is not None else _until(value, now)


def _number(text: str) -> float | None:
    try:
        number = float(text) if len(text) <= _LONGEST_DATE else float("nan")
    except ValueError:
        return None
    return max(number, 0.0) if isfinite(number) else None


def _until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # a date is rare and the parser's import is not cheap

    if len(date) > _LONGEST_DATE:
        return None
    try:
        return max(parsedate_to_datetime(date).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):  # what a stranger's date does to the library's parser
        return None
