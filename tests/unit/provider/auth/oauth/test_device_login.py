"""Logging in on another device, against a real OAuth server. Waiting is written down instead of done."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.oauth_server import OAuthServer
from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.device_login import login_by_device
from zot.provider.auth.oauth.token_endpoint import LoginProgress


class Clock:
    """Waits at once; ``at`` turns knobs when a number of waits is over."""

    def __init__(self, server: OAuthServer, at: dict[int, dict[str, Any]] | None = None) -> None:
        self.waits: list[float] = []
        self._server, self._at = server, at or {}

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        if changes := self._at.get(len(self.waits)):
            await asyncio.to_thread(lambda: self._server.knobs(**changes))


async def logged_in(server: OAuthServer, clock: Clock, steps: list[LoginProgress], **changes: Any) -> OAuthToken:
    return await login_by_device(server.settings(**changes), on_progress=steps.append, sleep=clock.sleep)


async def test_a_login_by_device(server: OAuthServer) -> None:
    clock, steps = Clock(server, {3: {"approve_device": True}}), list[LoginProgress]()
    token = await logged_in(server, clock, steps, scopes=("models", "offline"))
    assert token.access_token.startswith("access-")
    assert token.refresh_token.startswith("refresh-")
    assert token.scope == "models offline"
    assert clock.waits == [1, 1, 1], "as often as the server's interval says"
    opened = steps[0]
    assert [step.kind for step in steps] == ["open", "done"]
    assert opened.user_code in opened.text, "the code is shown as text, whatever the address holds"
    assert opened.url == f"{server.url}/device?user_code={opened.user_code}"
    assert opened.expires_in_s == 1800
    assert server.requests("/device_authorization")[0]["agent"].startswith("zot/")


async def test_slow_down_adds_five_seconds_for_good(server: OAuthServer) -> None:
    """engine-137: polling slows down after each `slow_down`, by five seconds."""
    server.knobs(slow_downs=2)
    clock = Clock(server, {5: {"approve_device": True}})
    await logged_in(server, clock, [])
    assert clock.waits == [1, 6, 11, 11, 11]


async def test_denial_ends_the_login(server: OAuthServer) -> None:
    """engine-136: polling stops when the user denies."""
    clock = Clock(server, {2: {"approve_device": False}})
    with pytest.raises(LoginFailed, match="denied on the other device") as raised:
        await logged_in(server, clock, [])
    assert raised.value.code == "access_denied"
    assert len(server.requests("/token")) == 2


async def test_expiry_ends_the_login(server: OAuthServer) -> None:
    """engine-136: polling stops when the server reports an expired code."""
    clock = Clock(server, {2: {"device_expired": True}})
    with pytest.raises(LoginFailed, match="expired") as raised:
        await logged_in(server, clock, [])
    assert raised.value.code == "expired_token"
    assert len(server.requests("/token")) == 2


async def test_polling_stops_when_code_expires(server: OAuthServer) -> None:
    """engine-136: polling stops at the server's deadline, even without an error from it."""
    server.knobs(device={"expires_in": 20, "interval": 5})
    clock = Clock(server)
    with pytest.raises(LoginFailed, match="expired"):
        await logged_in(server, clock, [])
    assert clock.waits == [5, 5, 5, 5]


async def test_default_interval_is_five_seconds(server: OAuthServer) -> None:
    server.knobs(device={"interval": None, "verification_uri_complete": None}, approve_device=True)
    clock, steps = Clock(server), list[LoginProgress]()
    await logged_in(server, clock, steps)
    assert clock.waits == [5]
    assert steps[0].url == f"{server.url}/device"


async def test_failing_server_is_polled_again_later(server: OAuthServer) -> None:
    server.knobs(token_answer="500", approve_device=True)
    clock = Clock(server, {2: {"token_answer": "html"}, 3: {"token_answer": ""}})
    steps = list[LoginProgress]()
    assert (await logged_in(server, clock, steps)).access_token
    assert clock.waits == [1, 6, 11]
    assert [step.kind for step in steps] == ["open", "waiting", "waiting", "done"]
    assert steps[1].text == "the token endpoint answered http 500; retrying in 6 s"


async def test_cancelling_stops_the_polling(server: OAuthServer) -> None:
    steps = list[LoginProgress]()
    opened = asyncio.Event()

    def tell(step: LoginProgress) -> None:
        steps.append(step)
        opened.set()

    login = asyncio.ensure_future(login_by_device(server.settings(), on_progress=tell))
    await opened.wait()
    login.cancel()
    with pytest.raises(asyncio.CancelledError):
        await login
    assert [step.kind for step in steps] == ["open"]
    assert server.requests("/token") == []


@pytest.mark.parametrize(
    "fields", [{"device_code": None}, {"user_code": None}, {"verification_uri": "file:///etc/passwd"}]
)
async def test_an_answer_that_cannot_be_used(server: OAuthServer, fields: dict[str, Any]) -> None:
    server.knobs(device=fields)
    with pytest.raises(LoginFailed, match="without a code or an https address"):
        await logged_in(server, Clock(server), [])


async def test_a_server_without_device_logins(server: OAuthServer) -> None:
    server.knobs(metadata={"device_authorization_endpoint": None})
    with pytest.raises(LoginFailed, match="no device-code login"):
        await logged_in(server, Clock(server), [])


async def test_a_device_registers_itself_without_a_redirect(server: OAuthServer) -> None:
    server.knobs(approve_device=True)
    token = await logged_in(server, Clock(server), [], client_id="")
    assert list(server.state["clients"]) == [token.client_id]
