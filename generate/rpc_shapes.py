"""The RPC structs as data, for the client libraries' types: names, keys in wire order, and what each key holds."""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from zot.wire import rpc_frames


class Field(NamedTuple):
    """``annotation`` is without null and absence, which ``nullable`` and ``optional`` say."""

    name: str
    annotation: Any
    optional: bool
    nullable: bool


class Shape(NamedTuple):
    """One struct; ``type`` is its tag, empty for objects inside others."""

    name: str
    type: str
    doc: str
    fields: tuple[Field, ...]


def commands() -> list[Shape]:
    return [shape_of(struct) for struct in get_args(rpc_frames.AnyCommand)]


def events() -> list[Shape]:
    return [shape_of(struct) for struct in get_args(rpc_frames.KnownEvent)]


def data() -> dict[str, Shape]:
    """What each command answers with."""
    return {command: shape_of(struct) for command, struct in rpc_frames.DATA.items()}


def content() -> list[Shape]:
    return [shape_of(struct) for struct in get_args(rpc_frames.Content)]


def objects() -> list[Shape]:
    """The plain objects inside the others."""
    plain = (rpc_frames.Image, rpc_frames.UsageTotals, rpc_frames.Message, rpc_frames.ModelInfo, rpc_frames.CommandInfo)
    return [shape_of(struct) for struct in plain]


def shape_of(struct: type[msgspec.Struct]) -> Shape:
    config = struct.__struct_config__
    fields = tuple(_field(each, config.omit_defaults) for each in msgspec.structs.fields(struct))
    doc = " ".join((struct.__doc__ or "").split()).replace("``", "`")
    return Shape(struct.__name__, config.tag if isinstance(config.tag, str) else "", doc, fields)


def _field(field: msgspec.structs.FieldInfo, omit_defaults: bool) -> Field:
    parts = members(field.type)
    kept = [part for part in parts if part not in (type(None), msgspec.UnsetType)]
    optional = not field.required and (omit_defaults or msgspec.UnsetType in parts)
    return Field(field.name, reduce(or_, kept), optional, type(None) in parts)


def members(annotation: Any) -> tuple[Any, ...]:
    """The parts of a union; a single type is its own only part."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def item_of(annotation: Any) -> Any:
    """What a repeated key repeats, or None."""
    return get_args(annotation)[0] if get_origin(annotation) is tuple else None


def choices_of(annotation: Any) -> tuple[str, ...]:
    return get_args(annotation) if get_origin(annotation) is Literal else ()
