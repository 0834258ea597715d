"""Which failures are tried again, and when."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from zot.errors import BadRequest, Overloaded, ProviderError, RateLimited, TransportFailed
from zot.provider.retry import final, is_retried, next_wait, reason, retry_after

NOW = 1_790_000_000.0


def wait(
    error: ProviderError, failed: int, *, retries: int = 9, first_s: float = 0.5, chance: float = 0.5
) -> float | None:
    return next_wait(error, failed, retries=retries, first_s=first_s, chance=lambda: chance)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_statuses_that_pass_by_themselves_are_retried(status: int) -> None:
    """engine-012: 408, 409, 429, 500, 502, 504 and 529 are worth another try."""
    assert is_retried(status)


@pytest.mark.parametrize("status", [307, 400, 401, 402, 403, 404, 413, 422, 451, 501])
def test_other_statuses_are_final(status: int) -> None:
    """engine-010, engine-011, engine-012: every other status, 400, 401 and 501 among them, is final."""
    assert not is_retried(status)


def test_ten_attempts_within_three_minutes_each_wait_twice_the_one_before() -> None:
    """engine-013, with more patience than it asks for: nine waits, then no more."""
    error = Overloaded("x", retryable=True)
    waits = [wait(error, failed) for failed in range(1, 11)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, None]
    assert sum(filter(None, waits)) == pytest.approx(180, abs=5)


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.999])
def test_chance_spreads_the_waits_and_two_minutes_are_outlasted_all_the_same(chance: float) -> None:
    error = Overloaded("x", retryable=True)
    waits = [wait(error, failed, chance=chance) or 0.0 for failed in range(1, 10)]
    assert waits[3] == pytest.approx(4 * (0.8 + 0.4 * chance), abs=0.001)
    assert 120 < sum(waits) < 225


def test_the_number_of_retries_and_the_first_wait_are_the_endpoint_s() -> None:
    error = Overloaded("x", retryable=True)
    assert wait(error, 1, retries=0) is None
    assert [wait(error, failed, retries=2, first_s=3) for failed in (1, 2, 3)] == [3, 6, None]
    assert wait(error, 5_000, retries=10_000) == 60


def test_a_final_error_is_not_waited_for() -> None:
    assert wait(BadRequest("x"), 1) is None


def test_a_pause_that_was_asked_for_is_kept_up_to_three_minutes() -> None:
    """engine-013: a `Retry-After` replaces the wait; a shorter one than the usual wait uses no attempt up sooner."""
    assert wait(RateLimited("x", retryable=True, retry_after=180), 1) == 180
    assert wait(RateLimited("x", retryable=True, retry_after=1.5), 1) == 1.5
    assert wait(RateLimited("x", retryable=True, retry_after=0), 2) == 1


def test_a_longer_retry_after_ends_the_retries_with_an_error_naming_it() -> None:
    """engine-013: a `Retry-After` that is too long ends the retries with an error that names it."""
    error = RateLimited("kimi: http 429: slow down", retryable=True, retry_after=181)
    assert wait(error, 1) is None
    assert str(final(error)).startswith("kimi: http 429: slow down (asked to wait 181 s, longer than 180 s")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Overloaded("a: http 529: {}", provider="a", status=529), "overloaded"),
        (Overloaded("Overloaded", provider="a", code="overloaded_error"), "overloaded"),
        (Overloaded("a: http 500: x", provider="a", status=500), "server error (http 500)"),
        (RateLimited("a: http 429: x", provider="a", status=429), "rate limited"),
        (TransportFailed("a: connect to h:1: connection refused", provider="a"), "connect to h:1: connection refused"),
        (TransportFailed("a: " + "long\n" * 90, provider="a"), "long " * 20 + "…"),
    ],
)
def test_the_reason_of_a_wait_fits_a_row(error: ProviderError, said: str) -> None:
    assert reason(error) == said


@pytest.mark.parametrize(
    "error", [TransportFailed("x", retryable=True), BadRequest("x", retry_after=900), Overloaded("x", retryable=True)]
)
def test_other_errors_keep_their_text(error: ProviderError) -> None:
    assert str(final(error)) == "x"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("7", 7.0), (" 1.5 ", 1.5), ("-3", 0.0), ("0", 0.0), ("soon", None), ("", None), ("nan", None), ("inf", None)],
)
def test_retry_after_reads_seconds(value: str, expected: float | None) -> None:
    """engine-013: `Retry-After` is read as a number of seconds, and nonsense is ignored."""
    assert retry_after({"retry-after": value}, NOW) == expected


def test_retry_after_reads_an_http_date() -> None:
    """engine-013: `Retry-After` is read as an HTTP date; one in the past means no wait."""
    assert retry_after({"retry-after": formatdate(NOW + 30, usegmt=True)}, NOW) == 30
    assert retry_after({"retry-after": formatdate(NOW - 30, usegmt=True)}, NOW) == 0


@pytest.mark.parametrize(
    "date",
    [
        "Wed, 21 Oct 100000000000000000000 07:28:00 GMT",
        "Wed, 21 Oct 2015 99:99:99 GMT",
        "Wed, 21 Oct 2015 07:28:00 +99999999999999999999",
        "9" * 5000,
        "Wed, 99 Foo 2015",
        "," * 60,
        "\x00\udcff",
    ],
)
def test_a_date_no_calendar_holds_is_no_date(date: str) -> None:
    """The attack: a date the library's parser has words of its own for."""
    assert retry_after({"retry-after": date}, NOW) is None


def test_a_wait_of_ages_is_told_in_few_words() -> None:
    error = RateLimited("busy", retryable=True, retry_after=1e300)
    assert "asked to wait for years, longer than 180 s" in str(final(error))


def test_retry_after_in_milliseconds_is_more_precise() -> None:
    assert retry_after({"retry-after": "2", "retry-after-ms": "1500"}, NOW) == 1.5
