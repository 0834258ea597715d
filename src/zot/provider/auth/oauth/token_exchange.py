"""Exchange of a login for a token of some minutes (GitHub Copilot): the login is kept as the refresh token.
The answer may name the API's address of the account, which must be in the domain of the settings."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.http_requests import (
    JsonResponse,
    error_from_response,
    get,
    host_of,
    sanitize_server_text,
)
from zot.provider.auth.oauth.settings import OAuthSettings, is_safe
from zot.provider.http.pool import HttpPool

_WHAT = "the token exchange"
_LONGEST_S = 24 * 3600
_NOT_OFFERED = 404  # this client may not exchange: the login itself signs requests


async def exchange_new_login(pool: HttpPool, settings: OAuthSettings, login: OAuthToken) -> OAuthToken:
    """As ``exchange_login`` for the answer of a login, which must not expire: only one token is kept."""
    if login.expiry or login.refresh_token:
        raise LoginFailed("the server issued a login that expires; use an OAuth app, or a GitHub App without expiry")
    return await exchange_login(pool, settings, login)


async def exchange_login(pool: HttpPool, settings: OAuthSettings, login: OAuthToken) -> OAuthToken:
    """``login`` with a fresh access token; LoginFailed if the account has no access or the login has ended."""
    secret = login.refresh_token or login.access_token
    answer = await get(pool, settings.exchange_url, _WHAT, (("authorization", f"Bearer {secret}"),))
    if answer.status == _NOT_OFFERED:
        return msgspec.structs.replace(login, access_token=secret, refresh_token="", expiry="")
    if answer.status == 401:
        raise LoginFailed(f"{_WHAT} answered http 401: the login was revoked", code="invalid_grant")
    if answer.status == 403:
        raise LoginFailed(f"{_WHAT} answered http 403: {_denied(answer)}", code="access_denied")
    if not 200 <= answer.status < 300:
        raise error_from_response(answer, _WHAT, {})
    token = answer.text("token")
    if not (token and token.isascii() and token.isprintable()):
        raise LoginFailed(f"{_WHAT} answered without a token")
    return msgspec.structs.replace(
        login,
        access_token=token,
        refresh_token=secret,
        token_type="Bearer",
        expiry=_expiry(answer),
        base_url=_address(answer, settings),
    )


def _denied(answer: JsonResponse) -> str:
    details: Any = answer.fields.get("error_details")
    found = cast("dict[str, Any]", details) if isinstance(details, dict) else {}
    message = found.get("message") or answer.text("message")
    return sanitize_server_text(message) if isinstance(message, str) and message else "this account has no access"


def _expiry(answer: JsonResponse) -> str:
    """By our own clock: the server's times are compared with the server's date."""
    ends: Any = answer.fields.get("expires_at")
    if not isinstance(ends, int | float) or isinstance(ends, bool):
        return ""
    left = ends - (answer.date or time.time())
    if not 0 < left < _LONGEST_S:
        return ""
    return datetime.fromtimestamp(time.time() + left, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _address(answer: JsonResponse, settings: OAuthSettings) -> str:
    endpoints: Any = answer.fields.get("endpoints")
    named: Any = cast("dict[str, Any]", endpoints).get("api") if isinstance(endpoints, dict) else None
    if not isinstance(named, str) or not named:
        return ""
    host, domain = (urlsplit(named).hostname or "").lower(), settings.exchange_domain
    if not is_safe(named) or not domain or not (host == domain or host.endswith(f".{domain}")):
        raise LoginFailed(f"{_WHAT} names {host_of(named)} for requests, which is not in {domain or 'its settings'}")
    return named.rstrip("/")
