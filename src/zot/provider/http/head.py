"""Request heads out, response heads in, as bytes. What could start a second header is refused."""

from __future__ import annotations

import re
from typing import NamedTuple

from zot.errors import BadRequest, TransportFailed
from zot.provider.dialects.dialect import HttpRequest
from zot.provider.http.body import Body, ChunkedBody, SizedBody, UnboundedBody
from zot.provider.http.proxy import Proxy, basic_auth
from zot.provider.http.url import Url

MAX_HEAD_BYTES = 64 * 1024
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORBIDDEN = re.compile(r"[\r\n\0]")


class Head(NamedTuple):
    """A response's status line and headers; names are lower case, repeated ones joined by a comma."""

    version: bytes
    status: int
    reason: str
    headers: dict[str, str]

    @property
    def keeps_alive(self) -> bool:
        connection = self.headers.get("connection", "").lower()
        return "keep-alive" in connection if self.version == b"HTTP/1.0" else "close" not in connection


def encode_head(request: HttpRequest, url: Url, proxy: Proxy | None) -> bytes:
    """The request head; through a proxy an http address is written in full, an https one goes by tunnel."""
    if not _TOKEN.fullmatch(request.method):
        raise BadRequest(f"not an http method: {request.method!r}")
    absolute = proxy is not None and url.scheme == "http"
    target = f"http://{url.authority}{url.target}" if absolute else url.target
    headers = {"host": url.authority, "accept-encoding": "identity"}
    if url.userinfo:
        headers["authorization"] = basic_auth(url.userinfo)
    if absolute and proxy is not None and proxy.authorization:
        headers["proxy-authorization"] = proxy.authorization
    for name, value in request.headers:
        headers[name.lower()] = value
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        headers["content-length"] = str(len(request.body))
    lines = [f"{request.method} {target} HTTP/1.1", *(_line(name, value) for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def encode_connect(url: Url, proxy: Proxy) -> bytes:
    """Ask a proxy for a tunnel to ``url``."""
    lines = [f"CONNECT {url.address} HTTP/1.1", f"host: {url.address}"]
    if proxy.authorization:
        lines.append(f"proxy-authorization: {proxy.authorization}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _line(name: str, value: str) -> str:
    """One header line. The value may be a secret: errors name the header only."""
    if not _TOKEN.fullmatch(name):
        raise BadRequest(f"not a header name: {name!r}")
    if _FORBIDDEN.search(value):
        raise BadRequest(f"the header {name!r} holds a line break or a zero byte: check where its value comes from")
    try:
        value.encode("latin-1")
    except UnicodeEncodeError as error:
        raise BadRequest(f"the header {name!r} holds a character HTTP cannot carry: check its value") from error
    return f"{name}: {value.strip(' ')}"


def split_head(data: bytes) -> tuple[Head, bytes] | None:
    """A whole response head and what follows it; None while bytes are missing."""
    end = data.find(b"\r\n\r\n")
    if end < 0 and len(data) <= MAX_HEAD_BYTES:
        return None
    if not 0 <= end <= MAX_HEAD_BYTES:
        raise TransportFailed(f"protocol error: response headers over {MAX_HEAD_BYTES // 1024} KiB", retryable=True)
    return _parse_head(data[:end]), data[end + 4 :]


def _parse_head(block: bytes) -> Head:
    first, *lines = block.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    code, _, reason = rest.partition(b" ")
    if not version.startswith(b"HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise TransportFailed(f"protocol error: not an HTTP/1.1 answer: {first[:60]!r}", retryable=True)
    headers: dict[str, str] = {}
    for line in lines:
        name, found, value = line.decode("latin-1").partition(":")
        if not found or not _TOKEN.fullmatch(name):
            raise TransportFailed(f"protocol error: not a header line: {line[:60]!r}", retryable=True)
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(version, int(code), reason.decode("latin-1").strip(), headers)


def body_of(head: Head) -> Body:
    """How the body of this response ends."""
    if head.status in (204, 304):
        return SizedBody(0)
    if "transfer-encoding" in head.headers:
        coding = head.headers["transfer-encoding"].lower()
        if coding != "chunked":
            raise TransportFailed(f"protocol error: unsupported transfer-encoding {coding!r}", retryable=False)
        return ChunkedBody()
    if "content-length" in head.headers:
        sizes = {size.strip() for size in head.headers["content-length"].split(",")}
        size = sizes.pop()
        if sizes or not (size.isascii() and size.isdecimal()):
            raise TransportFailed("protocol error: contradictory content-length", retryable=True)
        return SizedBody(int(size))
    return UnboundedBody()
