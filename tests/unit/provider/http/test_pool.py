"""The HTTP client with real sockets: bodies, keep-alive, limits, TLS and fault names."""

from __future__ import annotations

import asyncio
import os
import ssl
import tracemalloc
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.http_server import CERTIFICATE, FakeHttpServer, read_request
from zot.errors import BadRequest, TransportFailed
from zot.provider.http.message import ChunkedBody, HttpRequest
from zot.provider.http.pool import HttpPool
from zot.provider.http.route import Url, parse_url

OK = b"HTTP/1.1 200 OK\r\n"
SHORT = OK + b"content-length: 2\r\n\r\nok"


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    pool = HttpPool(environ={})
    yield pool
    await pool.aclose()


def post(url: str, *headers: tuple[str, str], body: bytes = b"{}") -> HttpRequest:
    return HttpRequest("POST", url, list(headers), body)


async def body_of(pool: HttpPool, answer: bytes) -> bytes:
    async with FakeHttpServer([answer]) as server:
        return await (await pool.dispatch(post(server.url))).read(1 << 20)


# Requests


async def test_the_request_on_the_wire_is_plain_http(pool: HttpPool) -> None:
    async with FakeHttpServer([SHORT]) as server:
        await (await pool.dispatch(post(f"{server.url}/v1/x?y=1", ("X-Api-Key", "k")))).read(10)
    assert server.requests == [
        b"POST /v1/x?y=1 HTTP/1.1\r\n"
        + f"host: 127.0.0.1:{server.port}\r\n".encode()
        + b"accept-encoding: identity\r\nx-api-key: k\r\ncontent-length: 2\r\n\r\n{}"
    ]


async def test_a_large_body_arrives_whole(pool: HttpPool) -> None:
    body = os.urandom(1 << 20) * 3
    async with FakeHttpServer([SHORT]) as server:
        await (await pool.dispatch(post(server.url, body=body))).read(10)
    assert server.requests[0].endswith(body)


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\n", "a\rb", "a\0b"])
async def test_line_break_in_header_is_rejected_without_the_value(pool: HttpPool, value: str) -> None:
    with pytest.raises(BadRequest, match="'authorization' contains a line break") as caught:
        await pool.dispatch(post("http://127.0.0.1:1", ("authorization", f"Bearer secret{value}")))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["x y", "x:", "", "x\r\n", "é"])
async def test_a_header_name_must_be_a_token(pool: HttpPool, name: str) -> None:
    with pytest.raises(BadRequest, match="not a header name"):
        await pool.dispatch(post("http://127.0.0.1:1", (name, "v")))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/",
        "a.example/v1",
        "http://",
        "http://a:port/",
        "http://a:99999/",
        "http://a/x y",
        "http://a/\r\n",
        "http://a b/",
        "http://a..b/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 127 + "example/",
        "http://.example/",
        "http://\udcff/",
        "http://xn--\u00e4.\u3002/",
        "http://" + "\u00e4" * 64 + "/",
        "http://a:\u0661\u0662/",
        "http://a:" + "9" * 5000 + "/",
        "http://[::1/",
        "http://a/\udcff",
        "http://me:\udcff@a/",
    ],
)
async def test_invalid_url_is_rejected(pool: HttpPool, url: str) -> None:
    with pytest.raises(BadRequest):
        await pool.dispatch(post(url))


def test_addresses_are_taken_apart() -> None:
    assert parse_url("HTTPS://Host.Example") == Url("https", "host.example", 443, "/", "")
    assert parse_url("http://u:p@[::1]:8080/a/b?c#d") == Url("http", "::1", 8080, "/a/b?c", "u:p")
    assert parse_url("http://[::1]/").authority == "[::1]"
    assert parse_url("http://a?q=ü").target == "/?q=%C3%BC"


async def test_an_ipv6_host_is_reached(pool: HttpPool) -> None:
    try:
        server = await FakeHttpServer([SHORT], host="::1").__aenter__()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    assert await (await pool.dispatch(post(server.url))).read(10) == b"ok"
    assert f"host: [::1]:{server.port}\r\n".encode() in server.requests[0]
    await server.__aexit__()


# Bodies


