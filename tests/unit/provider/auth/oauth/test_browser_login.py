"""Logging in in the browser, against a real OAuth server; the browser is a visitor over a real socket."""

from __future__ import annotations

import asyncio
import socket
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.fakes.oauth_server import CLIENT, OAuthServer, fetch
from zot.errors import LoginFailed
from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.browser_login import login_in_browser
from zot.provider.auth.oauth.settings import OAuthSettings, read_settings
from zot.provider.auth.oauth.token_endpoint import LoginProgress
from zot.provider.providers import builtin_providers

Visit = Callable[[LoginProgress], Any]


class Login:
    """A login that runs beside the test. ``visit`` plays the user's browser, in a thread."""

    def __init__(self, settings: OAuthSettings, visit: Visit | None = None, **options: Any) -> None:
        self.steps: list[LoginProgress] = []
        self.visited: asyncio.Future[Any] | None = None
        self.opened: asyncio.Future[LoginProgress] = asyncio.get_running_loop().create_future()
        self._visit = visit
        self.task = asyncio.ensure_future(login_in_browser(settings, on_progress=self._tell, **options))

    def _tell(self, step: LoginProgress) -> None:
        self.steps.append(step)
        if step.kind == "open":
            self.opened.set_result(step)
            if self._visit is not None:
                self.visited = asyncio.get_running_loop().run_in_executor(None, self._visit, step)

    def notices(self) -> list[str]:
        return [step.text for step in self.steps if step.kind == "notice"]


