"""The token endpoint: a grant goes in, a login comes out. The only place that reads its answers."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.client_registration import ClientId, with_client
from zot.provider.auth.oauth.http_requests import Answer, post, refusal, shown
from zot.provider.auth.oauth.id_token import account_id, check_claims, claims_of
from zot.provider.auth.oauth.server_metadata import Server
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.http.pool import HttpPool

WHAT = "the token endpoint"
_LONGEST_S = 100 * 365 * 86400  # beyond it a lifetime is taken for none


async def request_token(
    pool: HttpPool, settings: OAuthSettings, server: Server, client: ClientId, grant: dict[str, str], *, url: str = ""
) -> Answer:
    """The answer of a grant that was accepted; LoginFailed otherwise."""
    url = url or server.token_url
    if not url:
        raise LoginFailed("the authorization server names no token endpoint; set token_url in its oauth settings")
    wide = {"audience": settings.audience, "resource": settings.resource}
    fields, headers = with_client(client, server, {**grant, **{k: v for k, v in wide.items() if v}})
    answer = await post(pool, url, WHAT, fields, json=settings.token_body == "json", headers=headers)
    if not 200 <= answer.status < 300:
        raise refusal(answer, WHAT, fields)
    return answer


def token_from(
    answer: Answer,
    settings: OAuthSettings,
    server: Server,
    client: ClientId,
    *,
    nonce: str = "",
    before: OAuthToken | None = None,
) -> OAuthToken:
    """The login in an answer; what it leaves out stays as it was ``before``. LoginFailed when it holds none, or one
    that is not for us."""
    token = answer.text("access_token")
    if not token:
        raise LoginFailed(f"{WHAT} answered without an access_token")
    if not (token.isascii() and token.isprintable()):
        raise LoginFailed(f"{WHAT} answered with an access_token that no header can carry")
    kind = answer.text("token_type")
    if kind.lower() in ("dpop", "mac"):
        raise LoginFailed(f"{WHAT} answered with a token of the type {shown(kind)}, which zot cannot use")
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
    old = before or OAuthToken(access_token="")
    return OAuthToken(
        access_token=token,
        refresh_token=answer.text("refresh_token") or old.refresh_token,
        token_type=kind or old.token_type or "Bearer",
        expiry=_expiry(answer.fields.get("expires_in")),
        scope=answer.text("scope") or old.scope or " ".join(settings.scopes),
        client_id=client.id,
        client_secret=client.secret if client.secret != settings.client_secret else "",
        id_token=id_token or old.id_token,
        account_id=account_id(claims, settings.account_claim) or old.account_id,
    )


def _expiry(seconds: Any) -> str:
    """By our own clock, so that a wrong one does not matter; empty when the server does not tell."""
    try:
        left = float(seconds)
    except (TypeError, ValueError):
        return ""
    if not 0 < left < _LONGEST_S:
        return ""
    return datetime.fromtimestamp(time.time() + left, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
