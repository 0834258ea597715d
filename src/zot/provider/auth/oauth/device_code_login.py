"""Device login that ends with an authorization code (OpenAI): the user enters a code, zot polls for the grant and
exchanges it at the token endpoint. Differs from RFC 8628 in requests, answers and refusals."""

from __future__ import annotations

import asyncio

from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.device_login import Sleep
from zot.provider.auth.oauth.http_requests import (
    JsonResponse,
    error_from_response,
    open_pool,
    post,
    sanitize_server_text,
)
from zot.provider.auth.oauth.server_metadata import OAuthClient, find_client, find_server
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.auth.oauth.token_endpoint import LoginProgress, OnProgress, done, request_token, token_from
from zot.provider.http.pool import HttpPool

_WHAT = "the device login"
_LIFE_S = 900.0
_INTERVAL_S = 5.0
_SLOWER_S = 5.0
_PENDING = (403, 404)  # not confirmed yet


async def login_by_device_code(
    settings: OAuthSettings, *, on_progress: OnProgress, pool: HttpPool | None = None, sleep: Sleep = asyncio.sleep
) -> OAuthToken:
    """The token the user confirmed; LoginFailed if it was denied or timed out."""
    async with open_pool(pool) as pool:
        server = await find_server(pool, settings)
        client = await find_client(pool, settings, server)
        begun = await _begin(pool, settings, client)
        user_code = sanitize_server_text(begun.text("user_code") or begun.text("usercode"))
        device = {"device_auth_id": begun.text("device_auth_id"), "user_code": user_code}
        if not all(device.values()):
            raise LoginFailed(f"{_WHAT} answered without a code")
        on_progress(
            LoginProgress(
                kind="open",
                text=f"open this address on any device and enter the code {user_code}",
                url=settings.device_page,
                user_code=user_code,
                expires_in_s=_LIFE_S,
            )
        )
        grant = await _poll(pool, settings, device, _interval(begun), sleep, on_progress)
        fields = {
            "grant_type": "authorization_code",
            "code": grant.text("authorization_code"),
            "code_verifier": grant.text("code_verifier"),
            "redirect_uri": settings.device_redirect,
        }
        answer = await request_token(pool, settings, server, client, fields)
        token = token_from(answer, settings, server, client)
    on_progress(done(token))
    return token


async def _begin(pool: HttpPool, settings: OAuthSettings, client: OAuthClient) -> JsonResponse:
    answer = await post(pool, settings.device_url, _WHAT, {"client_id": client.id}, json=True)
    if answer.status == 404:
        raise LoginFailed("the server has no device-code login for this client; use --browser")
    if not 200 <= answer.status < 300:
        raise error_from_response(answer, _WHAT, {})
    return answer


async def _poll(
    pool: HttpPool,
    settings: OAuthSettings,
    device: dict[str, str],
    interval: float,
    sleep: Sleep,
    on_progress: OnProgress,
) -> JsonResponse:
    """Poll until the user confirmed. Counts waiting time, so that a machine that slept polls once more."""
    waited = 0.0
    while waited + interval <= _LIFE_S:
        await sleep(interval)
        waited += interval
        try:
            answer = await post(pool, settings.device_token_url, _WHAT, device, json=True)
            if 200 <= answer.status < 300 and answer.text("authorization_code") and answer.text("code_verifier"):
                return answer
            error = error_from_response(answer, _WHAT, device)
        except LoginFailed as failed:
            error, answer = failed, None
        if error.code == "slow_down" or (error.transient and answer is None):
            interval += _SLOWER_S
            on_progress(LoginProgress(kind="waiting", text=f"{error}; retrying in {interval:g} s"))
        elif answer is None or not (answer.status in _PENDING or error.code.endswith("authorization_pending")):
            raise error
    raise LoginFailed("the code expired before it was entered; start again", code="expired_token")


def _interval(begun: JsonResponse) -> float:
    """A number, or its digits in a string."""
    try:
        seconds = float(begun.fields.get("interval") or _INTERVAL_S)
    except (TypeError, ValueError):
        return _INTERVAL_S
    return seconds if 1 <= seconds <= 60 else _INTERVAL_S
