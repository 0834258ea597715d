"""MCP messages (JSON-RPC 2.0) and the transport interface.
Stateful servers (up to 2025-11-25) begin with ``initialize``; stateless ones take ``_meta`` with each request. Input is
read leniently and never trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import msgspec

from zot import __version__
from zot.errors import ZotError
from zot.system import strict_json

MODERN = ("2026-07-28",)
CLASSIC = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT = {"name": "zot", "version": __version__}
META = "io.modelcontextprotocol/"

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION = -32042
OF_MODERN = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)

NOTHING = msgspec.Raw(b"")
_LONGEST = 500  # characters of a server's text in a message


class McpError(ZotError):
    """A server failed or cannot be reached; the text begins with its name. ``code`` is the server's."""

    def __init__(self, text: str, *, code: int = 0, data: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class ServerClosed(McpError):
    """The connection ended before the answer."""


class SessionExpired(ServerClosed):
    """The server ended the session and did not process the request."""


class McpNoAnswer(McpError):
    """The server did not answer in time."""


class NeedsLogin(McpError):
    """The server requires a login. ``challenge`` is its ``WWW-Authenticate``."""

    def __init__(self, text: str, challenge: str = "") -> None:
        super().__init__(text)
        self.challenge = challenge


class RpcError(msgspec.Struct):
    code: int = 0
    message: str = ""
    data: Any = None


class Incoming(msgspec.Struct):
    """A request, a notification or an answer, depending on its fields."""

    id: int | str | None = None
    method: str = ""
    params: msgspec.Raw = NOTHING
    result: msgspec.Raw = NOTHING
    error: RpcError | None = None

    @property
    def is_answer(self) -> bool:
        return not self.method and (self.error is not None or len(bytes(self.result)) > 0)


_decoder = msgspec.json.Decoder(Incoming)


def read_message(line: bytes) -> Incoming | None:
    try:
        try:
            message = _decoder.decode(line)
        except RecursionError:
            message = _decoder.decode(without_deep_values(line))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return message if message.method or message.is_answer else None


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def without_deep_values(data: bytes, deepest: int = 100) -> bytes:
    """JSON with every object and list below ``deepest`` levels replaced by null, so that it can be decoded."""
    kept: list[bytes] = []
    depth = start = 0
    for match in _TOKEN.finditer(data):
        token = match[0]
        if token in b"[{":
            depth += 1
            if depth == deepest + 1:
                kept += (data[start : match.start()], b"null")
        elif token in b"]}":
            if depth == deepest + 1:
                start = match.end()
            depth -= 1
    return b"".join((*kept, data[start:]))


def nesting(data: bytes) -> int:
    """How many levels of objects and lists the JSON has."""
    depth = deepest = 0
    for match in _TOKEN.finditer(data):
        if match[0] in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in b"]}":
            depth -= 1
    return deepest


def request(id: int, method: str, params: dict[str, Any] | None) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}) + b"\n"


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return msgspec.json.encode(message | ({"params": params} if params else {})) + b"\n"


def answer(id: int | str | None, result: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result}) + b"\n"


def error_response(id: int | str | None, code: int, message: str) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}) + b"\n"


def fields(raw: msgspec.Raw) -> dict[str, Any]:
    """The object in an answer; empty if it is not one."""
    try:
        try:
            value: Any = strict_json.loads(bytes(raw))
        except ValueError:
            value = strict_json.loads(without_deep_values(bytes(raw), strict_json.MAX_DEPTH))
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def error_of(name: str, error: RpcError) -> McpError:
    reason = " ".join(error.message.split())[:_LONGEST] or "no reason given"
    return McpError(f"{name}: {reason}", code=error.code, data=error.data)


def text_of(value: Any) -> str:
    """A text field of a server; empty if missing or not text."""
    return value if isinstance(value, str) else ""


def object_in(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_in(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def meta(version: str, capabilities: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{META}protocolVersion": version,
        f"{META}clientInfo": CLIENT,
        f"{META}clientCapabilities": capabilities,
    }


_ABOUT = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def headers_of(method: str, params: dict[str, Any]) -> dict[str, str]:
    """HTTP headers of a stateless request."""
    headers = {"mcp-method": method}
    if about := text_of(params.get(_ABOUT.get(method, ""))):
        headers["mcp-name"] = header_value(about)
    return headers


def header_value(text: str) -> str:
    """The text as a header value; encoded if it is not plain ASCII."""
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    from base64 import b64encode  # few need it

    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode()}?="


Hear = Callable[[Incoming], None]


class Link(Protocol):
    """One connection. ``ask`` waits for the answer or raises McpError; ``tell`` sends a notification.
    Other messages go to ``hear``."""

    hear: Hear
    headers: dict[str, str]  # sent with each request, for example the protocol version

    @property
    def closed(self) -> str:
        """Why it is closed; empty while open."""
        ...

    @property
    def heard(self) -> int:
        """Number of received messages; shows that a server is alive."""
        ...

    @property
    def is_gone(self) -> bool:
        """True once no answer can arrive, also before ``closed`` is set."""
        ...

    async def ask(self, id: int, headers: Mapping[str, str], message: bytes) -> Incoming: ...

    def notify(self, message: bytes) -> None: ...

    async def aclose(self, grace: float) -> None: ...
