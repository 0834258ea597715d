"""Refusals become typed errors; errors become a way to rescue the turn."""

from __future__ import annotations

from email.utils import formatdate

import msgspec
import pytest

from zot.errors import AuthFailed, BadRequest, ContextTooLong, Overloaded, ProviderError, RateLimited, TransportFailed
from zot.provider.error_mapping import (
    error_from_response,
    final_error,
    hint_for,
    is_retried,
    next_wait,
    one_line_message,
    reason,
    recovery_kind,
    retry_after,
)

LOG_IN = "log in with `zot auth login` or /login"


def test_the_text_names_provider_status_and_trimmed_body() -> None:
    """engine-016: an error reads `<provider>: http <status>: <body>`, with the body trimmed."""
    error = error_from_response("anthropic", 400, {}, b"  bad thing\n\n")
    assert str(error) == "anthropic: http 400: bad thing"
    assert (error.provider, error.status, error.body, error.retryable) == ("anthropic", 400, "bad thing", False)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, AuthFailed),
        (403, AuthFailed),
        (404, BadRequest),
        (413, ContextTooLong),
        (429, RateLimited),
        (500, Overloaded),
        (503, Overloaded),
        (529, Overloaded),
    ],
)
def test_each_status_has_its_class(status: int, kind: type[ProviderError]) -> None:
    assert type(error_from_response("x", status, {}, b"body")) is kind


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "context_length_exceeded", "message": "too much"}},
        {"error": {"code": 400, "type": "exceed_context_size_error", "message": "no", "n_ctx": 4096}},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
        {"error": {"message": "This model's Maximum Context Length is 8192 tokens"}},
        {"error": "input length and `max_tokens` exceed context limit"},
        [{"error": {"message": "Input is too long for requested model"}}],
    ],
)
def test_overflow_messages_give_context_too_long(body: object) -> None:
    error = error_from_response("x", 400, {}, msgspec.json.encode(body))
    assert type(error) is ContextTooLong
    assert recovery_kind(error) == "too_large"


def test_overflow_is_final_even_with_retryable_status() -> None:
    assert not error_from_response("x", 500, {}, b"the request exceeds the available context size").retryable


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[]", b"7", b'{"error":null}', b'{"error":[1]}', b"\xff\xfe", b"[" * 5000]
)
def test_odd_body_does_not_cause_a_second_failure(body: bytes) -> None:
    assert str(error_from_response("x", 500, {}, body)).startswith("x: http 500: ")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
            "invalid x-api-key",
        ),
        (b'{"error":"no such key"}', "no such key"),
        (b'{"detail":"Not authenticated"}', "Not authenticated"),
        (b'{"odd":"shape"}', '{"odd":"shape"}'),
        (b"two\n  lines", "two lines"),
        (
            b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>",
            "Bad Gateway",
        ),
        (b"<!DOCTYPE html><TITLE>Caf\xc3\xa9 &amp; more</TITLE>", "Caf\u00e9 & more"),
        (b"<html><style>p {color: red}</style><body><p>Please <b>wait</b></p>", "Please wait"),
        (b"<html><head><title></title></head></html>", "a web page without text"),
        (b"<" * 4000, "a web page without text"),
        (b"<title", "a web page without text"),
    ],
)
def test_error_text_is_a_sentence_with_provider_message(body: bytes, said: str) -> None:
    error = error_from_response("a", 502, {}, body)
    assert str(error) == f"a: http 502: {said}"
    assert error.body == body.decode().strip(), "whoever needs all of it has it"


def test_a_sentence_has_an_end() -> None:
    assert len(one_line_message("word " * 1000)) <= 601


def test_an_empty_account_is_not_tried_again() -> None:
    body = b'{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}'
    error = error_from_response("openai", 429, {}, body)
    assert isinstance(error, RateLimited) and not error.retryable
    assert "no credit left" in hint_for(error)


@pytest.mark.parametrize(
    ("error", "what_to_do"),
    [
        (AuthFailed("a: http 401: no", status=401), f"check the key: --api-key, its variable, or {LOG_IN}"),
        (AuthFailed("a: http 403: no", status=403), "this key has no access to that model"),
        (Overloaded("a: http 529: busy", status=529), "--fallback-model"),
        (TransportFailed("a: connection lost"), "check the connection"),
        (TransportFailed("a: connection refused; start the server"), ""),
        (BadRequest("a: http 400: a bad field"), ""),
        (ValueError("timeout"), ""),
    ],
)
def test_known_errors_have_a_fix(error: Exception, what_to_do: str) -> None:
    assert what_to_do in hint_for(error) and bool(what_to_do) == bool(hint_for(error))


def test_error_code_is_preserved() -> None:
    assert (
        error_from_response("x", 429, {}, b'{"error":{"type":"rate_limit_error","code":null}}').code
        == "rate_limit_error"
    )


def test_a_long_body_is_cut() -> None:
    assert len(str(error_from_response("x", 500, {}, b"y" * 10_000))) < 4200


def test_retry_after_is_preserved() -> None:
    assert error_from_response("x", 429, {"retry-after": "12"}, b"").retry_after == 12


