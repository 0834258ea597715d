"""Refusals become typed errors; errors become a way to rescue the turn."""

from __future__ import annotations

import msgspec
import pytest

from zot.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    Overloaded,
    ProviderError,
    RateLimited,
    TransportFailed,
)
from zot.provider.failures import failure, rescue_category, rescue_reason


def test_the_text_names_provider_status_and_trimmed_body() -> None:
    """engine-016: an error reads `<provider>: http <status>: <body>`, with the body trimmed."""
    error = failure("anthropic", 400, {}, b"  bad thing\n\n")
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
    assert type(failure("x", status, {}, b"body")) is kind


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
def test_a_provider_s_words_for_overflow_give_context_too_long(body: object) -> None:
    error = failure("x", 400, {}, msgspec.json.encode(body))
    assert type(error) is ContextTooLong
    assert rescue_category(error) == "too_large"


def test_an_overflow_is_final_even_under_a_status_that_is_retried() -> None:
    assert not failure("x", 500, {}, b"the request exceeds the available context size").retryable


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[]", b"7", b'{"error":null}', b'{"error":[1]}', b"\xff\xfe", b"[" * 5000]
)
def test_an_odd_body_is_no_second_failure(body: bytes) -> None:
    assert str(failure("x", 500, {}, body)).startswith("x: http 500: ")


def test_the_code_is_kept() -> None:
    assert failure("x", 429, {}, b'{"error":{"type":"rate_limit_error","code":null}}').code == "rate_limit_error"


def test_a_long_body_is_cut() -> None:
    assert len(str(failure("x", 500, {}, b"y" * 10_000))) < 4200


def test_the_pause_asked_for_is_kept() -> None:
    assert failure("x", 429, {"retry-after": "12"}, b"").retry_after == 12


def test_a_redirect_names_where_it_leads() -> None:
    error = failure("x", 308, {"location": "https://elsewhere.example/v1"}, b"")
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
def test_rescue_goes_by_structure_first_and_by_words_second(error: Exception, category: str) -> None:
    assert rescue_category(error) == category


def test_the_rescue_reason_is_one_short_line() -> None:
    reason = rescue_reason(Overloaded("x: http 500: " + "long\n" * 100))
    assert reason.startswith("server error: x: http 500: long long")
    assert len(reason) == len("server error: ") + 140 + 1
