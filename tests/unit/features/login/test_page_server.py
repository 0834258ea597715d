"""The key page's server over real sockets, with unauthorized clients."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncGenerator
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from zot.features.login.key_login import KeyRefused
from zot.features.login.page_server import KeyForm, PageServer

GOOD = "sk-good-0123456789"


class Answer:
    def __init__(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        self.first, *lines = head.decode().split("\r\n")
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        self.body = body.decode()
        self.status = int(self.first.split()[1]) if data else 0

    @property
    def cookie(self) -> str:
        return self.headers.get("set-cookie", "").partition(";")[0]

    @property
    def token(self) -> str:
        found = re.search(r'name="token" value="([^"]+)"', self.body)
        return found[1] if found else ""


class Login:
    """A running page, and a browser of our own making."""

    def __init__(self, server: PageServer, stored: list[str]) -> None:
        self.server = server
        self.stored = stored
        self.origin = f"http://127.0.0.1:{server.port}"
        self.target = server.url.removeprefix(self.origin)

    async def ask(self, method: str, target: str, body: str = "", /, **headers: str) -> Answer:
        sent = {"Host": f"127.0.0.1:{self.server.port}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body:
            sent |= {"Content-Length": str(len(body)), "Content-Type": "application/x-www-form-urlencoded"}
        lines = [f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in sent.items() if v)]
        return await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body.encode())

    async def raw(self, data: bytes) -> Answer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        writer.write(data)
        answer = await reader.read()
        writer.close()
        return Answer(answer)

    async def open(self) -> Answer:
        return await self.ask("GET", self.target)

    async def send(self, shown: Answer, key: str = GOOD, /, *, cookie: str | None = None, **changed: str) -> Answer:
        fields = {"provider": "openai", "api_key": key, "token": shown.token}
        headers = {"Origin": self.origin, "Cookie": shown.cookie if cookie is None else cookie}
        for name, value in changed.items():
            (fields if name in fields else headers)[name] = value
        return await self.ask("POST", "/apikey", urlencode(fields), **headers)


@pytest_asyncio.fixture
async def login() -> AsyncGenerator[Login]:
    stored: list[str] = []

    async def accept(key: str) -> None:
        if key != GOOD:
            raise KeyRefused("openai refused this key (http 401): <b>no</b> such key")
        stored.append(key)

    form = KeyForm("openai", "OpenAI", account="work", place="in auth.json", keys_url="https://keys.example/new")
    async with PageServer(form, accept) as server:
        yield Login(server, stored)


async def test_key_is_accepted_once_and_page_confirms(login: Login) -> None:
    """engine-126: an accepted key is stored, and the page confirms it."""
    shown = await login.open()
    assert shown.status == 200 and "Log in to OpenAI" in shown.body and "the account work" in shown.body
    done = await login.send(shown)
    assert done.status == 200 and "go back to the terminal" in done.body
    assert login.stored == [GOOD] and login.server.taken.done()
    again = await login.send(shown)
    assert again.status == 403 and login.stored == [GOOD]


async def test_server_listens_only_on_loopback(login: Login) -> None:
    """engine-124: the form server listens on 127.0.0.1 only."""
    assert login.server.url.startswith("http://127.0.0.1:")
    for family, address in ((socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as other, pytest.raises(OSError):
            other.settimeout(5)
            other.connect((address, login.server.port))


@pytest.mark.parametrize("query", ["provider=x", "provider=anthropic", "", "provider=openai&provider=openai"])
async def test_an_unknown_provider_is_refused(login: Login, query: str) -> None:
    """engine-125: `GET /apikey?provider=x` with an unknown x is 400."""
    assert (await login.ask("GET", f"/apikey?{query}")).status == 400


async def test_the_address_needs_its_token(login: Login) -> None:
    for target in ("/apikey?provider=openai", "/apikey?provider=openai&token=guess"):
        answer = await login.ask("GET", target)
        assert answer.status == 403 and not answer.token and not answer.cookie


async def test_the_address_is_for_the_browser_that_opened_it_first(login: Login) -> None:
    shown = await login.open()
    stranger = await login.open()
    assert stranger.status == 403 and not stranger.token
    reloaded = await login.ask("GET", login.target, Cookie=shown.cookie)
    assert reloaded.status == 200 and reloaded.token != shown.token
    assert (await login.send(reloaded, cookie=shown.cookie)).status == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"token": ""},
        {"token": "guess"},
        {"cookie": ""},
        {"cookie": "zot_login=guess"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
    ],
)
async def test_form_without_token_or_from_other_page_is_rejected(login: Login, changed: dict[str, str]) -> None:
    """engine-127: a POST without the one-time token, or from another page, is refused; the login continues."""
    shown = await login.open()
    cookie = changed.pop("cookie", None)
    assert (await login.send(shown, cookie=cookie, **changed)).status == 403
    assert login.stored == [] and not login.server.taken.done()
    assert (await login.send(shown)).status == 200


async def test_other_host_name_gets_no_form(login: Login) -> None:
    """A foreign page whose name resolves to this machine has another Host."""
    answer = await login.ask("GET", login.target, Host=f"evil.example:{login.server.port}")
    assert answer.status == 403 and not answer.token


async def test_rejected_key_shows_provider_message_and_form_again(login: Login) -> None:
    """engine-128: a key the provider refuses is not stored, and the form is there again."""
    shown = await login.open()
    refused = await login.send(shown, "sk-bad-key")
    assert refused.status == 400 and login.stored == []
    assert "openai refused this key (http 401): &lt;b&gt;no&lt;/b&gt; such key" in refused.body
    assert "sk-bad-key" not in refused.body
    assert (await login.send(shown)).status == 403, "each form is good for one try"
    assert (await login.send(refused, cookie=shown.cookie)).status == 200


@pytest.mark.parametrize("key", ["", "   "])
async def test_empty_key_makes_no_request(login: Login, key: str) -> None:
    answer = await login.send(await login.open(), key)
    assert answer.status == 400 and "The key is empty" in answer.body and answer.token


async def test_other_provider_in_form_is_rejected_before_probe(login: Login) -> None:
    assert (await login.send(await login.open(), provider="anthropic")).status == 400
    assert login.stored == []


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/", 404), ("PUT", "/apikey", 405), ("GET", "/x", 404)])
async def test_other_path_or_method_is_rejected(login: Login, method: str, path: str, status: int) -> None:
    assert (await login.ask(method, path)).status == status


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"GET /apikey HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"x" * 20_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
    ],
)
async def test_malformed_request_gets_no_page(login: Login, data: bytes) -> None:
    assert (await login.raw(data)).status == 0
    assert (await login.open()).status == 200


async def test_more_than_a_key_is_not_read(login: Login) -> None:
    answer = await login.raw(
        f"POST /apikey HTTP/1.1\r\nHost: 127.0.0.1:{login.server.port}\r\nContent-Length: 99999999\r\n\r\n".encode()
    )
    assert answer.status == 413


async def test_the_page_loads_nothing_and_may_do_nothing(login: Login) -> None:
    shown = await login.open()
    policy = shown.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy
    assert "form-action 'self'" in policy and "frame-ancestors 'none'" in policy
    assert shown.headers["cache-control"] == "no-store"
    assert shown.headers["x-frame-options"] == "DENY"
    assert "HttpOnly; SameSite=Strict" in shown.headers["set-cookie"]
    assert "<script" not in shown.body
    assert not re.findall(r'(?:src|href)="(?!data:|https://keys\.example/new")', shown.body)


async def test_provider_row_is_escaped() -> None:
    async def accept(key: str) -> None:
        """Takes all."""

    form = KeyForm('a"b', "<b>Bold</b>", account="<i>", place="in <u>")
    async with PageServer(form, accept) as server:
        login = Login(server, [])
        body = (await login.open()).body
        assert "<b>Bold" not in body and "<i>" not in body and "<u>" not in body and 'value="a"b"' not in body


async def test_a_page_that_is_closed_before_the_answer_stops_nothing(login: Login) -> None:
    """A page closed in mid-request leaves a login that continues."""
    _, writer = await asyncio.open_connection("127.0.0.1", login.server.port)
    writer.write(b"POST /apikey HTTP/1.1\r\nContent-Le")
    writer.close()
    assert (await login.send(await login.open())).status == 200