async def test_chunks_are_joined_and_trailers_and_extensions_skipped(pool: HttpPool) -> None:
    answer = OK + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nx-trailer: 1\r\n\r\n"
    assert await body_of(pool, answer) == b"abc0123456789"


async def test_a_body_without_length_ends_with_the_connection(pool: HttpPool) -> None:
    assert await body_of(pool, OK + b"connection: close\r\n\r\nuntil the end") == b"until the end"


async def test_interim_responses_are_skipped(pool: HttpPool) -> None:
    assert (
        await body_of(pool, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\na: b\r\n\r\n" + SHORT) == b"ok"
    )


async def test_a_response_without_content_has_an_empty_body(pool: HttpPool) -> None:
    assert await body_of(pool, b"HTTP/1.1 204 No Content\r\n\r\n") == b""


async def test_headers_are_lower_case_and_repeated_ones_joined(pool: HttpPool) -> None:
    async with FakeHttpServer([OK + b"X-A: 1\r\nx-a: 2\r\ncontent-length: 0\r\n\r\n"]) as server:
        response = await pool.dispatch(post(server.url))
    assert (response.status, response.reason, response.headers["x-a"]) == (200, "OK", "1, 2")


async def test_read_stops_at_its_limit_and_closes(pool: HttpPool) -> None:
    async with FakeHttpServer([OK + b"content-length: 50000\r\n\r\n" + b"x" * 5000, SHORT]) as server:
        assert await (await pool.dispatch(post(server.url))).read(4096) == b"x" * 4096
        await (await pool.dispatch(post(server.url))).read(10)
        assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n5\r\nab",
        OK + b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\nab\r\n",
        OK + b"content-length: 10\r\nconnection: close\r\n\r\nab",
    ],
)
async def test_a_body_cut_short_is_a_retryable_fault_not_an_end(pool: HttpPool, answer: bytes) -> None:
    """engine-050: a body that ends before its announced length raises a fault that may be retried."""
    with pytest.raises(TransportFailed, match="unexpected eof") as caught:
        await body_of(pool, answer)
    assert caught.value.retryable


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b" folded: x\r\n\r\n",
        OK + b"content-length: 1, 2\r\n\r\nxx",
        OK + b"content-length: -1\r\n\r\n",
        OK + b"transfer-encoding: gzip, chunked\r\n\r\n",
        OK + b"transfer-encoding: chunked\x0b\r\n\r\n0\r\n\r\n",
        OK + b"content-length: 5\xa0\r\n\r\nhello",
        OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n0x2\r\nab\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n2\r\nabcd\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n" + b"0" * 20_000,
        OK + b"x: " + b"y" * 70_000 + b"\r\n\r\n",
        OK + b"x: " + b"y" * 140_000,
        OK + b"content-length: " + b"9" * 5000 + b"\r\n\r\n",
        OK + b"content-length: " + b"9" * 16 + b"\r\n\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 5000 + b"\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 20_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 200 + OK + b"content-length: 0\r\n\r\n",
    ],
)
async def test_non_http_answer_is_a_protocol_error(pool: HttpPool, answer: bytes) -> None:
    with pytest.raises(TransportFailed, match="protocol error"):
        await body_of(pool, answer)


@settings(max_examples=int(os.environ.get("ZOT_FUZZ", "100")), deadline=None)
@given(
    payloads=st.lists(st.binary(min_size=1, max_size=40), max_size=8),
    cuts=st.lists(st.integers(0, 500), max_size=10),
    extra=st.binary(max_size=5),
)
def test_property_chunks_cut_anywhere_give_the_same_body(payloads: list[bytes], cuts: list[int], extra: bytes) -> None:
    wire = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in payloads) + b"0\r\na: b\r\n\r\n" + extra
    places = [0, *sorted(cut for cut in cuts if cut < len(wire)), len(wire)]
    body, got, after = ChunkedBody(), b"", b""
    for start, end in pairwise(places):
        if not body.done:
            got += body.feed(wire[start:end])
            after = wire[end:]
    assert body.done
    assert got == b"".join(payloads)
    assert body.extra + after == extra


# Connections


