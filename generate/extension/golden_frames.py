"""Golden frames: every frame of both directions, minimal and with all keys, and one frame with special characters.

A line is ``{"to":"host","frame":…}`` or ``{"to":"child","frame":…}``; the bytes of the frame are those on the wire.
"""

from __future__ import annotations

from typing import Any

import msgspec

from generate.extension.shapes import Key, Shape, child_frames, host_frames, objects
from zot.wire import extension_codec

_OBJECTS = {shape.name: shape for shape in objects()}
_VALUES: dict[str, Any] = {
    "capabilities": ["commands", "tools"],
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "output_schema": {"type": "object", "properties": {"temperature": {"type": "number"}}},
    "exposure": "deferred",
    "replay": "safe",
    "level": "warn",
    "args": {"city": "Berlin", "days": 2, "nested": {"list": [1, -2.5, True, None]}},
    "tool_args": {"command": "ls -la"},
    "modified_args": {"command": "echo GUARDED"},
    "structured_content": {"temperature": 16},
    "protocol_version": 1,
    "data": "aGVsbG8=",
    "mime_type": "image/png",
    "key": "rune",
    "event": "turn_start",
    "stop": "end_turn",
    "action": "prompt",
}
_AWKWARD = 'quotes " and \\ backslash, tab \t, line\nbreak, bell \x07, DEL \x7f, é, 漢, 😀, <&>, \u2028, \u2029'
_NATURAL: list[tuple[str, dict[str, Any]]] = [
    ("host", {"type": "notify", "level": "info", "message": _AWKWARD}),
    ("host", {"type": "event_intercept_response", "id": "i4", "system_prompt": ""}),
    ("host", {"type": "tool_result", "id": "t1", "content": [{"type": "text", "text": "*a*", "format": "markdown"}]}),
    ("host", {"type": "tool_result", "id": "t2", "content": [{"type": "text", "text": "no"}], "is_error": True}),
    ("child", {"type": "command_invoked", "id": "c2", "name": "note", "args": _AWKWARD}),
    ("child", {"type": "event", "event": "turn_end", "stop": "end_turn"}),
    ("child", {"type": "event_intercept", "id": "i2", "event": "turn_start", "step": 3}),
    ("child", {"type": "event_intercept", "id": "i3", "event": "assistant_message", "text": "done."}),
]


def lines() -> str:
    made = [("host", frame) for shape in child_frames() for frame in _both(shape)]
    made += [("child", frame) for shape in host_frames() for frame in _both(shape)]
    return "".join(_line(to, frame) for to, frame in made + _NATURAL)


def _line(to: str, frame: dict[str, Any]) -> str:
    decode = extension_codec.decode_child if to == "host" else extension_codec.decode_host
    wire = extension_codec.encode(decode(msgspec.json.encode(frame))).decode().removesuffix("\n")
    return f'{{"to":"{to}","frame":{wire}}}\n'


def _both(shape: Shape) -> list[dict[str, Any]]:
    bare = {"type": shape.type} | _sample(shape, [key for key in shape.keys if key.presence == "always"])
    full = {"type": shape.type} | _sample(shape, list(shape.keys))
    return [bare] if bare == full else [bare, full]


def _sample(shape: Shape, keys: list[Key]) -> dict[str, Any]:
    return {key.name: _value(shape, key) for key in keys}


def _value(shape: Shape, key: Key) -> Any:
    if key.choices:
        return key.choices[0]
    if shape.name == "CommandInvoked" and key.name == "args":
        return "berlin"
    if shape.name == "Content" and key.name == "type":
        return "text"
    if key.name in _VALUES:
        return _VALUES[key.name]
    one = _one(key)
    return [one, one] if key.repeated else one


def _one(key: Key) -> Any:
    if key.kind in _OBJECTS:
        inner = _OBJECTS[key.kind]
        return _sample(inner, list(inner.keys))
    return {"string": key.name.replace("_", "-"), "integer": 7, "number": 0.5, "boolean": True, "any": {"any": 1}}[
        key.kind
    ]
