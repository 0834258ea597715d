"""What is wrong with a line from a child, and which check it concerns. A sound line has no fault."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from zot.errors import BadFrame
from zot.system import strict_json
from zot.wire.codec import UnknownFrame, decode_child
from zot.wire.frames import ChildFrame


class Fault(msgspec.Struct, frozen=True):
    check: str
    reason: str


def read_line(line: bytes) -> tuple[ChildFrame | None, Fault | None]:
    """The frame in a line, what is wrong with it, or both: a number as id still tells which question is meant."""
    if line.endswith(b"\r"):
        line = line[:-1]
    try:
        return decode_child(line), None
    except UnknownFrame as error:
        return None, Fault("framing.known-types", str(error))
    except BadFrame as error:
        return _bad(line, str(error))


def _bad(line: bytes, reason: str) -> tuple[ChildFrame | None, Fault]:
    if fault := _not_json(line, reason):
        return None, fault
    value = _object(line)
    if value is None:
        return None, Fault("framing.only-frames", reason)
    if not isinstance(value.get("id"), str | None):
        return _with_text_id(value), Fault("answers.string-ids", "`id` is not a string")
    return None, Fault("framing.key-types", reason)


def _not_json(line: bytes, reason: str) -> Fault | None:
    if not line.strip():
        return Fault("framing.no-blank-lines", "an empty line")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return Fault("framing.utf8", f"not UTF-8 at byte {error.start}")
    if text.startswith("\ufeff"):
        return Fault("framing.utf8", "begins with a byte order mark")
    try:
        strict_json.loads(line)
    except ValueError as error:
        if _is_lenient_json(line):
            return Fault("framing.strict-json", str(error))
        if _is_a_piece(text.strip()):
            return Fault("framing.one-line", "a piece of a JSON object, or several on one line")
        return Fault("framing.only-frames", reason)
    return None


def _is_lenient_json(line: bytes) -> bool:
    import json  # the standard reader accepts NaN, huge integers and duplicate keys, which is the question here

    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return b"[" * strict_json.MAX_DEPTH in line
    return True


def _is_a_piece(text: str) -> bool:
    """Pretty-printed JSON comes as `{`, `"key": value,` and `}`; two frames without a line feed as `}{`."""
    if text.startswith("{"):
        return not text.endswith("}") or "}{" in text.replace(" ", "")
    return text.strip(",") in ("}", "]", "},", "{", "[") or (text.startswith('"') and '":' in text)


def _object(line: bytes) -> dict[str, Any] | None:
    value: Any = strict_json.loads(line)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _with_text_id(value: dict[str, Any]) -> ChildFrame | None:
    try:
        return decode_child(msgspec.json.encode({**value, "id": str(value["id"])}))
    except BadFrame:
        return None