def test_chunk_headers_of_any_size_are_not_remembered() -> None:
    """Attack: a thousand different headers of 16 KB each must not stay in memory."""
    tracemalloc.start()
    try:
        body = ChunkedBody()
        for number in range(4_000):
            body.feed(b"1;%d" % number + b"x" * 15_000 + b"\r\na\r\n")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 << 20


async def test_connection_is_reused_for_next_request(pool: HttpPool) -> None:
    async with FakeHttpServer([SHORT] * 3) as server:
        for _ in range(3):
            assert await (await pool.dispatch(post(server.url))).read(10) == b"ok"
        assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [OK + b"connection: close\r\ncontent-length: 2\r\n\r\nok", b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
)
async def test_a_connection_the_server_will_close_is_not_kept(pool: HttpPool, answer: bytes) -> None:
    async with FakeHttpServer([answer, SHORT]) as server:
        for _ in range(2):
            await (await pool.dispatch(post(server.url))).read(10)
        assert server.connections == 2


@pytest.mark.parametrize("length", [b"2", b"12", b"0"])
async def test_a_body_with_two_ends_is_the_last_on_its_connection(pool: HttpPool, length: bytes) -> None:
    """Attack: chunks and a length that disagree, so that the rest looks like the next answer."""
    smuggled = OK + b"content-length: " + length + b"\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    async with FakeHttpServer([smuggled, SHORT]) as server:
        for _ in range(2):
            assert await (await pool.dispatch(post(server.url))).read(10) == b"ok"
        assert server.connections == 2


async def test_a_body_not_read_to_its_end_costs_the_connection(pool: HttpPool) -> None:
    async with FakeHttpServer([SHORT, SHORT]) as server:
        (await pool.dispatch(post(server.url))).abort()
        await (await pool.dispatch(post(server.url))).read(10)
        assert server.connections == 2


async def test_unasked_bytes_after_a_body_cost_the_connection(pool: HttpPool) -> None:
    async with FakeHttpServer([SHORT + b"HTTP/1.1 200 OK\r\n", SHORT]) as server:
        for _ in range(2):
            assert await (await pool.dispatch(post(server.url))).read(10) == b"ok"
        assert server.connections == 2


async def test_dead_pooled_connection_is_replaced_and_request_resent(pool: HttpPool) -> None:
    """The server answers once on each connection and closes when the second request comes."""
    seen: list[bytes] = []

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(SHORT)
        seen.append(await read_request(reader))

    async with FakeHttpServer(handler=once) as server:
        for number in (b"1", b"2", b"3"):
            assert await (await pool.dispatch(post(server.url, body=number))).read(10) == b"ok"
        assert server.connections == 3
    assert [request[-1:] for request in seen] == [b"1", b"2", b"2", b"3", b"3"]


async def test_a_fresh_connection_that_dies_is_an_error(pool: HttpPool) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)

    async with FakeHttpServer(handler=hang_up) as server:
        with pytest.raises(TransportFailed, match="closed before any answer") as caught:
            await pool.dispatch(post(server.url))
        assert server.connections == 1
    assert caught.value.retryable


async def test_released_stream_returns_connection_at_its_end(pool: HttpPool) -> None:
    go_on = asyncio.Event()

    async def slow_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + b"transfer-encoding: chunked\r\n\r\n4\r\ndata\r\n")
        await go_on.wait()
        writer.write(b"3\r\nend\r\n0\r\n\r\n")
        await read_request(reader)
        writer.write(SHORT)

    async with FakeHttpServer(handler=slow_end) as server:
        response = await pool.dispatch(post(server.url))
        assert await response.more() == b"data"
        response.release()
        go_on.set()
        async with asyncio.timeout(5):
            while not response.is_settled:  # noqa: ASYNC110 - nothing but the state shows it
                await asyncio.sleep(0)
        assert await (await pool.dispatch(post(server.url))).read(10) == b"ok"
        assert server.connections == 1


async def test_cancelling_closes_the_connection_at_once(pool: HttpPool) -> None:
    closed, asked = asyncio.Event(), asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        assert await reader.read() == b""
        closed.set()

    async with FakeHttpServer(handler=never_answer) as server:
        task = asyncio.ensure_future(pool.dispatch(post(server.url)))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            await closed.wait()


