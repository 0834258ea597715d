"""The frames as data: their keys in wire order, and the JSON Schema of each direction.

Everything that describes the wire elsewhere (schemas, reference page, golden frames, SDK types) is made from what
this module reads off the structs.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from generate.meanings import meaning
from zot.wire.frames import ChildFrame, HostFrame

Presence = Literal["always", "unless empty", "unless absent"]

# Child frames decode leniently, so the structs give these keys defaults; a child that leaves one out is still wrong.
_OWED_BY_CHILD = ("id", "name", "panel_id", "panel")
# Typed loosely so that the host can tell a wrong answer from none; authors write a string.
_STRING_FOR_AUTHORS = ("event_intercept_response.system_prompt",)


class Key(NamedTuple):
    """One key of a frame. ``kind`` is ``string``, ``integer``, ``boolean``, ``any`` or the name of an object."""

    name: str
    kind: str
    repeated: bool
    presence: Presence
    choices: tuple[str, ...]
    meaning: str


class Shape(NamedTuple):
    """One frame, or one object inside frames (then ``type`` is empty)."""

    name: str
    type: str
    doc: str
    keys: tuple[Key, ...]


def child_frames() -> tuple[Shape, ...]:
    return tuple(_shape(struct, from_host=False) for struct in get_args(ChildFrame))


def host_frames() -> tuple[Shape, ...]:
    return tuple(_shape(struct, from_host=True) for struct in get_args(HostFrame))


def objects() -> tuple[Shape, ...]:
    """The objects inside frames, each once, after those it holds itself."""
    found: dict[str, Shape] = {}
    for struct in (*get_args(ChildFrame), *get_args(HostFrame)):
        for field in msgspec.structs.fields(struct):
            for inner in _structs(field.type):
                found[inner.__name__] = _shape(inner, from_host=False)
    return tuple(sorted(found.values(), key=lambda shape: any(key.kind in found for key in shape.keys)))


def child_schema() -> dict[str, Any]:
    return _schema("Frames a zot extension sends, one per line.", child_frames())


def host_schema() -> dict[str, Any]:
    return _schema("Frames zot sends to an extension, one per line.", host_frames())


def _shape(struct: type[msgspec.Struct], *, from_host: bool) -> Shape:
    tag = struct.__struct_config__.tag
    type_name = tag if isinstance(tag, str) else ""
    keys = tuple(
        _key(field, type_name or struct.__name__, from_host=from_host) for field in msgspec.structs.fields(struct)
    )
    doc = (struct.__doc__ or "").strip().replace("``", "`")
    return Shape(struct.__name__, type_name, doc, keys)


def _key(field: msgspec.structs.FieldInfo, owner: str, *, from_host: bool) -> Key:
    annotation, repeated = field.type, False
    if get_origin(annotation) is tuple:
        annotation, repeated = get_args(annotation)[0], True
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    kind = "string" if choices or f"{owner}.{field.name}" in _STRING_FOR_AUTHORS else _kind(annotation)
    owed = field.name in _OWED_BY_CHILD and (not from_host or owner == "panel_close")
    presence = "always" if owed else _presence(field)
    return Key(field.name, kind, repeated, presence, choices, meaning(owner, field.name, from_host=from_host))


def _kind(annotation: Any) -> str:
    names = {str: "string", int: "integer", bool: "boolean", Any: "any"}
    part = next(part for part in (*get_args(annotation), annotation) if part is not type(None))
    return names.get(part) or part.__name__


def _presence(field: msgspec.structs.FieldInfo) -> Presence:
    if field.required:
        return "always"
    return "unless absent" if field.default in (None, msgspec.UNSET) else "unless empty"


def _structs(annotation: Any) -> list[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation, *(inner for f in msgspec.structs.fields(annotation) for inner in _structs(f.type))]
    return [struct for part in get_args(annotation) for struct in _structs(part)]


def _schema(title: str, shapes: tuple[Shape, ...]) -> dict[str, Any]:
    used = {key.kind for shape in shapes for key in shape.keys}
    inner = [shape for shape in objects() if shape.name in used or shape.name == "Content"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "oneOf": [{"$ref": f"#/$defs/{shape.name}"} for shape in shapes],
        "$defs": {shape.name: _definition(shape) for shape in (*shapes, *inner)},
    }


def _definition(shape: Shape) -> dict[str, Any]:
    tag: dict[str, Any] = {"type": {"const": shape.type}} if shape.type else {}
    return {
        "description": shape.doc,
        "type": "object",
        "properties": tag | {key.name: _property(key) for key in shape.keys},
        "required": [*tag, *(key.name for key in shape.keys if key.presence == "always")],
    }


def _property(key: Key) -> dict[str, Any]:
    if key.kind in ("string", "integer", "boolean"):
        value: dict[str, Any] = {"type": key.kind}
    else:
        value = {} if key.kind == "any" else {"$ref": f"#/$defs/{key.kind}"}
    if key.choices:
        value["enum"] = list(key.choices)
    if key.repeated:
        value = {"type": "array", "items": value}
    return {"description": key.meaning, **value}
