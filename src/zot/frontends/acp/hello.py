"""The answer to ``initialize``, given before the rest of zot is loaded, because editors wait for it."""

from __future__ import annotations

import json
import os

from zot import __version__

TYPE_CHECKING = False  # importing `typing` would take longer
if TYPE_CHECKING:
    from typing import Any

PROTOCOL_VERSION = 1
LOGIN, KEY = "zot-login", "zot-key"
_MOST = 1 << 20  # bytes of a first line


def is_announced(given: object, *path: str) -> bool:
    """A capability: true, or an object that is there."""
    for key in path:
        given = given.get(key) if isinstance(given, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return given is True or isinstance(given, dict)


def initialize_result(capabilities: object) -> dict[str, Any]:
    """``capabilities`` are the client's."""
    key = {"id": KEY, "name": "Use zot's logins", "description": "API keys and logins that zot already has"}
    described = "Runs `zot acp --login` in a terminal"
    login = {"type": "terminal", "id": LOGIN, "name": "Log in", "description": described, "args": ["--login"]}
    names = ("list", "resume", "fork", "delete", "close", "additionalDirectories")
    sessions: dict[str, Any] = {name: {} for name in names}
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": sessions,
            "auth": {"logout": {}},
        },
        "authMethods": [key, *([login] if is_announced(capabilities, "auth", "terminal") else [])],
        "agentInfo": {"name": "zot", "title": "zot", "version": __version__},
    }


def answer_first_line() -> tuple[bytes, Any]:
    """Wait for the client's first line and answer it if it is ``initialize``. Returns the bytes that are left to
    process, and the client's capabilities; None if another line came first."""
    data = b""
    while b"\n" not in data and len(data) < _MOST:
        piece = os.read(0, 65536)
        if not piece:
            return data, None
        data += piece
    line, _, rest = data.partition(b"\n")
    try:
        message: Any = json.loads(line)
        if message["method"] != "initialize" or not isinstance(message["id"], int | str):
            return data, None
        capabilities: Any = message["params"].get("clientCapabilities") or {}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": initialize_result(capabilities)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return data, None
    text = json.dumps(answer, separators=(",", ":")).encode() + b"\n"
    while text:
        text = text[os.write(1, text) :]
    return rest, capabilities
