"""Telling a server that a login is over (RFC 7009). Best effort: the login is dropped here whatever it answers."""

from __future__ import annotations

from zot.errors import LoginFailed, NotLoggedIn
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.oauth.client_registration import ClientId, with_client
from zot.provider.auth.oauth.http_requests import host_of, open_pool, post, refusal
from zot.provider.auth.oauth.refresh import stored_login
from zot.provider.auth.oauth.server_metadata import find_server
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider


async def revoked(store: AuthStore, provider: Provider, *, account: str = "", pool: HttpPool | None = None) -> str:
    """Ask the server to forget the stored login, before it is cleared here; a sentence on how that went, or nothing
    when there is nothing to ask."""
    try:
        settings, token = provider.oauth, stored_login(store, provider.id, account)
    except NotLoggedIn:
        return ""
    return await revoke(settings, token, pool=pool) if settings is not None else ""


async def revoke(settings: OAuthSettings, token: OAuthToken, *, pool: HttpPool | None = None) -> str:
    """The refresh token first: a server drops what was made from it, too."""
    async with open_pool(pool) as pool:
        try:
            server = await find_server(pool, settings)
            if not server.revoke_url:
                return ""
            client = ClientId(token.client_id or settings.client_id, token.client_secret or settings.client_secret)
            for kind in ("refresh_token", "access_token"):
                if secret := getattr(token, kind):
                    fields, headers = with_client(client, server, {"token": secret, "token_type_hint": kind})
                    answer = await post(pool, server.revoke_url, "the revocation", fields, headers=headers)
                    if not 200 <= answer.status < 300:
                        raise refusal(answer, "the revocation", fields)
        except LoginFailed as error:
            return f"the server could not be told: {error}; the login may stay good there until it expires"
    return f"{host_of(server.revoke_url)} was told to forget the login"
