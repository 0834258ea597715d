"""Decodes and encodes extension frames. One frame is one line; an invalid one raises BadFrame with the reason.
``null`` means absent at every known key, unknown keys are ignored, and a wrong type invalidates the frame. A line in
zot's own format (which the SDKs write) is decoded once and compared; others go through the strict parser of
``zot.system.strict_json``."""

from __future__ import annotations

import functools
from typing import Any, get_args

import msgspec

from zot.errors import BadFrame
from zot.system import strict_json
from zot.wire import extension_frames
from zot.wire.extension_frames import ChildFrame, Frame, HostFrame

_encode = msgspec.json.Encoder().encode
_decode_child = msgspec.json.Decoder(ChildFrame).decode
_decode_host = msgspec.json.Decoder(HostFrame).decode


class UnknownFrame(BadFrame):
    """A well-formed frame of a type unknown in this direction; ``type`` is "" if it was missing."""

    def __init__(self, type: str) -> None:
        super().__init__(f"unknown frame type {type!r}")
        self.type = type


def decode_child(line: bytes) -> ChildFrame:
    """The frame a child sent; raises UnknownFrame or BadFrame. The line end may be included."""
    line = _without_line_end(line)
    try:
        frame = _decode_child(line)
        if _ours(line, frame):
            return frame
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass  # the strict parser names the reason, or accepts another format
    return _convert(line, _child_types())


def decode_host(line: bytes) -> HostFrame:
    """The frame a host sent; raises UnknownFrame or BadFrame. The line end may be included."""
    line = _without_line_end(line)
    try:
        frame = _decode_host(line)
        if _ours(line, frame):
            return frame
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return _convert(line, _host_types())


def encode(frame: Frame) -> bytes:
    """One compact line with its LF: ``type`` first, ``id`` second, raw UTF-8, lone surrogates as U+FFFD."""
    try:
        return _encode(frame) + b"\n"
    except UnicodeEncodeError:
        return _encode(well_formed(msgspec.to_builtins(frame))) + b"\n"


def _ours(line: bytes, frame: Frame) -> bool:
    """True if the line is in zot's own format, without duplicate keys, nulls and unusual characters."""
    return _encode(frame) == line and strict_json.plain(line) and b":null" not in line


def _without_line_end(line: bytes) -> bytes:
    if line.endswith(b"\n"):
        line = line[:-1]
    return line[:-1] if line.endswith(b"\r") else line


def _convert(line: bytes, types: dict[str, type[Any]]) -> Any:
    try:
        value = strict_json.loads(line)
    except ValueError as error:
        raise BadFrame("empty line" if not line.strip() else str(error)) from error
    if not isinstance(value, dict):
        raise BadFrame("not a JSON object")
    fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]  JSON keys are strings
    for key in ("type", "id"):
        if not isinstance(fields.get(key), str | None):
            raise BadFrame(f"`{key}` is not a string")
    tag = fields.get("type") or ""
    if tag not in types:
        raise UnknownFrame(tag)
    try:
        return msgspec.convert(_without_nulls(fields, types[tag]), types[tag])
    except msgspec.ValidationError as error:
        raise BadFrame(str(error)) from error


@functools.cache
def _child_types() -> dict[str, type[Any]]:
    return {struct.__struct_config__.tag: struct for struct in get_args(ChildFrame)}


@functools.cache
def _host_types() -> dict[str, type[Any]]:
    return {struct.__struct_config__.tag: struct for struct in get_args(HostFrame)}


def _without_nulls(fields: dict[str, Any], struct: type[Any]) -> dict[str, Any]:
    """``fields`` without ``null`` at keys of ``struct``, also in inner objects."""
    nested = _nested(struct)
    known = struct.__struct_fields__
    kept = {key: value for key, value in fields.items() if not (value is None and key in known)}
    for key, inner in nested.items():
        if key in kept:
            kept[key] = _inner(kept[key], inner)
    return kept


def _inner(value: Any, struct: type[Any]) -> Any:
    """The same for a nested object or list; a missing required text becomes empty."""
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]  a JSON array
        return [_inner(item, struct) for item in items]
    if not isinstance(value, dict):
        return value  # the converter reports the wrong type
    cleaned = _without_nulls(value, struct)  # pyright: ignore[reportUnknownArgumentType]  a JSON object
    return {**dict.fromkeys(_required_texts(struct), ""), **cleaned}


@functools.cache
def _nested(struct: type[Any]) -> dict[str, type[Any]]:
    found = {field.name: _structs_in(field.type) for field in msgspec.structs.fields(struct)}
    return {name: structs[0] for name, structs in found.items() if structs}


def _structs_in(annotation: Any) -> list[type[Any]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation]
    return [struct for part in get_args(annotation) for struct in _structs_in(part)]


@functools.cache
def _required_texts(struct: type[Any]) -> tuple[str, ...]:
    if struct not in (extension_frames.Content, extension_frames.Panel):
        return ()
    return tuple(field.name for field in msgspec.structs.fields(struct) if field.required)


def well_formed(value: Any) -> Any:
    """Replace lone surrogates, which JSON cannot encode, by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        fields: dict[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]  any mapping
        return {well_formed(key): well_formed(item) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]  any sequence
        return [well_formed(item) for item in items]
    return value
