"""A stored login in a real run, with a real OAuth server: refreshed before it ends, and once when it is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say
from tests.fakes.oauth_server import CLIENT, OAuthServer, oauth_server
from zot.provider.auth.auth_store import AuthStore, OAuthToken

REFUSED = Refuse(401, {"error": {"message": "the token is not valid"}})


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with oauth_server() as server:
        yield server


@pytest.fixture
def login(running: OAuthServer) -> OAuthServer:
    running.knobs(reset=True)
    return running


class Gateway:
    """A company's gateway: an address, a login, and a model behind it."""

    def __init__(self, zot: Zot, model: FakeModelServer, login: OAuthServer) -> None:
        self.zot, self.model, self.login = zot, model, login
        self.store = AuthStore(zot.home / "zot")

    def configure(self, *, api: str = "openai", **oauth: Any) -> None:
        row = {"issuer": self.login.url, "client_id": CLIENT, "scopes": "openid", **oauth}
        entry = {"baseUrl": self.model.url, "api": api, "auth": "key", "oauth": row, "models": [{"id": "m"}]}
        home = self.zot.home / "zot"
        home.mkdir(exist_ok=True)
        (home / "models.json").write_text(json.dumps({"providers": {"gateway": entry}}))

    def log_in(self, left_s: float, **changes: Any) -> OAuthToken:
        answer = self.login.tokens()
        fields = {name: answer[name] for name in ("access_token", "refresh_token", "id_token", "scope")}
        expiry = datetime.fromtimestamp(time.time() + left_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        token = OAuthToken(**{**fields, "client_id": CLIENT, "expiry": expiry, **changes})
        self.store.set_oauth("gateway", token)
        return token

    @property
    def stored(self) -> OAuthToken:
        token = self.store.entry("gateway").oauth
        assert token is not None
        return token

    def run(self, *args: str) -> Ran:
        return self.zot("-p", "hi", "--provider", "gateway", "--model", "m", "--retries", "1", *args, model=False)

    def signed(self, header: str = "authorization") -> list[str]:
        return [seen.headers.get(header, "") for seen in self.model.requests if seen.method == "POST"]


@pytest.fixture
def gateway(zot: Zot, serve: Any, login: OAuthServer) -> Any:
    def start(turns: list[Any], **options: Any) -> Gateway:
        made = Gateway(zot, serve(turns, **options), login)
        made.configure()
        return made

    return start


def test_an_ended_login_is_refreshed_before_the_request(gateway: Any) -> None:
    it = gateway([Say("hello")])
    before = it.log_in(left_s=-100)
    ran = it.run()
    assert (ran.code, ran.out, ran.err) == (0, "hello\n", "")
    assert it.stored.access_token != before.access_token
    assert it.signed() == [f"Bearer {it.stored.access_token}"]
    assert it.login.state["rotations"] == 1


def test_valid_login_is_not_refreshed(gateway: Any) -> None:
    it = gateway([Say("hello")])
    before = it.log_in(left_s=3000)
    assert it.run().out == "hello\n"
    assert it.signed() == [f"Bearer {before.access_token}"]
    assert it.login.requests("/token")[1:] == []


def test_a_401_in_mid_session_refreshes_once_and_retries_once(gateway: Any, zot: Zot) -> None:
    marker = zot.project / "ran"
    step = CallTools([("bash", {"command": f"echo x >> {marker}"})])
    it = gateway([step, REFUSED, Say("all done")])
    before = it.log_in(left_s=3000)
    ran = it.run()
    assert (ran.code, ran.out, ran.err) == (0, "all done\n", "")
    old, new = f"Bearer {before.access_token}", f"Bearer {it.stored.access_token}"
    assert it.signed() == [old, old, new]
    assert marker.read_text() == "x\n"
    assert it.login.state["rotations"] == 1


def test_rejected_login_is_reported_with_a_fix(gateway: Any) -> None:
    it = gateway([REFUSED], repeat=True)
    it.log_in(left_s=3000)
    ran = it.run()
    assert ran.code == 1
    assert "http 401" in ran.err
    assert len(it.signed()) == 2
    assert it.login.state["rotations"] == 1


def test_revoked_login_asks_for_new_login(gateway: Any) -> None:
    it = gateway([REFUSED], repeat=True)
    before = it.log_in(left_s=3000, refresh_token="refresh-nobody-knows")
    ran = it.run()
    assert ran.code == 1
    assert "http 401" in ran.err
    assert "invalid_grant" in ran.err
    assert "log in again with `zot auth login` or /login" in ran.err
    assert "refresh-nobody-knows" not in ran.err
    assert it.stored == before, "nothing is thrown away"
    assert len(it.signed()) == 1


def test_failing_token_endpoint_is_harmless_while_token_is_valid(gateway: Any) -> None:
    it = gateway([Say("hello"), REFUSED])
    before = it.log_in(left_s=-100)
    it.login.knobs(token_answer="html")
    assert it.run().out == "hello\n"
    assert it.stored == before
    ran = it.run()
    assert "http 401" in ran.err
    assert "cannot refresh the login" in ran.err
    assert "it is still stored" in ran.err
    assert it.stored == before
    assert before.access_token not in ran.err


@pytest.mark.parametrize(
    ("api", "header", "name", "value"),
    [
        ("openai", "", "authorization", "Bearer {}"),
        ("anthropic", "", "authorization", "Bearer {}"),
        ("openai-responses", "", "authorization", "Bearer {}"),
        ("anthropic", "X-Gateway-Token", "x-gateway-token", "{}"),
        ("openai", "Authorization: Token {token}", "authorization", "Token {}"),
        ("openai", "X-Auth: v1 {token}", "x-auth", "v1 {}"),
    ],
)
def test_the_header_to_send(gateway: Any, api: str, header: str, name: str, value: str) -> None:
    it = gateway([REFUSED, Say("hello")])
    it.configure(api=api, **({"header": header} if header else {}))
    before = it.log_in(left_s=3000)
    ran = it.run()
    assert (ran.code, ran.out) == (0, "hello\n"), ran.err
    assert it.signed(name) == [value.format(before.access_token), value.format(it.stored.access_token)]
    sent = it.model.requests[0]
    if name == "x-gateway-token":
        assert "authorization" not in sent.headers
    assert "x-api-key" not in sent.headers
    assert "oauth" not in sent.headers.get("anthropic-beta", ""), "that is for the vendor's own subscriptions"
    assert sent.path.endswith(("/chat/completions", "/messages", "/responses"))


def test_a_token_a_server_repeats_is_not_shown(gateway: Any) -> None:
    it = gateway([lambda seen: Refuse(403, {"error": {"message": f"bad {seen.headers['x-auth']}"}})])
    it.configure(header="X-Auth: v1 {token}")
    before = it.log_in(left_s=3000)
    ran = it.run()
    assert "http 403" in ran.err
    assert before.access_token not in ran.err + ran.out
    assert it.login.state["rotations"] == 0, "403 is not about the token"


def test_invalid_row_is_reported_and_skips_only_its_entry(gateway: Any, zot: Zot) -> None:
    it = gateway([Say("hello")])
    for wrong, words in (
        ({"issuer": "ftp://x"}, "expected https://"),
        ({"issuer": "http://idp.example"}, "expected https://"),
        ({"redirect": "https://evil.example/cb"}, "expected an address on this machine"),
        ({"clientid": "x"}, "clientid"),
        ({"token_body": "xml"}, "token_body"),
        ({"header": "X: nothing"}, "{token}"),
    ):
        it.configure(**wrong)
        ran = zot("--list-models", model=False)
        assert words in ran.err, (wrong, ran.err)


def test_run_with_api_key_does_not_load_oauth(zot: Zot, serve: Any) -> None:
    serve([Say("hello")])
    argv = [sys.executable, "-X", "importtime", "-m", "zot", "-p", "hi", *zot.endpoint(True)]
    done = subprocess.run(argv, capture_output=True, text=True, env=zot.env(), cwd=zot.project, timeout=60)
    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert "zot.provider.http_client" in loaded
    assert [name for name in loaded if name.startswith("zot.provider.auth.oauth")] == []
