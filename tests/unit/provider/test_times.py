"""Times in messages: RFC 3339 in UTC with milliseconds, right also when a second ends or the clock is set back."""

from __future__ import annotations

import time

import pytest

from zot.provider.messages import utc_now


def test_every_time_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    for now in (1_772_323_199.25, 1_772_323_199.9995, 1_772_323_200.0, 1_772_323_199.5):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        told.append(utc_now())
    assert told == [
        "2026-02-28T23:59:59.250Z",
        "2026-02-28T23:59:59.999Z",
        "2026-03-01T00:00:00.000Z",
        "2026-02-28T23:59:59.500Z",
    ]