def query(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def returning(server: OAuthServer) -> Visit:
    return lambda step: fetch(server.agree(step.url))


async def test_a_login_with_pkce_and_an_id_token(server: OAuthServer) -> None:
    """engine-129: the PKCE verifier has 43 characters and the challenge is its S256; the server also checks it."""
    settings = server.settings(scopes=("openid", "offline_access"), audience="gateway", resource="https://gw.example")
    login = Login(settings, returning(server))
    token = await login.task
    opened = login.steps[0]
    asked, sent = query(opened.url), server.requests("/token")[0]["fields"]
    assert [step.kind for step in login.steps] == ["open", "exchanging", "done"]
    assert opened.expires_in_s == 600
    assert login.steps[-1].text == "logged in as ada@example.com"
    assert len(sent["code_verifier"]) == 43
    challenge = urlsafe_b64encode(sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=").decode()
    assert (asked["code_challenge"], asked["code_challenge_method"]) == (challenge, "S256")
    assert asked["redirect_uri"] == sent["redirect_uri"]
    assert (asked["audience"], asked["resource"], asked["nonce"] != "") == ("gateway", "https://gw.example", True)
    assert (sent["audience"], sent["resource"]) == ("gateway", "https://gw.example")
    assert token.access_token.startswith("access-")
    assert token.refresh_token.startswith("refresh-")
    assert token.client_id == CLIENT
    assert not token.expired(time.time())
    assert token.expired(time.time() + 3600)
    assert login.visited is not None
    status, _, page = await login.visited
    assert status == 200
    assert "logged in" in page
    assert "http" not in page.partition("<body>")[2]


async def test_state_and_verifier_are_independent(server: OAuthServer) -> None:
    """engine-130: state and PKCE verifier are independent random values, new for every login."""
    seen: set[str] = set()
    for _ in range(3):
        login = Login(server.settings(), returning(server))
        await login.task
        state = query(login.steps[0].url)["state"]
        verifier = server.requests("/token")[-1]["fields"]["code_verifier"]
        assert state not in verifier
        assert verifier not in login.steps[0].url
        assert bytes.fromhex(state)
        seen |= {state, verifier}
    assert len(seen) == 6


def test_redirects_and_ports_of_the_table() -> None:
    """engine-131: redirect URLs and ports are those of the table unless the configured client names others."""
    rows = {name: builtin_providers()[name].oauth for name in ("anthropic", "openai", "kimi")}
    shipped = [row.id for row in builtin_providers().values() if row.oauth is not None and row.oauth.client_id]
    assert not shipped, "zot ships nobody's client id"
    anthropic, openai, kimi = rows["anthropic"], rows["openai"], rows["kimi"]
    assert anthropic is not None
    assert openai is not None
    assert kimi is not None
    assert anthropic.redirect == "http://localhost:53692/callback"
    assert anthropic.manual_redirect == "https://console.anthropic.com/oauth/code/callback"
    assert openai.redirect == "http://127.0.0.1:1455/auth/callback"
    codex = builtin_providers()["codex"].oauth
    assert codex is not None
    assert codex.redirect == "http://localhost:1455/auth/callback"
    assert codex.extra == {"id_token_add_organizations": "true", "originator": "zot"}
    assert not kimi.has_browser_login
    row = builtin_providers()["openai"].oauth_row
    assert read_settings({**row, "redirect": "http://127.0.0.1:9/x"}).redirect == "http://127.0.0.1:9/x"


async def test_callback_with_wrong_state_is_400_and_changes_nothing(server: OAuthServer) -> None:
    """engine-132: a callback with a wrong state is answered 400 and stores nothing; the login continues."""

    def visit(step: LoginProgress) -> list[int]:
        good = server.agree(step.url)
        base = good.partition("?")[0]
        code = query(good)["code"]
        forged = [
            f"{base}?{urlencode({'code': 'forged', 'state': 'wrong'})}",
            f"{base}?{urlencode({'code': 'forged'})}",
            f"{base}?{urlencode({'error': 'access_denied'})}",
            f"{base}?{urlencode({'error': 'access_denied', 'state': 'wrong'})}",
            f"{base}?{urlencode({'state': query(good)['state']})}",
            f"{good}&code={code}",
            f"{good}&iss=https://evil.example",
            base,
        ]
        return [fetch(url)[0] for url in forged] + [fetch(f"{base}x")[0], fetch(good, "POST")[0], fetch(good)[0]]

    login = Login(server.settings(), visit)
    assert (await login.task).access_token.startswith("access-")
    assert login.visited is not None
    assert await login.visited == [400] * 8 + [404, 405, 200]
    assert len(login.notices()) == 8
    assert len(server.requests("/token")) == 1


async def test_a_callback_is_taken_once(server: OAuthServer) -> None:
    def visit(step: LoginProgress) -> list[int]:
        good = server.agree(step.url)
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(fetch, good)
            deadline = time.monotonic() + 60
            while not server.requests("/token"):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            repeated = [fetch(good)[0] for _ in range(3)]
            server.knobs(hold=False)
            return [*repeated, first.result()[0]]

    server.knobs(hold=True)
    login = Login(server.settings(), visit)
    await login.task
    assert login.visited is not None
    assert await login.visited == [400, 400, 400, 200]
    assert len(server.requests("/token")) == 1


async def test_a_page_cannot_reach_the_callback_by_another_name(server: OAuthServer) -> None:
    """A name that was rebound to this machine is not ours."""

    def visit(step: LoginProgress) -> list[int]:
        good = server.agree(step.url)
        return [fetch(good, host="evil.example")[0], fetch(good, host="localhost")[0], fetch(good)[0]]

    login = Login(server.settings(), visit)
    await login.task
    assert login.visited is not None
    assert await login.visited == [400, 400, 200]


async def test_both_address_families_of_localhost_are_served(server: OAuthServer) -> None:
    login = Login(server.settings(redirect="http://localhost:0/cb"))
    redirect = query((await login.opened).url)["redirect_uri"]
    port = urlsplit(redirect).port
    assert redirect == f"http://localhost:{port}/cb"
    for host in ("127.0.0.1", "[::1]") if socket.has_ipv6 else ("127.0.0.1",):
        status, _, _ = await asyncio.to_thread(fetch, f"http://{host}:{port}/cb?code=x&state=wrong")
        assert status == 400
    login.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await login.task
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port or 0), 5)


