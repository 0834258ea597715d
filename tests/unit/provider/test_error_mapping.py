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
from zot.provider.error_mapping import advice, failure, rescue_category, sentence


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
        (b"<html><head><title></title></head></html>", "a web page without words answered"),
        (b"<" * 4000, "a web page without words answered"),
        (b"<title", "a web page without words answered"),
    ],
)
def test_the_text_is_a_sentence_in_the_provider_s_words(body: bytes, said: str) -> None:
    error = failure("a", 502, {}, body)
    assert str(error) == f"a: http 502: {said}"
    assert error.body == body.decode().strip(), "whoever needs all of it has it"


def test_a_sentence_has_an_end() -> None:
    assert len(sentence("word " * 1000)) <= 601


def test_an_empty_account_is_not_tried_again() -> None:
    body = b'{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}'
    error = failure("openai", 429, {}, body)
    assert isinstance(error, RateLimited) and not error.retryable
    assert "no credit left" in advice(error)


@pytest.mark.parametrize(
    ("error", "what_to_do"),
    [
        (AuthFailed("a: http 401: no", status=401), "check the key: --api-key, its variable, or log in with /login"),
        (AuthFailed("a: http 403: no", status=403), "this key may not use that model"),
        (Overloaded("a: http 529: busy", status=529), "--fallback-model"),
        (TransportFailed("a: connection lost"), "check the connection"),
        (TransportFailed("a: connection refused; start the server"), ""),
        (BadRequest("a: http 400: a bad field"), ""),
        (ValueError("timeout"), ""),
    ],
)
def test_what_to_do_about_it_is_said_where_it_is_known(error: Exception, what_to_do: str) -> None:
    assert what_to_do in advice(error) and bool(what_to_do) == bool(advice(error))


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


def test_google_says_in_the_body_how_long_to_wait() -> None:
    body = b'{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay": "34.4s"}]}}'
    error = failure("google", 429, {}, body)
    assert (type(error), error.code, error.retry_after) == (RateLimited, "RESOURCE_EXHAUSTED", 34.4)
    assert failure("google", 429, {"retry-after": "7"}, body).retry_after == 7


def test_google_calls_a_bad_key_a_bad_request() -> None:
    body = b'{"error":{"code":400,"message":"API key not valid. Please pass one.","status":"INVALID_ARGUMENT"}}'
    assert isinstance(failure("google", 400, {}, body), AuthFailed)


def test_amazon_names_a_failure_in_a_header_and_spells_its_message_in_two_ways() -> None:
    headers = {"x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/"}
    for body in (b'{"message":"Too many"}', b'{"Message":"Too many"}'):
        error = failure("bedrock", 429, headers, body)
        assert (str(error), error.code) == ("bedrock: http 429: Too many", "ThrottlingException")
    long = failure("bedrock", 400, {}, b'{"message":"Input is too long for requested model."}')
    assert isinstance(long, ContextTooLong)
