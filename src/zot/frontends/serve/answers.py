"""HTTP answers of the server: one head for all, strict about what a browser may do with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

JSON = "application/json"
_NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_ALWAYS = (
    "Referrer-Policy: no-referrer",
    "X-Content-Type-Options: nosniff",
    "X-Frame-Options: DENY",
    "Cross-Origin-Opener-Policy: same-origin",
    "Cross-Origin-Resource-Policy: same-origin",
    "Connection: close",
)
_REASONS = {
    200: "OK",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    426: "Upgrade Required",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def answer(
    status: int,
    body: bytes = b"",
    kind: str = "",
    *,
    policy: str = _NOTHING,
    cache: str = "no-store",
    headers: Mapping[str, str] = {},
) -> bytes:
    """The whole answer. ValueError if a header would have a line end, or is not ASCII."""
    head = [
        f"HTTP/1.1 {status} {_REASONS[status]}",
        *([f"Content-Type: {kind}"] if kind else []),
        *([f"Content-Length: {len(body)}"] if status != 304 else []),
        f"Content-Security-Policy: {policy}",
        f"Cache-Control: {cache}",
        *(f"{name}: {value}" for name, value in headers.items()),
        *_ALWAYS,
    ]
    if not all(line.isascii() and line.isprintable() for line in head):
        raise ValueError("header")
    return "\r\n".join(head).encode("ascii") + b"\r\n\r\n" + body


def json_answer(status: int, value: Any, headers: Mapping[str, str] = {}) -> bytes:
    return answer(status, _encode(value), JSON, headers=headers)


def failure(status: int, error: str, headers: Mapping[str, str] = {}) -> bytes:
    return json_answer(status, {"error": error}, headers)


def _encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a path that is not UTF-8
        from zot.wire.extension_codec import well_formed

        return msgspec.json.encode(well_formed(msgspec.to_builtins(value)))
