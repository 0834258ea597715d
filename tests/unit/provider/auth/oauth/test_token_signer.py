"""A login that signs requests: refresh times and rejection errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.oauth_server import OAuthServer
from tests.unit.provider.auth.oauth.test_refresh import log_in, provider, stored
from zot.errors import AuthFailed
from zot.provider.auth.credential_lookup import find_credential
from zot.provider.auth.oauth import refresh
from zot.provider.auth.oauth.refresh import LoginSigner, sign
from zot.provider.dialects.dialect import Endpoint


def refusal() -> AuthFailed:
    return AuthFailed("gateway: http 401: no", provider="gateway", status=401)


async def test_a_refresh_that_failed_is_tried_again_later(
    server: OAuthServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, row = log_in(server, tmp_path, left_s=3000), provider(server)
    credential = find_credential(row, store, {})
    assert credential is not None
    login = LoginSigner(store, row, credential)
    endpoint = Endpoint(provider="gateway", base_url="http://127.0.0.1:1", api_key=credential.key)
    server.knobs(token_answer="500")
    first, second = refusal(), refusal()
    assert await login.after_refusal(endpoint, first) is None
    assert ": the token endpoint answered http 500" in str(first)
    asked = len(server.requests("/token"))
    assert await login.after_refusal(endpoint, second) is None
    assert str(second) == str(first)
    assert len(server.requests("/token")) == asked, "not so soon"
    server.knobs(token_answer="")
    monkeypatch.setattr(refresh, "_TRY_AGAIN_S", 0.0)
    again = await login.after_refusal(endpoint, refusal())
    assert again is not None
    assert again.api_key == stored(store).access_token != credential.key
    assert await login.before_request(again) is again


async def test_token_refreshed_by_another_process_is_used(server: OAuthServer, tmp_path: Path) -> None:
    store, row = log_in(server, tmp_path, left_s=3000), provider(server)
    credential = find_credential(row, store, {})
    assert credential is not None
    ours, theirs = LoginSigner(store, row, credential), LoginSigner(store, row, credential)
    endpoint = Endpoint(provider="gateway", base_url="http://127.0.0.1:1", api_key=credential.key)
    one, other = await ours.after_refusal(endpoint, refusal()), await theirs.after_refusal(endpoint, refusal())
    assert one == other
    assert server.state["rotations"] == 1


def test_a_subscription_is_signed_by_its_dialect(server: OAuthServer) -> None:
    endpoint = Endpoint(provider="gateway", base_url="http://127.0.0.1:1", oauth=True, headers={"x-team": "a"})
    signed = sign(endpoint, provider(server, header="X-Other"), "token", "acc")
    assert (signed.api_key, signed.account_id, signed.key_header) == ("token", "acc", "")
    assert signed.headers == {"x-team": "a"}