async def test_denied_login_is_reported_here_and_in_browser(server: OAuthServer) -> None:
    server.knobs(deny=True)
    login = Login(server.settings(), returning(server))
    with pytest.raises(LoginFailed, match="denied the login: access_denied") as raised:
        await login.task
    assert raised.value.code == "access_denied"
    assert login.visited is not None
    status, _, page = await login.visited
    assert status == 400
    assert "access_denied" in page


async def test_a_browser_that_never_comes(server: OAuthServer) -> None:
    login = Login(server.settings(), limit_s=0.3)
    with pytest.raises(LoginFailed, match="login timed out") as raised:
        await login.task
    assert raised.value.transient


async def test_port_in_use_is_reported_or_another_is_used(server: OAuthServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fixed = server.settings(redirect=f"http://localhost:{port}/callback")
        with pytest.raises(LoginFailed, match=f"port {port} .* is in use: another login may be open"):
            await Login(fixed).task
        free = server.settings(redirect=f"http://localhost:{port}/callback", any_port=True)
        login = Login(free, returning(server))
        await login.task
        used = urlsplit(query(login.steps[0].url)["redirect_uri"]).port
        assert used not in (0, port)


@pytest.mark.parametrize("redirect", ["http://127.0.0.1/callback", "http://[::1]:0/callback", "http://localhost"])
async def test_any_port_will_do_where_none_is_named(server: OAuthServer, redirect: str) -> None:
    if "::1" in redirect and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    login = Login(server.settings(redirect=redirect), returning(server))
    assert (await login.task).access_token
    used = urlsplit(query(login.steps[0].url)["redirect_uri"])
    assert used.hostname == urlsplit(redirect).hostname
    assert used.port


async def test_a_second_login_ends_the_first_and_gets_its_port(server: OAuthServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings = server.settings(redirect=f"http://localhost:{port}/callback")
    first = Login(settings)
    await first.opened
    second = Login(settings, returning(server))
    assert (await second.task).access_token
    with pytest.raises(LoginFailed, match="another login was started"):
        await first.task


def pasting(exhausted: asyncio.Event, *texts: str) -> Callable[[], Any]:
    """Each paste in turn, then none."""
    waiting = list(texts)

    async def pasted() -> str:
        if not waiting:
            exhausted.set()
            await asyncio.Event().wait()
        return waiting.pop(0)

    return pasted


@pytest.mark.parametrize("form", ["address", "code#state", "code", "query"])
async def test_code_state_bare_code_and_url_can_be_pasted(server: OAuthServer, form: str) -> None:
    """engine-135: a pasted `code#state`, a bare code and the full address are all accepted."""
    made: list[str] = []

    async def pasted() -> str:
        step = await login.opened
        address = await asyncio.to_thread(server.agree, step.url)
        found = query(address)
        forms = {
            "address": f"  {address}\n",
            "code#state": f"{found['code']}#{found['state']}",
            "code": found["code"],
            "query": address.partition("?")[2],
        }
        made.append(forms[form])
        return forms[form]

    login = Login(server.settings(), pasted=pasted)
    assert (await login.task).access_token.startswith("access-")
    assert len(made) == 1
    assert login.steps[0].may_paste


async def test_paste_of_another_login_is_rejected_and_login_continues(server: OAuthServer) -> None:
    """engine-135: a pasted state that differs is refused, and so is a paste without a code."""
    exhausted = asyncio.Event()
    login = Login(
        server.settings(),
        pasted=pasting(
            exhausted,
            "code#other-state",
            "",
            "http://127.0.0.1:1/callback?code=c&state=other",
            "http://127.0.0.1:1/callback",
            "two words",
        ),
    )
    step = await login.opened
    await exhausted.wait()
    assert not login.task.done()
    await asyncio.to_thread(fetch, await asyncio.to_thread(server.agree, step.url))
    assert (await login.task).access_token
    notices = login.notices()
    assert ["state" in notice for notice in notices] == [True, False, True, False, False]


async def test_nothing_more_to_paste_leaves_the_browser(server: OAuthServer) -> None:
    async def pasted() -> str:
        raise EOFError

    login = Login(server.settings(), returning(server), pasted=pasted)
    assert (await login.task).access_token


async def test_manual_page_has_its_own_redirect_and_token_url(server: OAuthServer) -> None:
    manual = "http://127.0.0.1:9/shows-the-code"

    async def pasted() -> str:
        step = await login.opened
        found = query(await asyncio.to_thread(server.agree, step.manual_url))
        return f"{found['code']}#{found['state']}"

    settings = server.settings(manual_redirect=manual, manual_token_url=f"{server.url}/token")
    login = Login(settings, pasted=pasted)
    assert (await login.task).access_token
    assert server.requests("/token")[0]["fields"]["redirect_uri"] == manual


@pytest.mark.parametrize("body", ["json", "form"])
async def test_the_body_of_the_token_request(server: OAuthServer, body: str) -> None:
    """engine-133: Anthropic's token request is JSON with `state`, OpenAI's is a form without."""
    name = {"json": "anthropic", "form": "codex"}[body]
    row = builtin_providers()[name].oauth_row
    ours = {"authorize_url": f"{server.url}/authorize", "token_url": f"{server.url}/token", "client_id": CLIENT}
    settings = read_settings({**row, **ours, "redirect": "http://localhost:0/callback"})
    login = Login(settings, returning(server))
    await login.task
    request = server.requests("/token")[0]
    asked = query(login.steps[0].url)
    if body == "json":
        assert request["kind"] == "application/json"
        assert request["fields"]["state"] == asked["state"]
        assert asked["code"] == "true"
        assert asked["scope"] == "org:create_api_key user:profile user:inference"
    else:
        assert request["kind"] == "application/x-www-form-urlencoded"
        assert "state" not in request["fields"]
        assert asked["originator"] == "zot"
    assert request["agent"].startswith("zot/")


async def logged_in(server: OAuthServer, **changes: Any) -> OAuthToken:
    settings = server.settings(**{"scopes": ("openid",), **changes})
    return await Login(settings, returning(server)).task


CLAIM = ("https://api.openai.com/auth", "chatgpt_account_id")


async def test_account_id_is_read_from_the_id_token(server: OAuthServer) -> None:
    """engine-134: the account id is taken from the id token; one that is malformed gives an empty one."""
    assert (await logged_in(server, account_claim=CLAIM)).account_id == "acc-1"
    for malformed in ("nonsense", "a.b.c", "a.e30.c", "..", "a.WzFd.c"):
        server.knobs(id_token=malformed)
        token = await logged_in(server, account_claim=CLAIM)
        assert (token.account_id, token.id_token) == ("", malformed)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"aud": "somebody-else"}, "another client"),
        ({"aud": ["zot-test-client", "x"], "azp": "x"}, "another client requested"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"nonce": "replayed"}, "nonce"),
        ({"exp": 1000}, "expired"),
    ],
)
async def test_id_token_for_another_audience_is_rejected(
    server: OAuthServer, claims: dict[str, Any], words: str
) -> None:
    server.knobs(claims=claims)
    with pytest.raises(LoginFailed, match=words):
        await logged_in(server)


