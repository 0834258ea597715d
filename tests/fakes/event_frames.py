"""Messages of Amazon's binary event stream, as a server writes them."""

from __future__ import annotations

import struct
from binascii import crc32
from typing import Any

import msgspec


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One message; all header values are text."""
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    body = prelude + struct.pack(">I", crc32(prelude)) + head + payload
    return body + struct.pack(">I", crc32(body))


def event_frame(kind: str, payload: dict[str, Any]) -> bytes:
    """An event, padded as Bedrock pads its own."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, msgspec.json.encode({**payload, "p": "abcdefghij"}))


def exception_frame(kind: str, message: str) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, msgspec.json.encode({"message": message}))
