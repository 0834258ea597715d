"""Device login (RFC 8628): the user enters a code on another device while zot polls at the server's interval."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.http_requests import (
    JsonResponse,
    error_from_response,
    open_pool,
    post,
    sanitize_server_text,
)
from zot.provider.auth.oauth.server_metadata import (
    AuthorizationServer,
    OAuthClient,
    find_client,
    find_server,
    with_client,
)
from zot.provider.auth.oauth.settings import OAuthSettings, is_safe
from zot.provider.auth.oauth.token_endpoint import LoginProgress, OnProgress, done, request_token, token_from
from zot.provider.http.pool import HttpPool

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_INTERVAL_S = 5.0
_SLOWER_S = 5.0
_LIFE_S = 900.0
_WHAT = "the device login"

Sleep = Callable[[float], Awaitable[object]]


class _Device(msgspec.Struct, frozen=True, kw_only=True):
    device_code: str
    user_code: str
    url: str
    complete_url: str
    life_s: float
    interval_s: float


async def login_by_device(
    settings: OAuthSettings, *, on_progress: OnProgress, pool: HttpPool | None = None, sleep: Sleep = asyncio.sleep
) -> OAuthToken:
    """The token the user confirmed; LoginFailed if it was denied or timed out."""
    async with open_pool(pool) as pool:
        server = await find_server(pool, settings)
        if not server.device_url:
            raise LoginFailed("the authorization server has no device-code login; log in with the browser")
        client = await find_client(pool, settings, server)
        device = await _begin(pool, settings, server, client)
        on_progress(
            LoginProgress(
                kind="open",
                text=f"open this address on any device and enter the code {device.user_code}",
                url=device.complete_url or device.url,
                user_code=device.user_code,
                expires_in_s=device.life_s,
            )
        )
        answer = await _poll(pool, settings, server, client, device, sleep, on_progress)
        token = token_from(answer, settings, server, client)
    on_progress(done(token))
    return token


async def _begin(pool: HttpPool, settings: OAuthSettings, server: AuthorizationServer, client: OAuthClient) -> _Device:
    wanted = {"scope": " ".join(settings.scopes), "audience": settings.audience, "resource": settings.resource}
    fields, headers = with_client(client, server, {name: value for name, value in wanted.items() if value})
    answer = await post(pool, server.device_url, _WHAT, fields, headers=headers)
    if not 200 <= answer.status < 300:
        raise error_from_response(answer, _WHAT, fields)
    url = answer.text("verification_uri") or answer.text("verification_url")
    complete = answer.text("verification_uri_complete")
    device = _Device(
        device_code=answer.text("device_code"),
        user_code=sanitize_server_text(answer.text("user_code")),
        url=url,
        complete_url=complete if is_safe(complete) else "",
        life_s=_seconds(answer.fields.get("expires_in"), _LIFE_S),
        interval_s=_seconds(answer.fields.get("interval"), _INTERVAL_S),
    )
    if not device.device_code or not device.user_code or not is_safe(url):
        raise LoginFailed(f"{_WHAT} answered without a code or an https address")
    return device


async def _poll(
    pool: HttpPool,
    settings: OAuthSettings,
    server: AuthorizationServer,
    client: OAuthClient,
    device: _Device,
    sleep: Sleep,
    on_progress: OnProgress,
) -> JsonResponse:
    """Poll until the token arrives. Counts waiting time, so that a machine that slept polls once more."""
    interval, waited = device.interval_s, 0.0
    grant = {"grant_type": _GRANT, "device_code": device.device_code}
    while waited + interval <= device.life_s:
        await sleep(interval)
        waited += interval
        try:
            return await request_token(pool, settings, server, client, grant)
        except LoginFailed as error:
            if error.code == "slow_down" or (error.transient and error.code != "authorization_pending"):
                interval += _SLOWER_S  # also required after connection errors
                on_progress(LoginProgress(kind="waiting", text=f"{error}; retrying in {interval:g} s"))
            elif error.code == "access_denied":
                raise LoginFailed("the login was denied on the other device", code=error.code) from error
            elif error.code == "expired_token":
                break
            elif error.code != "authorization_pending":
                raise
    raise LoginFailed("the code expired before it was entered; start again", code="expired_token")


def _seconds(value: Any, otherwise: float) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return otherwise
    return seconds if 1 <= seconds < 1e6 else otherwise
