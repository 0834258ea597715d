"""Reading a user's JSON file so that a mistake in it is told as file, line, column and fix."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.errors import ConfigError

_BYTE = re.compile(r" \(byte (\d+)\)$")


def read_bytes(path: Path) -> bytes | None:
    """The file's bytes; None when there is no such file. Other failures are a ConfigError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error


def decode_object(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON object in ``data``; a blank file counts as an empty one."""
    if not data.strip():
        return {}
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {_place(data, str(error))}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: the file must hold one JSON object, {{…}}")
    return cast("dict[str, Any]", value)


def encode_pretty(value: dict[str, Any]) -> bytes:
    """Indented by two spaces, as people and the reference write it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _place(data: bytes, text: str) -> str:
    """msgspec counts bytes; people count lines."""
    match = _BYTE.search(text)
    if match is None:
        return "the JSON ends too early: a bracket, brace or quote is not closed" if "truncated" in text else text
    before = data[: int(match[1])]
    line = before.count(b"\n") + 1
    column = len(before) - (before.rfind(b"\n") + 1) + 1
    return f"line {line}, column {column}: {text[: match.start()]}"