async def test_closing_the_pool_ends_a_read_in_progress(pool: HttpPool) -> None:
    async with FakeHttpServer([OK + b"content-length: 10\r\n\r\nab"]) as server:
        response = await pool.dispatch(post(server.url))
        assert await response.more() == b"ab"
        waiting = asyncio.ensure_future(response.more())
        await asyncio.sleep(0)
        await pool.aclose()
        with pytest.raises(TransportFailed):
            await waiting


async def test_connection_refused_is_named_and_retryable(pool: HttpPool) -> None:
    """engine-015: a refused connection raises a named fault and may be retried."""
    async with FakeHttpServer() as server:
        pass
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(TransportFailed, match="connection refused") as caught:
            await pool.dispatch(post(f"http://{host}:{server.port}"))
        assert caught.value.retryable


async def test_an_unknown_host_is_named(pool: HttpPool) -> None:
    with pytest.raises(TransportFailed, match=r"no such host: nowhere\.invalid"):
        await pool.dispatch(post("http://nowhere.invalid/"))


async def test_a_connect_that_hangs_times_out(pool: HttpPool) -> None:
    """The tunnel through a proxy that never answers is part of connecting."""

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with FakeHttpServer(handler=mute) as proxy:
        slow = HttpPool(environ={"HTTPS_PROXY": f"127.0.0.1:{proxy.port}"})
        with pytest.raises(TransportFailed, match=r"i/o timeout after 0.05 s"):
            await slow.dispatch(post("https://model.test/"), connect_timeout=0.05)


async def test_a_pool_outlives_an_event_loop() -> None:
    """Connections of a loop that ended are forgotten, not used."""
    pool = HttpPool(environ={})

    async def once() -> bytes:
        async with FakeHttpServer([SHORT]) as server:
            return await (await pool.dispatch(post(server.url))).read(10)

    assert await asyncio.to_thread(asyncio.run, once()) == b"ok"
    assert await once() == b"ok"
    await pool.aclose()


# TLS


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
async def test_the_environment_names_the_authorities(variable: str) -> None:
    pool = HttpPool(environ={variable: str(CERTIFICATE)})
    async with FakeHttpServer([SHORT, SHORT], tls=True) as server:
        for _ in range(2):
            assert await (await pool.dispatch(post(server.url))).read(10) == b"ok"
        assert server.connections == 1
        await pool.aclose()


async def test_an_unknown_certificate_is_refused_and_not_retried(pool: HttpPool) -> None:
    async with FakeHttpServer([SHORT], tls=True) as server:
        with pytest.raises(
            TransportFailed, match=r"tls handshake: the certificate of 127\.0\.0\.1 was rejected"
        ) as caught:
            await pool.dispatch(post(server.url))
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
    assert not caught.value.retryable


async def test_insecure_is_a_choice_for_one_request_not_for_the_pool(pool: HttpPool) -> None:
    async with FakeHttpServer([SHORT], tls=True) as server:
        assert await (await pool.dispatch(post(server.url), insecure=True)).read(10) == b"ok"
        with pytest.raises(TransportFailed, match="certificate"):
            await pool.dispatch(post(server.url))


async def test_speaking_tls_to_a_plain_server_is_a_handshake_failure(pool: HttpPool) -> None:
    async with FakeHttpServer(handler=lambda _, writer: _shout(writer)) as server:
        with pytest.raises(TransportFailed, match="tls handshake") as caught:
            await pool.dispatch(post(f"https://127.0.0.1:{server.port}"))
    assert caught.value.retryable


async def _shout(writer: asyncio.StreamWriter) -> None:
    writer.write(b"this is not tls at all\r\n")
    await writer.drain()


async def test_certificate_variable_without_certificates_is_an_error() -> None:
    pool = HttpPool(environ={"SSL_CERT_FILE": "/nowhere/ca.pem"})
    with pytest.raises(BadRequest, match=r"SSL_CERT_FILE=/nowhere/ca\.pem: no usable certificates"):
        async with FakeHttpServer(tls=True) as server:
            await pool.dispatch(post(server.url))
