"""Quota headers of vendors as windows and as text; malformed ones are ignored."""

from __future__ import annotations

import pytest

from zot.provider.messages import QuotaWindow
from zot.provider.quota import quota_lines, quota_status, quota_windows

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def test_quota_of_codex_has_two_windows_of_the_plan() -> None:
    headers = {
        "x-codex-primary-used-percent": "42.5",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(int(NOW) + 7200),
        "x-codex-secondary-used-percent": "9",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-after-seconds": "86400",
    }
    found = quota_windows(headers, NOW)
    assert found == (
        QuotaWindow("5 h", 57.5, "2027-01-15T10:00:00Z", plan=True),
        QuotaWindow("7 d", 91.0, "2027-01-16T08:00:00Z", plan=True),
    )
    assert quota_lines(found, NOW) == ["5 h: 57.5 % left, resets in 2 h", "7 d: 91 % left, resets in 1 d"]
    assert quota_status(found, NOW) == "5 h 58% left, 7 d 91% left"
    assert quota_status(found, NOW + 10_000) == "7 d 91% left", "a window that ended is not shown"


def test_quota_of_copilot_counts_premium_requests() -> None:
    headers = {
        "x-quota-snapshot-premium_interactions": "ent=300&ov=0.0&ovPerm=false&rem=12.5&rst=2027-02-01T00%3A00%3A00Z",
        "x-quota-snapshot-chat": "ent=-1&rem=100.0",
    }
    found = quota_windows(headers, NOW)
    assert found == (QuotaWindow("premium requests", 12.5, "2027-02-01T00:00:00Z", plan=True),)


def test_quota_of_anthropic_is_a_rate_limit() -> None:
    headers = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2027-01-15T08:01:00Z",
        "anthropic-ratelimit-input-tokens-limit": "40000",
        "anthropic-ratelimit-input-tokens-remaining": "2000",
    }
    found = quota_windows(headers, NOW)
    assert found == (
        QuotaWindow("requests", 98.0, "2027-01-15T08:01:00Z"),
        QuotaWindow("input tokens", 5.0),
    )
    assert quota_status(found, NOW) == "input tokens 5% left", "a rate limit is shown when little is left"


@pytest.mark.parametrize(
    ("reset", "time"),
    [("6m0s", "2027-01-15T08:06:00Z"), ("20ms", "2027-01-15T08:00:00Z"), ("30", "2027-01-15T08:00:30Z"), ("soon", "")],
)
def test_quota_of_openai_reads_durations(reset: str, time: str) -> None:
    headers = {
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "250",
        "x-ratelimit-reset-tokens": reset,
    }
    assert quota_windows(headers, NOW) == (QuotaWindow("tokens", 25.0, time),)


def test_quota_of_openrouter_has_times_in_milliseconds() -> None:
    headers = {
        "x-ratelimit-limit": "20",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": str(int(NOW * 1000) + 60_000),
    }
    assert quota_windows(headers, NOW) == (QuotaWindow("requests", 0.0, "2027-01-15T08:01:00Z"),)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-codex-primary-used-percent": "nan"},
        {"x-codex-primary-used-percent": "a lot"},
        {"x-ratelimit-limit-tokens": "0", "x-ratelimit-remaining-tokens": "0"},
        {"x-ratelimit-limit-tokens": "10"},
        {"x-quota-snapshot-premium_interactions": "garbage"},
        {"x-quota-snapshot-premium_interactions": "&".join(["rem=1"] * 3) + "&a=1" * 300},
        {"anthropic-ratelimit-tokens-limit": "1e400", "anthropic-ratelimit-tokens-remaining": "1"},
    ],
)
def test_quota_headers_without_sense_are_ignored(headers: dict[str, str]) -> None:
    found = quota_windows(headers, NOW)
    assert all(0 <= window.remaining_percent <= 100 for window in found)
    assert len(found) <= 1


def test_quota_reset_far_away_has_no_time() -> None:
    headers = {"x-codex-primary-used-percent": "-5", "x-codex-primary-reset-at": "1e18"}
    assert quota_windows(headers, NOW) == (QuotaWindow("primary", 100.0, "", plan=True),)