async def test_a_wrong_clock_does_not_matter(server: OAuthServer) -> None:
    """Tokens are judged by the server's clock, waits by the local one."""
    server.knobs(claims={"exp": 4_000}, date="Thu, 01 Jan 1970 01:00:00 GMT")
    token = await logged_in(server)
    assert not token.expired(time.time() + 3000)


async def test_a_client_that_registers_itself(server: OAuthServer) -> None:
    login = Login(server.settings(client_id="", scopes=("openid",)), returning(server))
    token = await login.task
    clients = server.state["clients"]
    assert list(clients) == [token.client_id]
    assert clients[token.client_id]["redirect_uris"] == [query(login.steps[0].url)["redirect_uri"]]
    assert clients[token.client_id]["token_endpoint_auth_method"] == "none"


async def test_a_client_described_by_a_document(server: OAuthServer) -> None:
    server.knobs(metadata={"client_id_metadata_document_supported": True})
    document = "https://zot.example/client.json"
    login = Login(server.settings(client_id="", client_id_metadata_url=document))
    assert query((await login.opened).url)["client_id"] == document
    login.task.cancel()
    await asyncio.gather(login.task, return_exceptions=True)


async def test_missing_client_id_error_explains_configuration(server: OAuthServer) -> None:
    server.knobs(metadata={"registration_endpoint": None})
    with pytest.raises(LoginFailed, match=r'"oauth": \{"client_id": "…"\} .* models.json') as raised:
        await Login(server.settings(client_id="")).task
    assert raised.value.code == "no_client_id"


