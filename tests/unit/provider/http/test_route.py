"""Proxy selection by URL, and the traffic through a proxy."""

from __future__ import annotations

import pytest

from tests.fakes.http_server import CERTIFICATE, FakeHttpServer, FakeProxy
from zot.errors import BadRequest, TransportFailed
from zot.provider.http.message import HttpRequest
from zot.provider.http.pool import HttpPool
from zot.provider.http.route import parse_url, proxy_for

PROXY = "http://proxy.example:3128"


def chosen(url: str, setting: str = "", **environ: str) -> str:
    proxy = proxy_for(parse_url(url), environ, setting)
    return proxy.url.address if proxy else ""


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
def test_https_takes_its_own_variable_or_all_proxy(name: str) -> None:
    assert chosen("https://a.example", **{name: PROXY}) == "proxy.example:3128"


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_http_takes_its_own_variable_or_all_proxy(name: str) -> None:
    assert chosen("http://a.example", **{name: PROXY}) == "proxy.example:3128"


def test_the_other_scheme_s_variable_does_not_count() -> None:
    assert chosen("https://a.example", HTTP_PROXY=PROXY) == ""


def test_lower_case_wins_and_switches_off_when_empty() -> None:
    assert chosen("https://a.example", https_proxy="http://low:1", HTTPS_PROXY=PROXY) == "low:1"
    assert chosen("https://a.example", https_proxy="", HTTPS_PROXY=PROXY) == ""


def test_cgi_ignores_upper_case_http_proxy() -> None:
    assert chosen("http://a.example", HTTP_PROXY=PROXY, REQUEST_METHOD="GET") == ""


def test_the_setting_counts_where_the_environment_names_none() -> None:
    assert chosen("https://a.example", setting="setting:8080") == "setting:8080"
    assert chosen("https://a.example", setting="setting:8080", HTTPS_PROXY=PROXY) == "proxy.example:3128"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "[::1]"])
def test_loopback_is_never_proxied(host: str) -> None:
    assert chosen(f"http://{host}:11434", ALL_PROXY=PROXY) == ""


@pytest.mark.parametrize(
    ("url", "no_proxy"),
    [
        ("https://a.example", "*"),
        ("https://a.example", "a.example"),
        ("https://deep.a.example", "b.example, a.example"),
        ("https://deep.a.example", ".a.example"),
        ("https://deep.a.example", "*.a.example"),
        ("https://A.Example", "a.EXAMPLE"),
        ("https://a.example:8443", "a.example:8443"),
        ("https://10.1.2.3", "10.0.0.0/8"),
        ("https://10.1.2.3", "10.1.2.3"),
        ("https://[fd00::1]", "fd00::/8"),
        ("https://[fd00::1]", "FD00:0::1"),
        ("https://[fd00::1]:8443", "[fd00::1]:8443"),
    ],
)
def test_no_proxy_matches(url: str, no_proxy: str) -> None:
    assert chosen(url, HTTPS_PROXY=PROXY, NO_PROXY=no_proxy) == ""


@pytest.mark.parametrize(
    ("url", "no_proxy"),
    [
        ("https://a.example", "b.example"),
        ("https://nota.example", "a.example"),
        ("https://a.example", "a.example:8443"),
        ("https://11.1.2.3", "10.0.0.0/8"),
        ("https://10.1.2.3", "2.3"),
        ("https://a.example", "10.0.0.0/8"),
        ("https://10.1.2.3", "nonsense/99"),
        ("https://a.example", " , .,"),
    ],
)
def test_no_proxy_does_not_match(url: str, no_proxy: str) -> None:
    assert chosen(url, HTTPS_PROXY=PROXY, NO_PROXY=no_proxy) == "proxy.example:3128"


def test_proxy_password_is_decoded_into_authorization() -> None:
    proxy = proxy_for(parse_url("https://a.example"), {"HTTPS_PROXY": "http://me:p%40ss@proxy.example:1"})
    assert proxy is not None
    assert proxy.authorization == "Basic bWU6cEBzcw=="
    assert "p%40ss" not in proxy.name


def test_a_socks_proxy_is_refused_by_name_without_its_password() -> None:
    with pytest.raises(BadRequest, match="only http and https proxies") as caught:
        chosen("https://a.example", HTTPS_PROXY="socks5://me:secret@proxy.example:1")
    assert "secret" not in str(caught.value)


async def test_http_uses_proxy_in_absolute_form_with_credentials() -> None:
    async with FakeProxy() as proxy:
        pool = HttpPool(environ={"HTTP_PROXY": f"http://u:p@127.0.0.1:{proxy.port}"})
        response = await pool.dispatch(HttpRequest("POST", "http://model.test:81/v1?x=1", [], b"{}"))
        assert await response.read(100) == b"proxied"
        await pool.aclose()
    head = proxy.requests[0]
    assert head.startswith(b"POST http://model.test:81/v1?x=1 HTTP/1.1\r\nhost: model.test:81\r\n")
    assert b"proxy-authorization: Basic dTpw\r\n" in head


async def test_https_uses_a_tunnel_and_reuses_it() -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    async with FakeHttpServer([answer, answer], tls=True) as server, FakeProxy(server.port) as proxy:
        environ = {"HTTPS_PROXY": f"http://u:p@127.0.0.1:{proxy.port}", "SSL_CERT_FILE": str(CERTIFICATE)}
        pool = HttpPool(environ=environ)
        for _ in range(2):
            request = HttpRequest("POST", "https://model.test/v1/messages", [("x-api-key", "k")], b"{}")
            assert await (await pool.dispatch(request)).read(100) == b"ok"
        await pool.aclose()
    assert len(proxy.requests) == 1
    assert proxy.requests[0].startswith(b"CONNECT model.test:443 HTTP/1.1\r\n")
    assert b"proxy-authorization: Basic dTpw\r\n" in proxy.requests[0]
    assert b"x-api-key" not in proxy.requests[0]
    assert server.requests[0].startswith(b"POST /v1/messages HTTP/1.1\r\nhost: model.test\r\n")
    assert b"proxy-authorization" not in server.requests[0]


async def test_a_refused_tunnel_names_proxy_and_status() -> None:
    async with FakeProxy(refuse=b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n") as proxy:
        pool = HttpPool(environ={"HTTPS_PROXY": f"http://u:secret@127.0.0.1:{proxy.port}"})
        with pytest.raises(
            TransportFailed, match=r"proxy 127.0.0.1:\d+ refused a tunnel to model.test:443: http 407"
        ) as caught:
            await pool.dispatch(HttpRequest("POST", "https://model.test/", [], b""))
    assert not caught.value.retryable
    assert "secret" not in str(caught.value)


async def test_a_proxy_may_itself_speak_tls() -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    async with FakeHttpServer([answer], tls=True) as server, FakeProxy(server.port, tls=True) as proxy:
        environ = {"HTTPS_PROXY": f"https://127.0.0.1:{proxy.port}", "SSL_CERT_FILE": str(CERTIFICATE)}
        pool = HttpPool(environ=environ)
        response = await pool.dispatch(HttpRequest("POST", "https://model.test/v1", [], b"{}"))
        assert await response.read(100) == b"ok"
        await pool.aclose()
    assert proxy.requests[0].startswith(b"CONNECT model.test:443 HTTP/1.1\r\n")
