"""Exchange of a login for a token of some minutes: times, addresses and refusals."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

import pytest

from tests.fakes.http_server import FakeHttpServer
from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.auth.oauth.token_exchange import exchange_login, exchange_new_login
from zot.provider.http.pool import HttpPool

LOGIN = OAuthToken(access_token="gho_secret")


async def exchanged(status: int, body: Any, *headers: str, login: OAuthToken = LOGIN) -> OAuthToken:
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(data)}", *headers]
    async with FakeHttpServer(["\r\n".join([*lines, "", ""]).encode() + data]) as server:
        settings = OAuthSettings(token_url=server.url, exchange_url=server.url, exchange_domain="vendor.test")
        pool = HttpPool()
        try:
            return await exchange_login(pool, settings, login)
        finally:
            await pool.aclose()
            assert all(b"authorization: Bearer gho_secret" in request for request in server.requests)


async def test_exchange_keeps_the_login_as_refresh_token() -> None:
    token = await exchanged(200, {"token": "tid", "expires_at": time.time() + 1500})
    assert (token.access_token, token.refresh_token, token.base_url) == ("tid", "gho_secret", "")
    again = await exchanged(200, {"token": "tid2", "expires_at": time.time() + 1500}, login=token)
    assert (again.access_token, again.refresh_token) == ("tid2", "gho_secret")


async def test_exchange_expiry_ignores_a_wrong_clock() -> None:
    """The server's clock is a day ahead: its date says how long the token lives."""
    server_now = time.time() + 86400
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(server_now))
    token = await exchanged(200, {"token": "tid", "expires_at": server_now + 1500}, f"date: {date}")
    left = datetime.fromisoformat(token.expiry).timestamp() - time.time()
    assert 1400 < left < 1600


async def test_exchange_that_is_not_offered_uses_the_login() -> None:
    token = await exchanged(404, {"message": "Not Found"})
    assert (token.access_token, token.refresh_token, token.expiry) == ("gho_secret", "", "")


@pytest.mark.parametrize("host", ["api.vendor.test", "vendor.test"])
async def test_exchange_takes_an_address_in_its_domain(host: str) -> None:
    token = await exchanged(200, {"token": "tid", "endpoints": {"api": f"https://{host}/"}})
    assert token.base_url == f"https://{host}"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, {"token": "tid", "endpoints": {"api": "https://evil.test"}}, "names evil.test for requests"),
        (200, {"token": "tid", "endpoints": {"api": "https://notvendor.test"}}, "not in vendor.test"),
        (200, {"token": "tid", "endpoints": {"api": "http://api.vendor.test"}}, "names api.vendor.test"),
        (200, {"token": "tid", "endpoints": {"api": "https://u:p@api.vendor.test"}}, "names api.vendor.test"),
        (200, {"token": "a\nb"}, "without a token"),
        (200, {}, "without a token"),
        (401, {"message": "Bad credentials"}, "the login was revoked"),
        (403, {"message": "blocked"}, "http 403: blocked"),
        (403, {}, "this account has no access"),
        (500, {}, "http 500"),
    ],
)
async def test_exchange_refusals_name_no_secret(status: int, body: Any, said: str) -> None:
    with pytest.raises(LoginFailed) as failed:
        await exchanged(status, body)
    assert said in str(failed.value)
    assert "gho_secret" not in str(failed.value)


async def test_exchange_of_an_expiring_login_is_refused() -> None:
    settings = OAuthSettings(token_url="https://vendor.test", exchange_url="https://vendor.test")
    for login in (
        OAuthToken(access_token="ghu", expiry="2030-01-01T00:00:00Z"),
        OAuthToken(access_token="ghu", refresh_token="ghr"),
    ):
        with pytest.raises(LoginFailed, match="use an OAuth app"):
            await exchange_new_login(HttpPool(), settings, login)
