"""HTTP/1.1 messages as bytes: request heads, response heads and the three kinds of body.
Input that could start a second header is rejected."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import msgspec

from zot.errors import BadRequest, TransportFailed
from zot.provider.http.route import Proxy, Url, basic_auth

MAX_HEAD_BYTES = 64 * 1024
_MAX_CHUNK_LINE = 16 * 1024
_SHORT_CHUNK_LINE = 16  # header lines of a stream are few and alike; cached
_MAX_REASON = 200
_MAX_SIZE_DIGITS = 15  # of a body or a chunk
_TOKEN = "!#$%&'*+.^_`|~-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class HttpRequest(msgspec.Struct, frozen=True):
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes


class ResponseHead(msgspec.Struct, frozen=True):
    """A response's status line and headers; names are lower case, repeated ones joined by a comma."""

    version: bytes
    status: int
    reason: str
    headers: dict[str, str]

    @property
    def keeps_alive(self) -> bool:
        """A head with two body lengths is the last one on its connection."""
        if "transfer-encoding" in self.headers and "content-length" in self.headers:
            return False
        connection = self.headers.get("connection", "").lower()
        return "keep-alive" in connection if self.version == b"HTTP/1.0" else "close" not in connection


def encode_head(request: HttpRequest, url: Url, proxy: Proxy | None) -> bytes:
    """The request head; through a proxy an http address is written in full, an https one uses a tunnel."""
    if not _is_token(request.method):
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
    lines = [f"CONNECT {url.address} HTTP/1.1", f"host: {url.address}"]
    if proxy.authorization:
        lines.append(f"proxy-authorization: {proxy.authorization}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _is_token(text: str) -> bool:
    return text != "" and not text.strip(_TOKEN)


def _line(name: str, value: str) -> str:
    """One header line. The value may be a secret: errors name the header only."""
    if not _is_token(name):
        raise BadRequest(f"not a header name: {name!r}")
    if "\r" in value or "\n" in value or "\0" in value:
        raise BadRequest(f"header {name!r} contains a line break or a zero byte; check the source of its value")
    try:
        value.encode("latin-1")
    except UnicodeEncodeError as error:
        raise BadRequest(f"header {name!r} contains a character that HTTP does not allow; check its value") from error
    return f"{name}: {value.strip(' ')}"


def split_head(data: bytes, searched: int = 0) -> tuple[ResponseHead, bytes] | None:
    """A complete response head and the rest; None while bytes are missing. ``searched`` bytes had no end."""
    end = data.find(b"\r\n\r\n", max(searched - 3, 0))
    if end < 0 and len(data) <= MAX_HEAD_BYTES:
        return None
    if not 0 <= end <= MAX_HEAD_BYTES:
        raise TransportFailed(f"protocol error: response headers over {MAX_HEAD_BYTES // 1024} KiB", retryable=True)
    first, *lines = data[:end].split(b"\r\n")
    version, _, rest = first.partition(b" ")
    code, _, reason = rest.partition(b" ")
    if not version.startswith(b"HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise TransportFailed(f"protocol error: not an HTTP/1.1 answer: {first[:60]!r}", retryable=True)
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, found, value = line.decode("latin-1").partition(":")
        if not found or not _is_token(name):
            raise TransportFailed(f"protocol error: not a header line: {line[:60]!r}", retryable=True)
        headers.setdefault(name.lower(), []).append(value.strip(" \t"))
    joined = {name: ", ".join(values) for name, values in headers.items()}
    return ResponseHead(version, int(code), reason[:_MAX_REASON].decode("latin-1").strip(), joined), data[end + 4 :]


def body_of(head: ResponseHead) -> Body:
    if head.status in (204, 304):
        return SizedBody(0)
    if "transfer-encoding" in head.headers:
        coding = head.headers["transfer-encoding"]
        if coding.lower() != "chunked":
            text = f"protocol error: unsupported transfer-encoding {coding[:60]!r}"
            raise TransportFailed(text, retryable=False)
        return ChunkedBody()
    if "content-length" in head.headers:
        sizes = {size.strip(" \t") for size in head.headers["content-length"].split(",")}
        size = sizes.pop()
        if sizes or not (size.isascii() and size.isdecimal()):
            raise TransportFailed("protocol error: contradictory content-length", retryable=True)
        if len(size) > _MAX_SIZE_DIGITS:
            raise TransportFailed(f"protocol error: a content-length of {len(size)} digits", retryable=False)
        return SizedBody(int(size))
    return UnboundedBody()


class Body(Protocol):
    done: bool
    extra: bytes

    def feed(self, data: bytes) -> bytes: ...

    def end(self) -> None:
        """The connection ended; TransportFailed if the body is incomplete."""
        ...


class ChunkedBody:
    """``transfer-encoding: chunked``; extensions and trailers are skipped, trailers up to the size of a head."""

    def __init__(self) -> None:
        self.done = False
        self.extra = b""
        self._left = 0  # missing payload bytes of the current chunk
        self._in_chunk = False
        self._in_trailer = False
        self._trailer_bytes = 0
        self._tail = b""  # an unfinished line, or the line end of a chunk

    def feed(self, data: bytes) -> bytes:
        if self._tail:
            data, self._tail = self._tail + data, b""
        payload: list[bytes] = []
        at = self._finish_chunk(data, payload) if self._in_chunk else 0
        while not (self._in_chunk or self._in_trailer):
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                break
            short = line_end - at <= _SHORT_CHUNK_LINE
            size = _short_chunk_size(data[at:line_end]) if short else _chunk_size(data[at:line_end])
            start = line_end + 2
            at = start + size
            if size and data[at : at + 2] == b"\r\n":  # the whole chunk is here
                payload.append(data[start:at])
                at += 2
            elif size:
                self._in_chunk, self._left = True, size
                at = self._finish_chunk(data, payload, start)
            else:
                self._in_trailer = True
        if self._in_trailer:
            at = self._skip_trailer(data, at)
        rest = data[at:]
        if self.done:
            self.extra = rest
        elif len(rest) > _MAX_CHUNK_LINE:
            raise TransportFailed("protocol error: a chunk header is too long", retryable=True)
        else:
            self._tail = rest
        return payload[0] if len(payload) == 1 else b"".join(payload)

    def end(self) -> None:
        if not self.done:
            raise cut_off()

    def _finish_chunk(self, data: bytes, payload: list[bytes], at: int = 0) -> int:
        """Consume the current chunk; once complete, its line end."""
        if self._left:
            piece = data[at : at + self._left]
            payload.append(piece)
            self._left -= len(piece)
            at += len(piece)
        if not self._left and len(data) - at >= 2:
            if data[at : at + 2] != b"\r\n":
                raise TransportFailed("protocol error: a chunk is longer than declared", retryable=True)
            self._in_chunk = False
            at += 2
        return at

    def _skip_trailer(self, data: bytes, at: int) -> int:
        start = at
        while (line_end := data.find(b"\r\n", at)) >= 0:
            empty, at = line_end == at, line_end + 2
            if empty:
                self.done = True
                break
        self._trailer_bytes += at - start
        if self._trailer_bytes > MAX_HEAD_BYTES:
            raise TransportFailed(f"protocol error: trailers over {MAX_HEAD_BYTES // 1024} KiB", retryable=True)
        return at


class SizedBody:
    def __init__(self, size: int) -> None:
        self.done = size == 0
        self.extra = b""
        self._left = size

    def feed(self, data: bytes) -> bytes:
        if len(data) < self._left:
            self._left -= len(data)
            return data
        payload, self.extra = data[: self._left], data[self._left :]
        self._left, self.done = 0, True
        return payload

    def end(self) -> None:
        if not self.done:
            raise cut_off()


class UnboundedBody:
    """Neither chunks nor a length: the body ends with the connection."""

    def __init__(self) -> None:
        self.done = False
        self.extra = b""

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> None:
        self.done = True


def cut_off() -> TransportFailed:
    return TransportFailed("the connection closed before the answer was complete (unexpected eof)", retryable=True)


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not digits or len(digits) > _MAX_SIZE_DIGITS or digits.strip(b"0123456789abcdefABCDEF"):
        raise TransportFailed(f"protocol error: not a chunk size: {line[:40]!r}", retryable=True)
    return int(digits, 16)


_short_chunk_size = lru_cache(1024)(_chunk_size)
