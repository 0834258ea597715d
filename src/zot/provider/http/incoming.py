"""Requests that a browser or a client on this machine sends to zot: the head, strictly, and a small body.
A page of any website can send requests here, so what is not plainly valid is a ValueError."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from hmac import compare_digest
from urllib.parse import parse_qs

import msgspec

HEAD_LIMIT = 16 * 1024  # for ``asyncio.start_server``


class BodyTooLarge(ValueError):
    """The body is above the limit; it was not read."""


class IncomingRequest(msgspec.Struct, frozen=True):
    """``headers`` have lower-case names; ``query`` has the names that occur once."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""


async def read_request(reader: asyncio.StreamReader, body_limit: int) -> IncomingRequest:
    """What is no request raises ValueError, IncompleteReadError or LimitOverrunError. The caller limits the time."""
    request = read_head(await reader.readuntil(b"\r\n\r\n"))
    size = request.headers.get("content-length", "0")
    if "transfer-encoding" in request.headers or not (size.isascii() and size.isdecimal()):
        raise ValueError("body")
    if len(size) > 10 or int(size) > body_limit:
        raise BodyTooLarge(size[:20])
    return msgspec.structs.replace(request, body=await reader.readexactly(int(size)))


def read_head(head: bytes, once: Collection[str] | None = None) -> IncomingRequest:
    """ValueError for an invalid request. Headers ``once`` must not be repeated (None: no header); of others the last
    counts."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1.") or not method or not target:
        raise ValueError("request line")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        key = name.lower()
        if not colon or name != name.strip() or (key in headers and (once is None or key in once)):
            raise ValueError("header")
        headers[key] = value.strip()
    path, _, query = target.partition("?")
    return IncomingRequest(method, path, read_fields(query), headers)


def read_fields(text: str) -> dict[str, str]:
    """The fields of a query or form; a repeated name is left out."""
    found = parse_qs(text, keep_blank_values=True, max_num_fields=10)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def is_same(given: str, wanted: str) -> bool:
    """Compares secrets in constant time."""
    return compare_digest(given.encode("utf-8", "replace"), wanted.encode())
