"""Which failures are worth another attempt, and after how long. Pure: no clock but the one passed in, no waiting.

Three attempts in all. A provider that asks for a pause gets it, up to a minute; a longer one ends the
attempts, and the error says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from zot.errors import ProviderError

WAITS_S = (0.25, 0.75)
LONGEST_WAIT_S = 60.0
_YEAR_S = 365 * 86400.0
_LONGEST_DATE = 64  # characters; a longer one is none


def is_retried(status: int) -> bool:
    """Statuses that may go away by themselves. 501 never does."""
    return status in (408, 409, 429) or (500 <= status < 600 and status != 501)


def next_wait(error: ProviderError, failed: int) -> float | None:
    """Seconds before the next attempt after ``failed`` attempts that failed; None when the error is final."""
    if not error.retryable or failed > len(WAITS_S):
        return None
    if error.retry_after is None:
        return WAITS_S[failed - 1]
    return error.retry_after if error.retry_after <= LONGEST_WAIT_S else None


def final(error: ProviderError) -> ProviderError:
    """The error as the caller sees it: names a pause that was too long to wait for."""
    if error.retryable and error.retry_after is not None and error.retry_after > LONGEST_WAIT_S:
        asked = f"{error.retry_after:.0f} s" if error.retry_after < _YEAR_S else "for years"
        error.args = (f"{error} (asked to wait {asked}, longer than {LONGEST_WAIT_S:.0f} s; try later)",)
    return error


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
