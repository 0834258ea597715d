"""Failures a provider reports inside an answer it had already begun, as the classes callers branch on.

Vendors name them by words (``overloaded_error``), by codes (``context_length_exceeded``) or by an HTTP
status that came too late to be one.
"""

from __future__ import annotations

from zot.errors import AuthFailed, BadRequest, ContextTooLong, Overloaded, ProviderError, RateLimited
from zot.provider.failures import is_overflow

_AUTH = frozenset({"authentication_error", "permission_error", "invalid_api_key", "401", "403"})
_RATE = frozenset({"rate_limit_error", "rate_limit_exceeded", "429"})
_QUOTA = frozenset({"insufficient_quota", "usage_limit_reached", "usage_not_included", "billing_error", "402"})
_OVERLOADED = frozenset(
    {"overloaded_error", "api_error", "timeout_error", "server_error", "server_is_overloaded", "slow_down"}
)
_TOO_LONG = frozenset({"request_too_large", "413"})
_BAD = frozenset({"invalid_request_error", "invalid_prompt", "not_found_error", "refusal", "content_filter"})


def stream_error(text: str, *, provider: str, code: str) -> ProviderError:
    """``text`` is shown; ``code`` is the vendor's own word or number for what happened."""
    kind, retryable = _kind(text, code)
    return kind(text, provider=provider, code=code, retryable=retryable)


def _kind(text: str, code: str) -> tuple[type[ProviderError], bool]:
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
