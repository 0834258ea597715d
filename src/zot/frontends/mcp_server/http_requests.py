"""HTTP/1.1 requests of a loopback server: read within limits, checked for their origin, and answered."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from hmac import compare_digest

import msgspec

from zot.errors import TransportFailed
from zot.features.mcp.protocol import HEADER_MISMATCH
from zot.frontends.json_rpc import Params
from zot.frontends.mcp_server.exchange import Rejected, meta_of
from zot.provider.http import incoming
from zot.provider.http.message import ChunkedBody

HEAD_LIMIT = 32 * 1024
BODY_LIMIT = 16 * 1024 * 1024
PATHS = ("/mcp", "/")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ONCE = ("host", "origin", "content-length")
_ABOUT = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_REASONS = {
    200: "OK",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    411: "Length Required",
    413: "Content Too Large",
    503: "Service Unavailable",
}


class HttpRefused(Exception):
    """The request gets only a status and a line of text; the connection ends."""

    def __init__(self, status: int, text: str, *headers: tuple[str, str]) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers


class HttpRequest(msgspec.Struct, frozen=True):
    """Header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def accepts_stream(self) -> bool:
        accepted = self.headers.get("accept", "")
        return "text/event-stream" in accepted or "*/*" in accepted

    @property
    def keeps_alive(self) -> bool:
        return "close" not in self.headers.get("connection", "").lower()


async def read_head(reader: asyncio.StreamReader) -> HttpRequest | None:
    """None if the client has ended the connection."""
    try:
        data = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise HttpRefused(413, "the headers are too long") from error
    try:
        head = incoming.read_head(data, _ONCE)
    except ValueError as error:
        raise HttpRefused(400, "not a valid HTTP/1.1 request") from error
    return HttpRequest(head.method, head.path, head.headers)


async def read_body(request: HttpRequest, reader: asyncio.StreamReader) -> HttpRequest:
    size, coding = request.headers.get("content-length", ""), request.headers.get("transfer-encoding", "")
    if coding:
        if coding.lower() != "chunked" or size:
            raise HttpRefused(400, "unsupported transfer-encoding")
        return msgspec.structs.replace(request, body=await _chunks(reader))
    if not size:
        return request
    if not (size.isascii() and size.isdecimal()):
        raise HttpRefused(400, "content-length is not a number")
    if len(size) > 12 or int(size) > BODY_LIMIT:
        raise HttpRefused(413, f"the message is larger than {BODY_LIMIT >> 20} MiB")
    return msgspec.structs.replace(request, body=await reader.readexactly(int(size)))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body, total = ChunkedBody(), 0
    pieces: list[bytes] = []
    while not body.done:
        data = await reader.read(65536)
        if not data:
            raise HttpRefused(400, "the body is incomplete")
        try:
            piece = body.feed(data)
        except TransportFailed as error:
            raise HttpRefused(400, "the body is not well formed") from error
        total += len(piece)
        if total > BODY_LIMIT:
            raise HttpRefused(413, f"the message is larger than {BODY_LIMIT >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


# --- who may ask


def check_origin(request: HttpRequest, port: int, token: str) -> None:
    """A web page of another site must not reach the server, also if its name resolves to this machine."""
    host = request.headers.get("host", "")
    own = {f"{name}:{port}" for name in LOOPBACK} | set(LOOPBACK)
    if not token and host not in own:
        raise HttpRefused(403, "wrong Host: this server is for programs on this machine")
    origin = request.headers.get("origin")
    allowed = {f"http://{name}" for name in (own | {host} if token else own)}
    if origin is not None and origin not in allowed:
        raise HttpRefused(403, "wrong Origin: web pages of other sites may not use this server")
    if not token:
        return
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not compare_digest(given.strip().encode("utf-8", "replace"), token.encode()):
        needed = ("www-authenticate", 'Bearer realm="zot"')
        raise HttpRefused(401, "a bearer token is required: zot printed it, or it is in ZOT_MCP_TOKEN", needed)


def check_headers(request: HttpRequest, method: str, params: Params) -> None:
    """Headers of a stateless request must say what its body says; Rejected if not."""
    wanted = {"mcp-protocol-version": meta_of(params, "protocolVersion"), "mcp-method": method}
    if (field := _ABOUT.get(method, "")) and isinstance(params.get(field), str):
        wanted["mcp-name"] = params[field]
    for name, value in wanted.items():
        if isinstance(value, str) and _decoded(request.headers.get(name, "")) != value:
            raise Rejected(HEADER_MISMATCH, f"the header {name} does not match the message")


def _decoded(value: str) -> str | None:
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[9:-2], validate=True).decode()
    except (Base64Error, ValueError):
        return None


# --- answers


def response(status: int, body: bytes = b"", *headers: tuple[str, str], ends: bool = False) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, '')}".rstrip(), "cache-control: no-store"]
    if status != 204:
        lines.append(f"content-length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in headers]
    lines += ["connection: close"] if ends else []
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\nconnection: close\r\n"
