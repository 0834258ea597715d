"""Decodes lines of ``zot rpc``: ``decode_command`` those of a client, ``decode`` those of zot.

zot is strict: it rejects malformed JSON, and a field of the wrong type fails its command.
``null`` means absent and unknown fields are ignored, so that older and newer clients work; image data may be wrapped in
lines. A client is lenient: an event it does not know is an Unknown.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec

from zot.system import strict_json
from zot.wire.rpc_frames import AnyCommand, Event, Response, ServerLine, Unknown

if TYPE_CHECKING:
    from zot.wire.screen_frames import ScreenCommand
    from zot.wire.swarm_frames import SwarmCommand

_TEXT = (str, type(None))  # created once: a union at its use is created for every line
_LARGEST_ID = 2**53  # every JSON library keeps these exact
_TYPES: dict[str, type[Any]] = {struct.__struct_config__.tag: struct for struct in get_args(AnyCommand)}


class BadCommand(Exception):
    """``str()`` is the error of the response; ``id`` and ``command`` are set as far as known."""

    def __init__(self, error: str, id: str = "", command: str = "") -> None:
        super().__init__(error)
        self.id = id
        self.command = command


def decode_command(line: bytes) -> AnyCommand | SwarmCommand | ScreenCommand:
    """The command in a stripped line; BadCommand with the error to send.
    An ``id`` may also be a whole number, which the response repeats as one; typed clients send text."""
    fields = _object(line)
    name, id = fields.get("type"), fields.get("id")
    numbered = type(id) is int and abs(id) <= _LARGEST_ID
    if not isinstance(name, _TEXT) or not (numbered or isinstance(id, _TEXT)):
        raise BadCommand("malformed json: `id` and `type` must be strings")
    known_id: Any = "" if id is None else id
    command = _TYPES.get(name or "") or _of_another_module(name or "")
    if command is None:
        raise BadCommand("unknown command", known_id, name or "")
    if numbered:
        del fields["id"]
    if None in fields.values():
        fields = {key: value for key, value in fields.items() if value is not None}
    if "images" in fields:
        _unwrap(fields["images"])
    try:
        converted = msgspec.convert(fields, command)
    except msgspec.ValidationError as error:
        raise BadCommand(str(error), known_id, name or "") from error
    return msgspec.structs.replace(converted, id=id) if numbered else converted


def _of_another_module(name: str) -> type[Any] | None:
    """Most clients need neither module."""
    if name.startswith("swarm_"):
        from zot.wire.swarm_frames import SwarmCommand as Rare
    elif name.startswith("screen_"):
        from zot.wire.screen_frames import ScreenCommand as Rare
    else:
        return None
    return next((struct for struct in get_args(Rare) if struct.__struct_config__.tag == name), None)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = strict_json.loads(line)
    except ValueError as error:
        raise BadCommand(f"malformed json: {error}") from error
    if not isinstance(value, dict):
        raise BadCommand("malformed json: not an object")
    return value  # pyright: ignore[reportUnknownVariableType]  JSON keys are strings


def _unwrap(images: Any) -> None:
    """Remove line breaks from base64, in place; the conversion reports other errors."""
    if not isinstance(images, list):
        return
    for image in cast("list[Any]", images):
        data: Any = cast("dict[str, Any]", image).get("data") if isinstance(image, dict) else None
        if isinstance(data, str) and "\n" in data:
            image["data"] = data.replace("\r", "").replace("\n", "")


def decode(line: bytes | str) -> Response | Event:
    """One line from zot; an unknown type or shape is an Unknown. msgspec.DecodeError if not a JSON object."""
    try:
        return _decoder().decode(line)
    except msgspec.ValidationError:
        raw = msgspec.json.decode(line, type=dict[str, Any])
        return _event_of_a_swarm(raw) or Unknown(str(raw.get("type", "")), raw)


def _event_of_a_swarm(raw: dict[str, Any]) -> Event | None:
    """A SwarmUpdate or SwarmEvent, which the union of events omits: most programs never import their module."""
    if not str(raw.get("type", "")).startswith("swarm_"):
        return None
    from zot.wire.swarm_frames import SwarmEvent, SwarmUpdate

    try:
        return cast("Event", msgspec.convert(raw, SwarmUpdate | SwarmEvent))
    except msgspec.ValidationError:
        return None


@functools.cache
def _decoder() -> msgspec.json.Decoder[ServerLine]:
    """Created with the first line: zot itself only writes."""
    return msgspec.json.Decoder(ServerLine)
