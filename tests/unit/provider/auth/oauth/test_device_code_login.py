"""Device logins that end with a code for the token endpoint, against canned answers on a socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.http_server import FakeHttpServer
from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.device_code_login import login_by_device_code
from zot.provider.auth.oauth.settings import OAuthSettings
from zot.provider.auth.oauth.token_endpoint import LoginProgress

BEGUN = {"device_auth_id": "dev", "user_code": "ABCD", "interval": "5"}
GRANT = {"authorization_code": "code-secret", "code_verifier": "verifier-secret"}
TOKEN = {"access_token": "access-secret", "refresh_token": "refresh-secret", "expires_in": 3600}
PENDING = (403, {"error": {"code": "deviceauth_authorization_pending"}})


def answer(status: int, body: Any) -> bytes:
    html = isinstance(body, str)
    data = body.encode() if html else json.dumps(body).encode()
    kind = "text/html" if html else "application/json"
    return f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data


async def log_in(*answers: tuple[int, Any]) -> tuple[OAuthToken, list[float], list[LoginProgress], list[bytes]]:
    waits: list[float] = []
    steps: list[LoginProgress] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with FakeHttpServer([answer(*each) for each in answers]) as server:
        settings = OAuthSettings(
            client_id="own",
            token_url=f"{server.url}/token",
            device_url=f"{server.url}/usercode",
            device_token_url=f"{server.url}/poll",
            device_page="https://vendor.test/device",
            device_redirect="https://vendor.test/callback",
        )
        token = await login_by_device_code(settings, on_progress=steps.append, sleep=sleep)
        return token, waits, steps, server.requests


async def test_device_code_login_polls_until_confirmed() -> None:
    slower = (429, {"error": {"code": "slow_down"}})
    token, waits, steps, requests = await log_in((200, BEGUN), PENDING, slower, (404, {}), (200, GRANT), (200, TOKEN))
    assert (token.access_token, token.refresh_token) == ("access-secret", "refresh-secret")
    assert waits == [5, 5, 10, 10]
    assert [step.kind for step in steps] == ["open", "waiting", "done"]
    assert (steps[0].url, steps[0].user_code) == ("https://vendor.test/device", "ABCD")
    last = requests[-1].decode()
    assert "grant_type=authorization_code" in last
    assert "redirect_uri=https%3A%2F%2Fvendor.test%2Fcallback" in last
    assert "code_verifier=verifier-secret" in last


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([(404, {})], "no device-code login for this client"),
        ([(200, {"user_code": "ABCD"})], "answered without a code"),
        ([(200, "<html>sign in to the network")], "a web page instead of a JSON object"),
        ([(200, BEGUN), (400, {"error": {"code": "denied", "message": "no"}})], "http 400 (denied: no)"),
        ([(200, BEGUN), (200, GRANT), (400, {"error": "invalid_grant"})], "invalid_grant"),
        ([(200, BEGUN), *[PENDING] * 200], "the code expired before it was entered"),
    ],
)
async def test_device_code_login_refusals_name_no_secret(answers: list[tuple[int, Any]], said: str) -> None:
    with pytest.raises(LoginFailed) as failed:
        await log_in(*answers)
    assert said in str(failed.value)
    assert "secret" not in str(failed.value)
