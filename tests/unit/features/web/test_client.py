"""issue 32.1: one fetch against servers on real sockets that stall, drip, flood, redirect and lie."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib

import pytest

from tests.fakes.http_server import CERTIFICATE, FakeHttpServer, FakeProxy
from tests.fakes.page_server import FakePages, drip, flood, never, page, redirect
from zot.errors import ToolError
from zot.features.web import client
from zot.features.web.addresses import AddressPolicy, Resolver
from zot.features.web.client import Fetched, WebClient
from zot.provider.http.pool import HttpPool

LOCAL = ("127.0.0.1", "localhost")


class Session:
    """One client; ``approved`` are the redirects that were asked about."""

    def __init__(
        self, *, allowed: tuple[str, ...] = LOCAL, timeout: float = 10, resolve: Resolver | None = None, proxy: str = ""
    ) -> None:
        self.approved: list[str] = []
        self.refuse = False
        self._pool = HttpPool(environ={}, proxy=proxy)
        self._client = WebClient(self._pool, AddressPolicy(allowed, resolve), timeout)

    async def fetch(self, address: str) -> Fetched:
        async def approve(other: str) -> None:
            self.approved.append(other)
            if self.refuse:
                raise ToolError("not approved")

        try:
            return await self._client.fetch(address, approve)
        finally:
            await self._pool.aclose()


async def test_page_is_fetched_with_its_type() -> None:
    async with FakePages({"/a?b=1": page("hello", "text/plain")}) as server:
        found = await Session().fetch(f"{server.url}/a?b=1#part")
    assert (found.status, found.data, found.content_type, found.is_cut) == (200, b"hello", "text/plain", False)


async def test_cookies_passwords_and_referrers_are_not_sent() -> None:
    cookie = "set-cookie: id=1; Path=/\r\n"
    answers = {"/a": redirect("/b", more=cookie), "/b": page("ok", more=cookie)}
    async with FakePages(answers) as server:
        session = Session()
        await session.fetch(f"{server.url}/a")
        await session.fetch(f"{server.url}/b")
        sent = b"".join(server.heads).lower()
    assert not any(name in sent for name in (b"\r\ncookie:", b"authorization", b"referer"))


async def test_redirects_are_followed_and_kept() -> None:
    answers = {"/a": redirect("/b", 301), "/b": redirect("c?x=ä", 307), "/c?x=%C3%A4": page("end")}
    async with FakePages(answers) as server:
        session = Session()
        found = await session.fetch(f"{server.url}/a")
    assert [each.removeprefix(server.url) for each in found.addresses] == ["/a", "/b", "/c?x=ä"]
    assert found.data == b"end" and session.approved == []


async def test_redirect_to_another_host_is_asked_about() -> None:
    async with FakePages({"/": page("there")}) as other:
        target = f"http://localhost:{other.port}/"
        async with FakePages({"/a": redirect(target)}) as server:
            session = Session()
            assert (await session.fetch(f"{server.url}/a")).data == b"there"
            assert session.approved == [target]
            session.refuse = True
            with pytest.raises(ToolError, match="not approved"):
                await session.fetch(f"{server.url}/a")
        assert len(other.heads) == 1


async def test_redirect_to_another_port_is_asked_about() -> None:
    async with FakePages({"/": page("there")}) as other, FakePages({"/a": redirect(f"{other.url}/")}) as server:
        session = Session()
        await session.fetch(f"{server.url}/a")
    assert session.approved == [f"{other.url}/"]


@pytest.mark.parametrize("target", ["http://127.0.0.2/", "http://[::1]/", "http://2130706434/", "http://10.0.0.1/"])
async def test_redirect_to_a_private_address_is_refused(target: str) -> None:
    async with FakePages({"/": redirect(target)}) as server:
        with pytest.raises(ToolError, match="is not a public address"):
            await Session(allowed=("127.0.0.1",)).fetch(server.url)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://x/", "javascript:alert(1)", "//", "http://a:b@x/"])
async def test_redirect_to_something_else_is_refused(target: str) -> None:
    async with FakePages({"/": redirect(target)}) as server:
        with pytest.raises(ToolError):
            await Session().fetch(server.url)


async def test_redirect_loop_ends() -> None:
    async with FakePages({"/a": redirect("/b"), "/b": redirect("/a")}) as server:
        with pytest.raises(ToolError, match=r"redirects in a circle: .*/a -> .*/b -> .*/a"):
            await Session().fetch(f"{server.url}/a")


async def test_endless_redirects_end() -> None:
    answers = {f"/{n}": redirect(f"/{n + 1}") for n in range(20)}
    async with FakePages(answers) as server:
        with pytest.raises(ToolError, match=r"more than 5 redirects, the last one to .*/6"):
            await Session().fetch(f"{server.url}/0")
        assert len(server.heads) == 6


async def test_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENT_S", 0.2)
    async with FakePages({"/": never}) as server:
        with pytest.raises(ToolError, match=r"127\.0\.0\.1: no answer within 0\.2 s"):
            await Session().fetch(server.url)


async def test_server_that_stops_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENT_S", 0.2)
    async with FakePages({"/": drip(5)}) as server:
        with pytest.raises(ToolError, match=r"stopped sending for 0\.2 s"):
            await Session().fetch(server.url)


async def test_dripping_server_ends_at_the_total_limit() -> None:
    async with FakePages({"/": drip(0.05)}) as server:
        began = time.monotonic()
        with pytest.raises(ToolError, match=r"not complete within 0\.4 s \(web_timeout_s"):
            await Session(timeout=0.4).fetch(server.url)
    assert time.monotonic() - began < 3


async def test_redirects_share_the_total_limit() -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        writer.write(redirect(f"/{len(server.heads)}"))

    async with FakePages({"/": slow, "/1": slow, "/2": slow, "/3": slow}) as server:
        with pytest.raises(ToolError, match="not complete"):
            await Session(timeout=0.7).fetch(f"{server.url}/")


async def test_page_of_300_mb_is_cut() -> None:
    async with FakePages({"/": flood(300)}) as server:
        found = await Session().fetch(server.url)
    assert found.is_cut and len(found.data) == client.MOST_BYTES


async def test_gzip_bomb_is_cut() -> None:
    packed = gzip.compress(bytes(300_000_000), 9)
    async with FakePages({"/": page(packed, "text/plain", more="content-encoding: gzip\r\n")}) as server:
        found = await Session().fetch(server.url)
    assert found.is_cut and len(found.data) == client.MOST_BYTES


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(b"text" * 1000)),
        ("deflate", zlib.compress(b"text" * 1000)),
        ("deflate", zlib.compress(b"text" * 1000)[2:-4]),
        ("identity", b"text" * 1000),
    ],
    ids=["gzip", "zlib", "deflate", "identity"],  # the time is in the bytes
)
async def test_compressed_page_is_unpacked(encoding: str, data: bytes) -> None:
    async with FakePages({"/": page(data, "text/plain", more=f"content-encoding: {encoding}\r\n")}) as server:
        assert (await Session().fetch(server.url)).data == b"text" * 1000


@pytest.mark.parametrize(("encoding", "said"), [("gzip", "gzip data is broken"), ("br", "which was not asked for")])
async def test_broken_compression_is_an_error(encoding: str, said: str) -> None:
    async with FakePages({"/": page(b"not packed", more=f"content-encoding: {encoding}\r\n")}) as server:
        with pytest.raises(ToolError, match=said):
            await Session().fetch(server.url)


async def test_name_is_resolved_once_per_request() -> None:
    """DNS that changes between check and use: the address that was checked is connected to."""
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    async with FakePages({"/": page("right")}) as right, FakeHttpServer([b""], host="127.0.0.2") as wrong:
        session = Session(allowed=("127.0.0.1",), resolve=resolve)
        assert (await session.fetch(f"http://rebind.example:{right.port}/")).data == b"right"
        assert b"host: rebind.example" in right.heads[0]
        with pytest.raises(ToolError, match=r"\(127\.0\.0\.2\) is not a public address"):
            await session.fetch(f"http://rebind.example:{wrong.port}/")
        assert wrong.connections == 0


async def test_next_address_is_tried() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with FakePages({"/": page("here")}) as server:
        session = Session(allowed=("127.0.0.0/8",), resolve=resolve)
        assert (await session.fetch(f"http://two.example:{server.port}/")).data == b"here"


async def test_certificate_is_checked_for_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with FakePages({"/": page("safe")}, tls=True) as server:
        with pytest.raises(ToolError, match=r"the certificate of 127\.0\.0\.1 was rejected"):
            await Session().fetch(server.url)
        session = Session(resolve=resolve)
        session._pool._environ = {"SSL_CERT_FILE": str(CERTIFICATE)}
        with pytest.raises(ToolError, match=r"the certificate of other\.example was rejected"):
            await session.fetch(f"https://other.example:{server.port}/")
        session = Session(resolve=resolve)
        session._pool._environ = {"SSL_CERT_FILE": str(CERTIFICATE)}
        assert (await session.fetch(f"https://localhost:{server.port}/")).data == b"safe"


async def test_proxy_resolves_the_name() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError("only the proxy knows it")

    async with FakeProxy() as proxy:
        found = await Session(resolve=resolve, proxy=proxy.url).fetch("http://public.example/x")
        assert found.data == b"proxied"
        with pytest.raises(ToolError, match="is not a public address"):
            await Session(allowed=(), resolve=resolve, proxy=proxy.url).fetch("http://10.0.0.1/x")
        assert len(proxy.requests) == 1


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://example.com/", "expected https://HOST/PATH"),
        ("https://user:pw@example.com/", "contains a user or password"),
        ("https://", "not a usable address"),
        ("https://exa mple.com", "not a usable address"),
        ("https://example.com:99999/", "out of range"),
        ("https://example.com/\r\nX: y", "control characters"),
        (f"https://example.com/{'x' * 9000}", "characters; at most 8,000"),
    ],
)
async def test_unusable_address_is_an_error(address: str, said: str) -> None:
    with pytest.raises(ToolError, match=said) as caught:
        await Session().fetch(address)
    assert "pw" not in str(caught.value)


async def test_cancelling_closes_the_connection() -> None:
    closed = asyncio.Event()

    async def wait(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nstart")
        await writer.drain()
        while not writer.transport.is_closing():
            await asyncio.sleep(0.01)
            writer.write(b"x")
        closed.set()

    async with FakePages({"/": wait}) as server:
        work = asyncio.create_task(Session().fetch(server.url))
        await asyncio.sleep(0.2)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        async with asyncio.timeout(5):
            await closed.wait()


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("http://a.org/", "https://a.org/x", True),
        ("https://a.org/", "https://www.a.org/", True),
        ("https://a.org/", "http://a.org/", False),
        ("https://a.org/", "https://a.org.evil.org/", False),
        ("http://a.org:8080/", "https://a.org/", False),
    ],
)
def test_same_site(first: str, second: str, same: bool) -> None:
    assert client.is_same_site(first, second) is same
