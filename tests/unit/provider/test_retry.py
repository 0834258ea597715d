"""Which failures are tried again, and when."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from zot.errors import BadRequest, Overloaded, ProviderError, RateLimited, TransportFailed
from zot.provider.retry import final, is_retried, next_wait, retry_after

NOW = 1_790_000_000.0


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_statuses_that_pass_by_themselves_are_retried(status: int) -> None:
    """engine-012: 408, 409, 429, 500, 502, 504 and 529 are worth another try."""
    assert is_retried(status)


@pytest.mark.parametrize("status", [307, 400, 401, 402, 403, 404, 413, 422, 451, 501])
def test_other_statuses_are_final(status: int) -> None:
    """engine-010, engine-011, engine-012: every other status, 400, 401 and 501 among them, is final."""
    assert not is_retried(status)


def test_the_waits_are_a_quarter_and_three_quarters_of_a_second_then_no_more() -> None:
    """engine-013: the waits are 250 ms and 750 ms, and there is no third retry."""
    error = Overloaded("x", retryable=True)
    assert [next_wait(error, failed) for failed in (1, 2, 3)] == [0.25, 0.75, None]


def test_a_final_error_is_not_waited_for() -> None:
    assert next_wait(BadRequest("x"), 1) is None


def test_a_retry_after_up_to_a_minute_replaces_the_wait() -> None:
    """engine-013: a `Retry-After` of up to 60 seconds replaces the wait, and so does one of zero."""
    assert next_wait(RateLimited("x", retryable=True, retry_after=60), 1) == 60
    assert next_wait(RateLimited("x", retryable=True, retry_after=0), 2) == 0


def test_a_longer_retry_after_ends_the_retries_with_an_error_naming_it() -> None:
    """engine-013: a `Retry-After` of more than 60 seconds ends the retries with an error that names it."""
    error = RateLimited("kimi: http 429: slow down", retryable=True, retry_after=61)
    assert next_wait(error, 1) is None
    assert str(final(error)).startswith("kimi: http 429: slow down (asked to wait 61 s, longer than 60 s")


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
    assert "asked to wait for years, longer than 60 s" in str(final(error))


def test_retry_after_in_milliseconds_is_more_precise() -> None:
    assert retry_after({"retry-after": "2", "retry-after-ms": "1500"}, NOW) == 1.5
