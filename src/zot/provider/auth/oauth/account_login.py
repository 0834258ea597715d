"""One login of an account: the flow of its server, with what zot knows of the account from an earlier login."""

from __future__ import annotations

import asyncio

import msgspec

from zot.errors import ConfigError, LoginFailed
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.oauth.http_requests import open_pool
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.auth.oauth.token_endpoint import OnProgress, Pasted, claims_of
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider


async def log_in(
    store: AuthStore,
    provider: Provider,
    settings: OAuthSettings,
    *,
    account: str = "",
    device: bool,
    on_progress: OnProgress,
    pasted: Pasted | None = None,
    pool: HttpPool | None = None,
) -> OAuthToken:
    """The token, which the caller stores; LoginFailed if the user or the server refused."""
    async with open_pool(pool) as pool:
        before = await asyncio.to_thread(_stored, store, provider.id, account)
        settings = with_registration(settings, store, before)
        token = await _flow(settings, device=device, on_progress=on_progress, pasted=pasted, pool=pool)
        if settings.exchange_url:
            from zot.provider.auth.oauth.token_exchange import exchange_new_login

            token = await exchange_new_login(pool, settings, token)
    if settings.registration_client and not settings.is_registering:
        _check_account(before, token, provider.id)
    return token


def _stored(store: AuthStore, name: str, account: str) -> OAuthToken | None:
    """The earlier login of the account; without its secrets if the keyring cannot be read."""
    try:
        return store.entry(name, account).oauth
    except ConfigError:
        return store.shape(name, account).oauth


async def _flow(
    settings: OAuthSettings, *, device: bool, on_progress: OnProgress, pasted: Pasted | None, pool: HttpPool
) -> OAuthToken:
    if not device:
        from zot.provider.auth.oauth.browser_login import login_in_browser

        return await login_in_browser(settings, on_progress=on_progress, pasted=pasted, pool=pool)
    if settings.device_token_url:
        from zot.provider.auth.oauth.device_code_login import login_by_device_code

        return await login_by_device_code(settings, on_progress=on_progress, pool=pool)
    from zot.provider.auth.oauth.device_login import login_by_device

    return await login_by_device(settings, on_progress=on_progress, pool=pool)


def with_registration(settings: OAuthSettings, store: AuthStore, before: OAuthToken | None) -> OAuthSettings:
    """The settings with the client id issued to this account before, and the id of this installation."""
    if settings.host_parameter:
        extra = {**settings.extra, settings.host_parameter: store.installation_id()}
        settings = msgspec.structs.replace(settings, extra=extra)
    if settings.is_registering and before is not None and before.client_id:
        settings = msgspec.structs.replace(settings, client_id=before.client_id)
    return settings


def _check_account(before: OAuthToken | None, token: OAuthToken, provider: str) -> None:
    """LoginFailed if the browser was logged in to another account than the stored one."""
    known = claims_of(before.id_token).get("sub") if before is not None else None
    if known is not None and claims_of(token.id_token).get("sub") != known:
        raise LoginFailed(
            f"the browser is logged in to another account; add it with `zot auth login {provider} --account NAME`",
            code="other_account",
        )
