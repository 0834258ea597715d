"""Maps refusals and failures to ProviderErrors, and errors to ways to rescue a turn.
Status, code and class take precedence over words. Messages are one sentence of the provider, never its JSON or HTML."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from math import isfinite
from random import random
from typing import Any, Literal, cast

import msgspec

from zot.errors import AuthFailed, BadRequest, ContextTooLong, Overloaded, ProviderError, RateLimited, TransportFailed

BODY_KEPT = 4096
_CODE_KEPT = 200
_SENTENCE = 600  # characters; longer texts explain nothing more
_TAG = re.compile(r"<[^<>]*>")
_RETRY_DELAY = re.compile(r'"retryDelay"\s{0,9}:\s{0,9}"(\d{1,6}(?:\.\d{1,9})?)s"')
_RESETS_AT = re.compile(r'"resets_at"\s{0,9}:\s{0,9}(\d{9,11})')
_HIDDEN = ("script", "style")

_OVERFLOW_CODES = ("context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded")
_OVERFLOW_WORDS = (
    *_OVERFLOW_CODES,
    "prompt is too long",
    "maximum context length",
    "exceeds the available context size",
    "exceed context limit",
    "exceeds the context window",
    "input is too long",
    "exceeds the maximum number of tokens allowed",
)


def error_from_response(provider: str, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error of a response that is not 200; its text is ``<provider>: http <status>: <text of the body>``."""
    text = body[:BODY_KEPT].decode("utf-8", "replace").strip()
    code, message = error_details(text)
    code = code or headers.get("x-amzn-errortype", "").partition(":")[0][:_CODE_KEPT]
    shown = one_line_message(message or text, status) or "(empty body)"
    if 300 <= status < 400:
        place = headers.get("location", "nowhere")[:BODY_KEPT]
        shown = f"redirected to {place}; set that address as the base url"
    if code in _QUOTA:
        shown += _quota_hint(code, text)
    kind = _kind(status, code, message or text)
    return kind(
        f"{provider}: http {status}: {shown}",
        provider=provider,
        status=status,
        code=code,
        body=text,
        retryable=is_retried(status) and kind is not ContextTooLong and code not in _QUOTA,
        retry_after=_requested_wait(headers, text),
    )


def _quota_hint(code: str, body: str) -> str:
    """When the limit of a plan ends, and where its owner sees it."""
    found = _RESETS_AT.search(body)
    left = int(found[1]) - time.time() if found else 0
    when = f"; it resets in {left / 3600:.1f} h" if left >= 3600 else f"; it resets in {max(left, 60) / 60:.0f} min"
    hint = when if found and left > 0 else ""
    if code.startswith("subscription_sharing_workplace"):
        return f"{hint}; the owner of your workspace sets this limit"
    if code.startswith("subscription_sharing"):
        return f"{hint}; your plan's usage: https://chatgpt.com/settings/usage"
    return hint


def _requested_wait(headers: Mapping[str, str], body: str) -> float | None:
    """The requested wait: in a header, or in Google's field."""
    requested = retry_after(headers, time.time())
    found = _RETRY_DELAY.search(body) if requested is None else None
    return float(found[1]) if found else requested


def one_line_message(text: str, status: int = 0) -> str:
    """The text of an answer in one line: of a web page its title, without the repeated status."""
    if text.startswith("<"):
        text = _page_words(text) or "a web page without text"
        text = text.removeprefix(str(status)).lstrip(" :-–") or text
    text = " ".join(text.split())
    return text if len(text) <= _SENTENCE else text[:_SENTENCE].rstrip() + "…"


def _page_words(page: str) -> str:
    """The title of an HTML page, or its text without tags."""
    from html import unescape  # pages instead of answers are rare

    start = page.lower().find("<title")
    begin = page.find(">", start) + 1 if start >= 0 else 0
    if begin and (title := page[begin:].partition("</")[0].strip()):
        return unescape(title)
    for name in _HIDDEN:
        while (at := page.lower().find(f"<{name}")) >= 0:
            end = page.lower().find(f"</{name}>", at)
            page = page[:at] + (page[end + 3 + len(name) :] if end >= 0 else "")
    page = _TAG.sub(" ", page)
    return unescape(page.partition("<")[0]).strip()  # the rest is an incomplete tag


def is_overflow(code: str, message: str) -> bool:
    lower = message.lower()
    return code in _OVERFLOW_CODES or any(words in lower for words in _OVERFLOW_WORDS)


