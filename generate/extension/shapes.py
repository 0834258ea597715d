"""The extension's frames as data: keys in wire order, what each means, and the JSON Schema of each direction.

Everything that describes the wire elsewhere (schemas, reference page, golden frames, SDK types) is made from what
this module reads off the structs. A key without a sentence in MEANINGS fails the generator.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from zot.wire.extension_frames import ChildFrame, HostFrame

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


def child_schema() -> str:
    """``docs/schema/extension-child.json``."""
    return _schema("Frames a zot extension sends, one per line.", child_frames())


def host_schema() -> str:
    """``docs/schema/extension-host.json``."""
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
    return Key(field.name, kind, repeated, presence, choices, _meaning(owner, field.name, from_host=from_host))


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


def _schema(title: str, shapes: tuple[Shape, ...]) -> str:
    used = {key.kind for shape in shapes for key in shape.keys}
    inner = [shape for shape in objects() if shape.name in used or shape.name == "Content"]
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "oneOf": [{"$ref": f"#/$defs/{shape.name}"} for shape in shapes],
        "$defs": {shape.name: _definition(shape) for shape in (*shapes, *inner)},
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"


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


# A bare key speaks for every frame, ``frame.key`` for one, ``>frame.key`` for the host's where both directions have it.
MEANINGS: dict[str, str] = {
    "id": "Correlates a request with its answer; the answer repeats it.",
    "name": "The name, without a slash.",
    "hello.name": "Your name; it should equal the manifest's.",
    "register_tool.name": "The name the model calls.",
    "call_tool.name": "The tool to run.",
    "event.name": "The sub-agent's name.",
    "command_invoked.name": "The command as it was registered.",
    "tool_call.name": "The tool as it was registered.",
    ">tool_result.name": "The tool that ran.",
    "version": "Shown to people.",
    "hello.capabilities": "What you intend to use; advisory, except `guard`.",
    "hello_ack.capabilities": "Host features you may rely on.",
    "description": "One line for people and, for tools, for the model.",
    "schema": "JSON Schema of the arguments; an object schema without properties when absent.",
    "output_schema": "JSON Schema of `structured_content`; descriptive.",
    "namespace": "Groups the tool; the extension's name when absent.",
    "namespace_description": "What the group is about.",
    "namespace_instructions": "How to use the group.",
    "exposure": "Who sees the definition: `direct`, `codemode`, `deferred` or `model-only`.",
    "deferred": "Older form of `exposure` `deferred`.",
    "interactive": "Waits for a person: no time limit, only in hosts with a screen.",
    "replay": "What a durable host may repeat: `never`, `safe`, `idempotent` or `reconcile`.",
    "events": "Events to observe.",
    "intercept": "Events to intercept.",
    "action": "`prompt`, `insert`, `display`, `open_panel`, `tool_prompt` or `noop`.",
    "prompt": "Submitted as a user message.",
    "insert": "Put into the editor at the cursor.",
    "display": "Shown once as a note.",
    "command_response.open_panel": "The panel to open.",
    "panel": "The panel to open.",
    "tool_name": "The tool's name.",
    "command_response.tool_name": "The tool to run before the prompt.",
    "tool_args": "The tool's arguments.",
    "command_response.tool_args": "Its arguments.",
    "error": "What went wrong.",
    "command_response.error": "Shown as an error; the action is not carried out.",
    "content": "Blocks of text and images.",
    "is_error": "The tool failed.",
    "activate_tools": "Deferred tools that become callable from the next model request on.",
    "structured_content": "The result for programs; the model reads `content`.",
    "block": "Refuse.",
    "reason": "Why it was refused.",
    "event.reason": "Why the session ended, or why permission was denied.",
    "modified_args": "What the tool runs with instead; an object.",
    "replace_text": "What the user sees instead.",
    "event_intercept_response.system_prompt": "Replaces the system prompt exactly; an empty string removes it.",
    "event_intercept.system_prompt": "The complete system prompt.",
    "level": "`info`, `success`, `warn` or `error`.",
    "message": "The text of the note.",
    "panel_id": "The panel's id.",
    "title": "The heading; empty keeps the old one, or shows the extension's name.",
    "lines": "The rows; absent means none.",
    "footer": "A muted last row.",
    "text": "The text.",
    "event.text": "The visible text of the message, or the accepted prompt.",
    "event_intercept.text": "The complete text of the message.",
    "panel_key.text": "The character, with `rune` only.",
    "args": "The arguments, an object.",
    "command_invoked.args": "What followed the name, trimmed.",
    "parent_id": "The `tool_call` you are answering, when you call from inside it.",
    "protocol_version": "1.",
    "zot_version": "The host's version.",
    "provider": "The active provider.",
    "model": "The active model.",
    "cwd": "The project's directory.",
    "extension_dir": "The directory of your manifest.",
    "data_dir": "Where to keep your state.",
    "operation_key": "The same for every replay of one call.",
    "reconcile": "A question: say how far the operation got, do not perform it.",
    "event": "The event's name.",
    "session_id": "The conversation.",
    "sequence": "Counts all notifications of this host.",
    "step": "The model call within one prompt, from 1.",
    "stop": "`end_turn`, `tool_use`, `length`, `error` or `aborted`.",
    "tool_id": "The model's id of the call.",
    "tool_args_raw": "The arguments as text, when they are not JSON.",
    "tool_preview": "What the user is asked about.",
    "status": "`completed`, `failed`, `blocked`, `cancelled` or `timed_out`.",
    "executed": "Whether the tool's code was entered.",
    "result": "What the tool returned.",
    "truncated": "It was cut to fit.",
    "decision": "`approved`, `denied` or `cancelled`.",
    "source": "`user`, `remembered`, `policy` or `yolo`.",
    "stage": "`pre_execution` or `tool_execution`.",
    "queued": "The prompt waits behind a running turn.",
    "image_count": "Images that came with the prompt.",
    "compaction_id": "Pairs `pre_compact` and `post_compact`.",
    "message_count": "Messages in the transcript.",
    "token_estimate": "Its size in tokens, estimated.",
    "agent_id": "The sub-agent.",
    "agent_run_id": "One run of an agent.",
    "origin_extension": "The extension whose `call_tool` this is.",
    "key": "A key name, see below.",
    "Panel.id": "Yours to choose; names the panel in later frames.",
    "Content.type": "`text` or `image`.",
    "Content.text": "The text of a text block.",
    "Content.mime_type": "The type of an image, such as `image/png`.",
    "Content.data": "The image in standard base64.",
    "Content.format": "`markdown`: a hint for screens.",
}


def _meaning(owner: str, key: str, *, from_host: bool) -> str:
    """The sentence for a key of a frame or object; KeyError when there is none."""
    for name in ([f">{owner}.{key}"] if from_host else []) + [f"{owner}.{key}", key]:
        if name in MEANINGS:
            return MEANINGS[name]
    raise KeyError(f"no meaning for {owner}.{key}")
