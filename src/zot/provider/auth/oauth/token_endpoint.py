"""Token endpoint: sends a grant, returns a login. Also the steps a login reports to its front end."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, cast

import msgspec

from zot.errors import LoginFailed
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.oauth.http_requests import (
    JsonResponse,
    error_from_response,
    host_of,
    open_pool,
    post,
    sanitize_server_text,
)
from zot.provider.auth.oauth.server_metadata import (
    AuthorizationServer,
    OAuthClient,
    find_revocation,
    find_server,
    with_client,
)
from zot.provider.auth.oauth.settings import OAuthSettings, is_safe
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider

WHAT = "the token endpoint"
_LONGEST_S = 100 * 365 * 86400  # longer lifetimes count as none


async def request_token(
    pool: HttpPool,
    settings: OAuthSettings,
    server: AuthorizationServer,
    client: OAuthClient,
    grant: dict[str, str],
    *,
    url: str = "",
) -> JsonResponse:
    """The answer of an accepted grant; LoginFailed otherwise."""
    url = url or server.token_url
    if not url:
        raise LoginFailed("the authorization server has no token endpoint; set token_url in its oauth settings")
    wide = {"audience": settings.audience, "resource": settings.resource}
    fields, headers = with_client(client, server, {**grant, **{k: v for k, v in wide.items() if v}})
    answer = await post(pool, url, WHAT, fields, json=settings.token_body == "json", headers=headers)
    # GitHub refuses with status 200
    if not 200 <= answer.status < 300 or (answer.text("error") and not answer.text("access_token")):
        raise error_from_response(answer, WHAT, fields)
    return answer


def token_from(
    answer: JsonResponse,
    settings: OAuthSettings,
    server: AuthorizationServer,
    client: OAuthClient,
    *,
    nonce: str = "",
    before: OAuthToken | None = None,
) -> OAuthToken:
    """The login in an answer, with missing fields from ``before``; LoginFailed if it has none or one for another
    client."""
    token = answer.text("access_token")
    if not token:
        raise LoginFailed(f"{WHAT} answered without an access_token")
    if not (token.isascii() and token.isprintable()):
        raise LoginFailed(f"{WHAT} answered with an invalid access_token")
    kind = answer.text("token_type")
    if kind.lower() in ("dpop", "mac"):
        raise LoginFailed(f"{WHAT} answered with a token of unsupported type {sanitize_server_text(kind)}")
    id_token, claims = answer.text("id_token"), claims_of(answer.text("id_token"))
    if claims:
        check_claims(
            claims,
            client_id=client.id,
            issuer=server.issuer,
            nonce=nonce,
            now=answer.date or time.time(),
            before=before.id_token if before else "",
        )
    scope = answer.text("scope")
    if before is None and settings.required_scope and settings.required_scope not in scope.split():
        raise LoginFailed(
            f"the login does not allow zot to use your plan (no {settings.required_scope}); log in again and agree to "
            "it, or use an API key",
            code="plan_not_allowed",
        )
    old = before or OAuthToken(access_token="")
    return OAuthToken(
        access_token=token,
        refresh_token=answer.text("refresh_token") or old.refresh_token,
        token_type=kind or old.token_type or "Bearer",
        expiry=_expiry(answer.fields.get("expires_in")),
        scope=scope or old.scope or " ".join(settings.scopes),
        client_id=client.id,
        client_secret=client.secret if client.secret != settings.client_secret else "",
        id_token=id_token or old.id_token,
        account_id=account_id(claims, settings.account_claim) or old.account_id,
    )


def _expiry(seconds: Any) -> str:
    """By our own clock, so that a wrong one does not matter; empty if the server sends no lifetime."""
    try:
        left = float(seconds)
    except (TypeError, ValueError):
        return ""
    if not 0 < left < _LONGEST_S:
        return ""
    return datetime.fromtimestamp(time.time() + left, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Claims of an id token. It came from the token endpoint over TLS, so its signature is not checked (OIDC Core
# 3.1.3.7).

_LEEWAY_S = 600
_SOMEBODY_ELSES = "the server answered with an id token that is not for this login"


def claims_of(id_token: str) -> dict[str, Any]:
    parts = id_token.split(".")
    if len(parts) != 3:
        return {}
    body = parts[1].rstrip("=").replace("+", "-").replace("/", "_")
    try:
        claims: Any = msgspec.json.decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", claims) if isinstance(claims, dict) else {}


def account_id(claims: Mapping[str, Any], path: Sequence[str]) -> str:
    """The claim at ``path``; empty unless it is text."""
    value: Any = claims
    for name in path:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value if path and isinstance(value, str) else ""


def account_name(id_token: str) -> str:
    """A name of the account for lists, never for requests."""
    claims = claims_of(id_token)
    names = (claims.get(name) for name in ("email", "preferred_username", "name", "sub"))
    return next((name for name in names if isinstance(name, str) and name.isprintable()), "")[:100]


def check_claims(
    claims: Mapping[str, Any], *, client_id: str, issuer: str = "", nonce: str = "", now: float, before: str = ""
) -> None:
    """LoginFailed if the id token is for another client, login, time or issuer, or its user differs from ``before``."""
    audience: Any = claims.get("aud")
    audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: it is for another client")
    if len(audiences) > 1 and claims.get("azp", client_id) != client_id:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: another client requested it")
    if issuer and str(claims.get("iss", "")).rstrip("/") != issuer.rstrip("/"):
        raise LoginFailed(f"{_SOMEBODY_ELSES}: another issuer created it")
    if nonce and claims.get("nonce") != nonce:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: wrong nonce")
    if isinstance(expiry := claims.get("exp"), int | float) and expiry + _LEEWAY_S < now:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: it has expired")
    user = claims_of(before).get("sub") if before else None
    if user is not None and claims.get("sub") not in (None, user):
        raise LoginFailed(f"{_SOMEBODY_ELSES}: it names another user")


# Revocation of a login (RFC 7009). Best effort: zot deletes the login in any case.


async def revoked(store: AuthStore, provider: Provider, *, account: str = "", pool: HttpPool | None = None) -> str:
    """Revoke the stored login at the server before it is cleared; returns a sentence about the outcome, or ""."""
    settings, token = provider.oauth, store.entry(provider.id, account).oauth
    if settings is None or token is None or not token.access_token:
        return ""
    return await revoke(settings, token, pool=pool)


async def revoke(settings: OAuthSettings, token: OAuthToken, *, pool: HttpPool | None = None) -> str:
    """The refresh token first: servers then revoke its access tokens also."""
    async with open_pool(pool) as pool:
        try:
            server = await find_revocation(pool, settings, await find_server(pool, settings))
            if not is_safe(server.revoke_url):
                return ""
            client = OAuthClient(token.client_id or settings.client_id, token.client_secret or settings.client_secret)
            for kind in ("refresh_token", "access_token"):
                if secret := getattr(token, kind):
                    fields, headers = with_client(client, server, {"token": secret, "token_type_hint": kind})
                    answer = await post(pool, server.revoke_url, "the revocation", fields, headers=headers)
                    if not 200 <= answer.status < 300:
                        raise error_from_response(answer, "the revocation", fields)
        except LoginFailed as error:
            return f"cannot revoke the login at the server: {error}; it may stay valid there until it expires"
    return f"{host_of(server.revoke_url)}: login revoked"


class LoginProgress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step; ``text`` can be shown and contains no secret.
    ``open``: show and open ``url``, with ``user_code`` if set. ``waiting``: a delay and its reason. ``notice``: an
    unexpected event. ``exchanging``: the token is requested. ``done``: there is a token."""

    kind: Literal["open", "waiting", "notice", "exchanging", "done"]
    text: str
    url: str = ""
    manual_url: str = ""  # a page that shows a code to paste, for browsers on another machine
    user_code: str = ""
    expires_in_s: float = 0
    may_paste: bool = False  # the redirect's address or its code is accepted also


OnProgress = Callable[[LoginProgress], None]
Pasted = Callable[[], Awaitable[str]]  # waits for pasted text


def done(token: OAuthToken) -> LoginProgress:
    name = account_name(token.id_token)
    return LoginProgress(kind="done", text=f"logged in as {name}" if name else "logged in")