def test_a_redirect_names_where_it_leads() -> None:
    error = error_from_response("x", 308, {"location": "https://elsewhere.example/v1"}, b"")
    assert "redirected to https://elsewhere.example/v1" in str(error)
    assert not error.retryable


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (TransportFailed("anything"), "network"),
        (AuthFailed("x", status=401), "authentication"),
        (AuthFailed("x", status=403), "permission"),
        (RateLimited("x"), "rate_limit"),
        (Overloaded("x"), "server"),
        (ContextTooLong("x"), "too_large"),
        (BadRequest("x: http 400: mentions timeout and 413"), ""),
        (ProviderError("openai: http 413: x"), "too_large"),
        (ProviderError("413 payload"), "too_large"),
        (ProviderError("kimi: read: unexpected EOF"), "network"),
        (ProviderError("dial: connection refused"), "network"),
        (ProviderError("openai: http 401: x"), "authentication"),
        (ProviderError("Incorrect API key provided"), "authentication"),
        (ProviderError("openai: http 403: x"), "permission"),
        (ProviderError("Too Many Requests"), "rate_limit"),
        (ProviderError("codex: Service Unavailable"), "server"),
        (ProviderError("openai: http 400: bad"), ""),
        (RuntimeError("Bad Gateway"), "server"),
    ],
)
def test_rescue_uses_structure_before_message(error: Exception, category: str) -> None:
    assert recovery_kind(error) == category


def test_google_retry_delay_is_read_from_body() -> None:
    body = b'{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay": "34.4s"}]}}'
    error = error_from_response("google", 429, {}, body)
    assert (type(error), error.code, error.retry_after) == (RateLimited, "RESOURCE_EXHAUSTED", 34.4)
    assert error_from_response("google", 429, {"retry-after": "7"}, body).retry_after == 7


def test_google_calls_a_bad_key_a_bad_request() -> None:
    body = b'{"error":{"code":400,"message":"API key not valid. Please pass one.","status":"INVALID_ARGUMENT"}}'
    assert isinstance(error_from_response("google", 400, {}, body), AuthFailed)


def test_amazon_error_is_read_from_header_and_both_spellings() -> None:
    headers = {"x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/"}
    for body in (b'{"message":"Too many"}', b'{"Message":"Too many"}'):
        error = error_from_response("bedrock", 429, headers, body)
        assert (str(error), error.code) == ("bedrock: http 429: Too many", "ThrottlingException")
    long = error_from_response("bedrock", 400, {}, b'{"message":"Input is too long for requested model."}')
    assert isinstance(long, ContextTooLong)


# Which failures are tried again, and when.

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


def test_ten_attempts_in_three_minutes_with_doubling_waits() -> None:
    """engine-013, with a larger limit: nine waits, then no more."""
    error = Overloaded("x", retryable=True)
    waits = [wait(error, failed) for failed in range(1, 11)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, None]
    assert sum(filter(None, waits)) == pytest.approx(180, abs=5)


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.999])
def test_jittered_waits_still_cover_two_minutes(chance: float) -> None:
    error = Overloaded("x", retryable=True)
    waits = [wait(error, failed, chance=chance) or 0.0 for failed in range(1, 10)]
    assert waits[3] == pytest.approx(4 * (0.8 + 0.4 * chance), abs=0.001)
    assert 120 < sum(waits) < 225


def test_endpoint_sets_retry_count_and_first_wait() -> None:
    error = Overloaded("x", retryable=True)
    assert wait(error, 1, retries=0) is None
    assert [wait(error, failed, retries=2, first_s=3) for failed in (1, 2, 3)] == [3, 6, None]
    assert wait(error, 5_000, retries=10_000) == 60


def test_a_final_error_is_not_waited_for() -> None:
    assert wait(BadRequest("x"), 1) is None


def test_retry_after_is_used_up_to_three_minutes() -> None:
    """engine-013: a `Retry-After` replaces the wait; a shorter one than the usual wait uses no attempt up sooner."""
    assert wait(RateLimited("x", retryable=True, retry_after=180), 1) == 180
    assert wait(RateLimited("x", retryable=True, retry_after=1.5), 1) == 1.5
    assert wait(RateLimited("x", retryable=True, retry_after=0), 2) == 1


def test_longer_retry_after_ends_retries_with_an_error() -> None:
    """engine-013: a `Retry-After` that is too long ends the retries with an error that names it."""
    error = RateLimited("kimi: http 429: slow down", retryable=True, retry_after=181)
    assert wait(error, 1) is None
    assert str(final_error(error)).startswith("kimi: http 429: slow down (asked to wait 181 s, longer than 180 s")


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
    assert str(final_error(error)) == "x"


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
def test_invalid_date_is_ignored(date: str) -> None:
    """Attack: a date that the library's parser rejects with an unusual error."""
    assert retry_after({"retry-after": date}, NOW) is None


def test_very_long_wait_is_formatted_briefly() -> None:
    error = RateLimited("busy", retryable=True, retry_after=1e300)
    assert "asked to wait for years, longer than 180 s" in str(final_error(error))


def test_retry_after_in_milliseconds_is_more_precise() -> None:
    assert retry_after({"retry-after": "2", "retry-after-ms": "1500"}, NOW) == 1.5