def error_details(body: str) -> tuple[str, str]:
    """The code (or type) and the message of a JSON error body in any of the known shapes; empty when unknown."""
    try:
        found: Any = msgspec.json.decode(body.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "", ""
    if isinstance(found, list) and found:
        found = cast("list[Any]", found)[0]
    if not isinstance(found, dict):
        return "", ""
    outer = cast("dict[str, Any]", found)
    error = outer.get("error", outer)
    if isinstance(error, str):
        return "", error
    if not isinstance(error, dict):
        return "", ""
    fields = cast("dict[str, Any]", error)
    code = next((fields[key] for key in ("code", "type", "status") if isinstance(fields.get(key), str)), "")
    message = next((fields[key] for key in ("message", "detail", "Message") if isinstance(fields.get(key), str)), "")
    return code[:_CODE_KEPT], message


def _kind(status: int, code: str, message: str) -> type[ProviderError]:
    if status == 413 or (status in (400, 422, 500) and is_overflow(code, message)):
        return ContextTooLong
    if status in (401, 403) or (status == 400 and message.startswith("API key not valid")):  # Google's 401
        return AuthFailed
    if status == 429:
        return RateLimited
    return Overloaded if status >= 500 else BadRequest


# Vendors' names of a failure inside an answer that had begun: a word (``overloaded_error``), a code
# (``context_length_exceeded``) or an HTTP status that came too late.
_AUTH = frozenset(
    {
        *("authentication_error", "permission_error", "invalid_api_key", "401", "403"),
        *("UNAUTHENTICATED", "PERMISSION_DENIED", "accessDeniedException"),
    }
)
_RATE = frozenset(
    {
        "rate_limit_error",
        "rate_limit_exceeded",
        "429",
        "RESOURCE_EXHAUSTED",
        "throttlingException",
        "modelNotReadyException",
    }
)
_QUOTA = frozenset(
    {
        *("insufficient_quota", "usage_limit_reached", "usage_not_included", "billing_error", "402"),
        *("subscription_sharing_usage_limit_exceeded", "quota_exceeded"),
        "subscription_sharing_workplace_individual_usage_limit_exceeded",
    }
)
_OVERLOADED = frozenset(
    {
        *("overloaded_error", "api_error", "timeout_error", "server_error", "server_is_overloaded", "slow_down"),
        *("UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"),
        *("serviceUnavailableException", "internalServerException", "modelStreamErrorException"),
        *("modelTimeoutException", "malformed_model_output", "malformed_tool_use"),
    }
)
_TOO_LONG = frozenset({"request_too_large", "413"})
_BAD = frozenset(
    {
        *("invalid_request_error", "invalid_prompt", "not_found_error", "refusal", "content_filter"),
        *("INVALID_ARGUMENT", "FAILED_PRECONDITION", "NOT_FOUND", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        *("400", "validationException", "guardrail_intervened", "content_filtered"),
    }
)


def error_from_stream(provider: str, text: str, code: str) -> ProviderError:
    """The error of an answer that had begun; ``text`` is shown, ``code`` is the vendor's name for the failure."""
    text, code = text[:BODY_KEPT], code[:_CODE_KEPT]
    if code.startswith("subscription_sharing"):
        text += _quota_hint(code, "")
    kind, retryable = _stream_kind(text, code)
    return kind(text, provider=provider, code=code, retryable=retryable)


def _stream_kind(text: str, code: str) -> tuple[type[ProviderError], bool]:
    if code in _TOO_LONG or is_overflow(code, text):
        return ContextTooLong, False
    if code in _AUTH:
        return AuthFailed, False
    if code in _RATE:
        return RateLimited, True
    if code in _QUOTA:
        return RateLimited, False
    if code in _OVERLOADED or (len(code) == 3 and code.startswith("5") and code.isdigit()):
        return Overloaded, True
    return (BadRequest if code in _BAD else ProviderError), False


RescueCategory = Literal["", "too_large", "network", "authentication", "permission", "model", "rate_limit", "server"]

_NO_SUCH_MODEL = re.compile(
    r"\bmodels?\b.{0,200}?\b(?:not found|not exist|no longer|unknown|not supported for|not available|retired)"
    r"|(?:no such|unknown|invalid|unsupported) model|not a valid model|not_found_error.{0,80}\bmodel:",
    re.IGNORECASE | re.DOTALL,
)

_RESCUE_WORDS: tuple[tuple[RescueCategory, tuple[str, ...]], ...] = (
    ("too_large", ("http 413", " 413", "payload too large", "request entity too large")),
    (
        "network",
        (
            "timeout",
            "deadline exceeded",
            "connection refused",
            "connection reset",
            "no such host",
            "tls handshake",
            "eof",
        ),
    ),
    (
        "authentication",
        (
            "http 401",
            " 401:",
            "invalid_authentication",
            "token expired",
            "invalid api key",
            "invalid_api_key",
            "invalid x-api-key",
            "incorrect api key",
        ),
    ),
    ("permission", ("http 403", " 403:", "permission denied", "forbidden")),
    ("rate_limit", ("http 429", " 429:", "rate limit", "rate_limit", "too many requests", "quota")),
    (
        "server",
        (
            *(f"http {status}" for status in (500, 502, 503, 504, 529)),
            *(f" {status}:" for status in (500, 502, 503, 504, 529)),
            "upstream connect error",
            "service unavailable",
            "internal server error",
            "bad gateway",
            "gateway timeout",
            "overloaded",
        ),
    ),
)


def recovery_kind(error: BaseException) -> RescueCategory:
    """How a failed turn may be rescued: ``too_large`` by compacting, others by another model, empty not at all."""
    match error:
        case ContextTooLong():
            return "too_large"
        case TransportFailed():
            return "network"
        case AuthFailed():
            return "permission" if error.status == 403 else "authentication"
        case RateLimited():
            return "rate_limit"
        case Overloaded():
            return "server"
        case BadRequest():
            return "model" if _is_unknown_model(error) else ""
        case _:
            text = str(error).lower()
            if text.startswith("413 "):
                return "too_large"
            for category, words in _RESCUE_WORDS:
                if any(word in text for word in words):
                    return category
            return ""


def _is_unknown_model(error: BadRequest) -> bool:
    """True if the provider does not have the model, or not any more."""
    if error.code == "model_not_found":
        return True
    return error.status in (400, 404, 410) and _NO_SUCH_MODEL.search(error.body) is not None


_ADVICE: dict[RescueCategory, str] = {
    "network": "check the connection, or try again later",
    "authentication": "check the key: --api-key, its variable, or log in with `zot auth login` or /login",
    "permission": "this key has no access to that model: choose another one with --model, or another key",
    "model": "list models with zot --list-models, and choose one with --model",
    "rate_limit": "try again later, or set a fallback with --fallback-model",
    "server": "try again later, or set a fallback with --fallback-model",
}
_NO_CREDIT = "the account has no credit left: add some, or use another provider with --provider"


def hint_for(error: BaseException) -> str:
    """Advice for a user who is not asked; empty if the error contains it, or none is known."""
    if isinstance(error, ProviderError) and (error.code in _QUOTA or error.status == 402):
        return _NO_CREDIT
    if not isinstance(error, ProviderError) or "; " in str(error):  # advice is already included
        return ""
    return _ADVICE.get(recovery_kind(error), "")


# Which failures are retried, and when. Pure: the clock is passed in, no waiting.

LONGEST_WAIT_S = 60.0
LONGEST_ASKED_S = 180.0
NOBODY_THERE = 2  # retries of a refused connection on this machine: no server is running, and few start by themselves
RATE_LIMITED = "rate limited"
_SPREAD = 0.2  # jitter of a wait, in both directions
_DOUBLINGS = 40  # longer than any wait
_YEAR_S = 365 * 86400.0
_LONGEST_DATE = 64  # characters; a longer value is ignored
_LONGEST_REASON = 100


def is_retried(status: int) -> bool:
    """Statuses that may be temporary. 501 never is."""
    return status in (408, 409, 429) or (500 <= status < 600 and status != 501)


def next_wait(
    error: ProviderError, failed: int, *, retries: int, first_s: float, chance: Callable[[], float] = random
) -> float | None:
    """Seconds before the next attempt after ``failed`` failures; None if the error is final."""
    if not error.retryable or failed > retries:
        return None
    usual = min(first_s * 2 ** min(failed - 1, _DOUBLINGS), LONGEST_WAIT_S)
    wait = round(usual * (1 + _SPREAD * (2 * chance() - 1)), 3)
    requested = error.retry_after or 0.0
    # Never wait less than the usual time: ten attempts within a second would be useless.
    return max(wait, requested) if requested <= LONGEST_ASKED_S else None


def final_error(error: ProviderError) -> ProviderError:
    """The final error; names a requested pause that was too long."""
    if error.retryable and error.retry_after is not None and error.retry_after > LONGEST_ASKED_S:
        asked = f"{error.retry_after:.0f} s" if error.retry_after < _YEAR_S else "for years"
        error.args = (f"{error} (asked to wait {asked}, longer than {LONGEST_ASKED_S:.0f} s; try later)",)
    return error


def reason(error: ProviderError) -> str:
    """The reason of a wait in a few words, for a status row."""
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
    """The pause a provider requests, in seconds from ``now`` (Unix time); None if there is none."""
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
    from email.utils import parsedate_to_datetime  # dates are rare and the parser's import is slow

    if len(date) > _LONGEST_DATE:
        return None
    try:
        return max(parsedate_to_datetime(date).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):  # the library's parser may fail on invalid dates
        return None