@pytest.mark.parametrize("methods", [["client_secret_basic"], ["client_secret_post"], None])
async def test_a_client_with_a_secret_proves_it(server: OAuthServer, methods: list[str] | None) -> None:
    server.knobs(secret="s3cret-of-the-client", metadata={"token_endpoint_auth_methods_supported": methods})
    token = await logged_in(server, client_secret="s3cret-of-the-client")
    request = server.requests("/token")[0]
    assert request["basic"] == (methods == ["client_secret_basic"])
    assert token.client_secret == "", "it stands in models.json already"
    assert "s3cret" not in repr(server.settings(client_secret="s3cret-of-the-client"))


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"issuer": "https://evil.example"}, "names another issuer"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no login page"),
        ({"authorization_endpoint": None}, "has no login page"),
        ({"token_endpoint": "http://example.com/token"}, "expected https"),
        ({"token_endpoint": None}, "no token endpoint"),
    ],
)
async def test_metadata_that_cannot_be_trusted(server: OAuthServer, metadata: dict[str, Any], words: str) -> None:
    server.knobs(metadata=metadata)
    with pytest.raises(LoginFailed, match=words):
        await Login(server.settings(), returning(server)).task


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("html", "a web page instead of a JSON"),
        ("garbage", "instead of a JSON object"),
        ("redirect", r"elsewhere\.example; secrets are not sent there"),
        ("500", "http 500"),
        ("echo", r"invalid_grant: no good: .*\*\*\*"),
    ],
)
async def test_token_endpoints_that_answer_something_else(server: OAuthServer, answer: str, words: str) -> None:
    server.knobs(token_answer=answer)
    with pytest.raises(LoginFailed, match=words) as raised:
        await Login(server.settings(), returning(server)).task
    sent = server.requests("/token")[0]["fields"]
    assert sent["code_verifier"] not in str(raised.value)
    assert sent["code"] not in str(raised.value)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ({"access_token": None}, "without an access_token"),
        ({"access_token": "two\r\nlines"}, "an invalid access_token"),
        ({"token_type": "DPoP"}, "DPoP"),
    ],
)
async def test_answers_without_a_usable_token(server: OAuthServer, token: dict[str, Any], words: str) -> None:
    server.knobs(token=token)
    with pytest.raises(LoginFailed, match=words):
        await Login(server.settings(), returning(server)).task


@pytest.mark.parametrize("lifetime", [None, 0, -5, "soon", 1e300, "120"])
async def test_odd_lifetimes(server: OAuthServer, lifetime: object) -> None:
    server.knobs(token={"expires_in": lifetime})
    token = await Login(server.settings(), returning(server)).task
    assert (token.expiry == "") == (lifetime != "120")


async def test_a_visitor_without_manners_costs_nothing(server: OAuthServer) -> None:
    login = Login(server.settings())
    step = await login.opened
    port = urlsplit(query(step.url)["redirect_uri"]).port or 0
    with socket.create_connection(("127.0.0.1", port)) as silent, socket.create_connection(("127.0.0.1", port)) as loud:
        silent.sendall(b"GET /callback")
        loud.sendall(b"x" * 100_000)
        await asyncio.to_thread(fetch, await asyncio.to_thread(server.agree, step.url))
        assert (await login.task).access_token
