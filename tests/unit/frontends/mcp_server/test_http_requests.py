"""Heads of HTTP requests: whatever a connection sends is a request, its end, or a refusal."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.frontends.mcp_server.http_requests import HEAD_LIMIT, HttpRefused, HttpRequest, check_origin, read_head

PIECES = st.sampled_from(
    [
        b"POST",
        b"GET",
        b" ",
        b"/mcp",
        b"HTTP/1.1",
        b"\r\n",
        b"\n",
        b":",
        b"host",
        b"localhost",
        b"\0",
        b"\xff",
        b"origin",
    ]
)


def head(data: bytes) -> HttpRequest | None:
    async def read() -> HttpRequest | None:
        reader = asyncio.StreamReader(limit=HEAD_LIMIT)
        reader.feed_data(data)
        reader.feed_eof()
        return await read_head(reader)

    return asyncio.run(read())


@given(st.lists(PIECES, max_size=30).map(b"".join) | st.binary(max_size=200))
def test_any_head_is_read_or_refused(data: bytes) -> None:
    try:
        request = head(data + b"\r\n\r\n")
    except HttpRefused as refused:
        assert 400 <= refused.status < 500
        return
    if request is not None:
        assert request.method and all(name == name.lower() for name in request.headers)


def test_a_connection_that_ends_is_no_request() -> None:
    assert head(b"") is None and head(b"POST /mcp HTTP/1.1\r\nhost: x") is None


@pytest.mark.parametrize(
    ("headers", "token", "status"),
    [
        ({"host": "localhost:80"}, "", 0),
        ({"host": "[::1]:80"}, "", 0),
        ({"host": "localhost:81"}, "", 403),
        ({"host": "LOCALHOST:80"}, "", 403),
        ({}, "", 403),
        ({"host": "far.example", "authorization": "bearer right"}, "right", 0),
        ({"host": "far.example", "authorization": "Bearer right", "origin": "http://far.example"}, "right", 0),
        ({"host": "far.example", "authorization": "Bearer right", "origin": "http://near.example"}, "right", 403),
        ({"host": "localhost:80"}, "right", 401),
        ({"host": "localhost:80", "authorization": "Bearer r\udce9ght"}, "right", 401),
    ],
)
def test_origin_and_token_decide_who_may_ask(headers: dict[str, str], token: str, status: int) -> None:
    request = HttpRequest("POST", "/mcp", headers)
    if not status:
        check_origin(request, 80, token)
        return
    with pytest.raises(HttpRefused) as refused:
        check_origin(request, 80, token)
    assert refused.value.status == status
