"""What is left of a plan or a rate limit, as the headers of an answer state it; imported at the end of an answer that
has such headers. Times are by the machine's clock; malformed values are ignored."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qs

from zot.provider.messages import QuotaWindow

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(ms|[smhd])")
_LONGEST_S = 400 * 86400
_LONGEST_HEADER = 400
_COPILOT = {"premium_interactions": "premium requests", "premium_models": "premium requests", "chat": "chat"}
_KINDS = ("requests", "tokens", "input-tokens", "output-tokens")


def quota_windows(headers: Mapping[str, str], now: float = 0) -> tuple[QuotaWindow, ...]:
    """The windows of an answer, those of a plan first."""
    now = now or time.time()
    found = [*_codex(headers, now), *_copilot(headers), *_rate_limits(headers, now)]
    return tuple({window.name: window for window in reversed(found)}.values())[::-1]


def _codex(headers: Mapping[str, str], now: float) -> Iterator[QuotaWindow]:
    for kind in ("primary", "secondary"):
        used = _number(headers.get(f"x-codex-{kind}-used-percent"))
        if used is None:
            continue
        minutes = _number(headers.get(f"x-codex-{kind}-window-minutes")) or 0
        ends = _number(headers.get(f"x-codex-{kind}-reset-at"))
        after = _number(headers.get(f"x-codex-{kind}-reset-after-seconds"))
        ends = ends if ends is not None else (now + after if after is not None else None)
        yield QuotaWindow(_length(minutes) or kind, _percent(100 - used), _time(ends, now), plan=True)


def _copilot(headers: Mapping[str, str]) -> Iterator[QuotaWindow]:
    for kind, name in _COPILOT.items():
        fields = parse_qs(headers.get(f"x-quota-snapshot-{kind}", "")[:_LONGEST_HEADER])
        left, entitled = _number(fields.get("rem", [""])[0]), _number(fields.get("ent", [""])[0])
        if left is None or (entitled is not None and entitled < 0):  # unlimited
            continue
        yield QuotaWindow(name, _percent(left), _rfc3339(fields.get("rst", [""])[0]), plan=True)


def _rate_limits(headers: Mapping[str, str], now: float) -> Iterator[QuotaWindow]:
    for kind in _KINDS:
        for start, end in (("anthropic-ratelimit-", ""), ("x-ratelimit-", kind)):
            names = [f"{start}{part}-{kind}" if end else f"{start}{kind}-{part}" for part in _PARTS]
            if window := _window(kind.replace("-", " "), [headers.get(name) for name in names], now):
                yield window
    if window := _window("requests", [headers.get(f"x-ratelimit-{part}") for part in _PARTS], now):
        yield window


_PARTS = ("limit", "remaining", "reset")


def _window(name: str, values: list[str | None], now: float) -> QuotaWindow | None:
    limit, left = _number(values[0]), _number(values[1])
    if not limit or left is None or limit < 0:
        return None
    return QuotaWindow(name, _percent(100 * left / limit), _reset(values[2] or "", now))


def _reset(text: str, now: float) -> str:
    """A time, a time in milliseconds or seconds since the epoch, or a duration such as ``6m0s``."""
    if (number := _number(text)) is not None:
        return _time(number / 1000 if number > 1e11 else number if number > 1e9 else now + number, now)
    if pieces := _DURATION.findall(text):
        return _time(now + sum(float(size) * _UNITS[unit] for size, unit in pieces), now)
    return _rfc3339(text)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if -1e15 < value < 1e15 else None


def _percent(value: float) -> float:
    return round(min(max(value, 0.0), 100.0), 1)


def _time(seconds: float | None, now: float) -> str:
    if seconds is None or not 0 <= seconds - now < _LONGEST_S:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _rfc3339(text: str) -> str:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if when.tzinfo else f"{when:%Y-%m-%dT%H:%M:%S}Z"


def _length(minutes: float) -> str:
    if minutes >= 1440:
        return f"{minutes / 1440:g} d"
    return f"{minutes / 60:g} h" if minutes >= 60 else f"{minutes:g} min" if minutes else ""


# For screens.


def quota_lines(windows: tuple[QuotaWindow, ...], now: float = 0) -> list[str]:
    """One line per window that has not ended."""
    now = now or time.time()
    lines: list[str] = []
    for window in windows:
        left = _left(window, now)
        if left is None:
            continue
        ends = f", resets in {_duration(left)}" if left else ""
        lines.append(f"{window.name}: {window.remaining_percent:g} % left{ends}")
    return lines


def quota_status(windows: tuple[QuotaWindow, ...], now: float = 0) -> str:
    """For the status bar: windows of a plan, and rate limits that are nearly used up."""
    now = now or time.time()
    shown = [
        f"{window.name} {window.remaining_percent:.0f}% left"
        for window in windows
        if (window.plan or window.remaining_percent < _LITTLE) and _left(window, now) is not None
    ]
    return ", ".join(shown[:_MOST])


_LITTLE = 10
_MOST = 2


def _left(window: QuotaWindow, now: float) -> float | None:
    """Seconds until the window ends, 0 if unknown; None if it has ended."""
    if not window.resets_at:
        return 0
    left = datetime.fromisoformat(window.resets_at).timestamp() - now
    return left if left > 0 else None


def _duration(seconds: float) -> str:
    if seconds >= 86400:
        return f"{seconds / 86400:.0f} d"
    return f"{seconds / 3600:.0f} h" if seconds >= 3600 else f"{max(seconds / 60, 1):.0f} min"
