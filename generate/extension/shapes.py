"""The extension frames as data: keys in wire order with their meaning, and the JSON Schema of each direction.

Schemas, reference page, golden frames and SDK types are generated from it. A key that is missing in MEANINGS fails the
generator.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from zot.wire.extension_frames import ChildFrame, HostFrame

Presence = Literal["always", "unless empty", "unless absent"]

# Required of a child, although the structs have defaults: zot decodes its frames leniently.
_OWED_BY_CHILD = ("id", "name", "panel_id", "panel", "kind", "method")
_OPTIONAL_IDS = ("contribute", "withdraw")
# Typed as Any so that zot can distinguish an invalid answer from none; authors write a string.
_STRING_FOR_AUTHORS = ("event_intercept_response.system_prompt",)


class Key(NamedTuple):
    """One key of a frame.
    ``kind`` is ``string``, ``integer``, ``number``, ``boolean``, ``any`` or the name of an object."""

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
    """The objects inside frames, each once, after the objects it contains."""
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
    both = ("panel_close", "request", "response", "progress", "cancel")
    owed = field.name in _OWED_BY_CHILD and (not from_host or owner in both)
    owed = owed and not (field.name == "id" and owner in _OPTIONAL_IDS)
    presence = "always" if owed else _presence(field)
    return Key(field.name, kind, repeated, presence, choices, _meaning(owner, field.name, from_host=from_host))


def _kind(annotation: Any) -> str:
    names = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "any"}
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
    if key.kind in ("string", "integer", "number", "boolean"):
        value: dict[str, Any] = {"type": key.kind}
    else:
        value = {} if key.kind == "any" else {"$ref": f"#/$defs/{key.kind}"}
    if key.choices:
        value["enum"] = list(key.choices)
    if key.repeated:
        value = {"type": "array", "items": value}
    return {"description": key.meaning, **value}


# A bare key applies to every frame, ``frame.key`` to one, ``>frame.key`` to the host's if both directions have it.
MEANINGS: dict[str, str] = {
    "id": "Correlates a request with its answer; the answer repeats it.",
    "name": "The name, without a slash.",
    "hello.name": "The name of the extension; it should equal the manifest's.",
    "register_tool.name": "The name the model calls.",
    "call_tool.name": "The tool to run.",
    "event.name": "The sub-agent's name.",
    "command_invoked.name": "The registered name of the command.",
    "tool_call.name": "The registered name of the tool.",
    ">tool_result.name": "The tool that ran.",
    "version": "The version, shown to users.",
    "hello.capabilities": "Features you intend to use; advisory, except `guard`.",
    "hello_ack.capabilities": "Features of zot you can rely on.",
    "description": "One line for users and, for tools, for the model.",
    "schema": "JSON Schema of the arguments; default: an object without properties.",
    "output_schema": "JSON Schema of `structured_content`; descriptive.",
    "namespace": "The group of the tool; default: the name of the extension.",
    "namespace_description": "A description of the group.",
    "namespace_instructions": "Instructions for using the group.",
    "exposure": "How the model sees the definition: `direct`, `codemode`, `deferred` or `model-only`.",
    "deferred": "Older form of `exposure` `deferred`.",
    "interactive": "The tool waits for the user: no time limit, available only with a screen.",
    "replay": "Whether a durable host may repeat a call: `never`, `safe`, `idempotent` or `reconcile`.",
    "events": "Events to observe.",
    "intercept": "Events to intercept.",
    "action": "`prompt`, `insert`, `display`, `open_panel`, `tool_prompt` or `noop`.",
    "prompt": "Text to submit as a prompt.",
    "insert": "Text to insert into the editor at the cursor.",
    "display": "Text to show once as a notification.",
    "command_response.open_panel": "The panel to open.",
    "panel": "The panel to open.",
    "tool_name": "The tool's name.",
    "command_response.tool_name": "The tool to run before the prompt.",
    "tool_args": "The tool's arguments.",
    "command_response.tool_args": "Its arguments.",
    "error": "The error message.",
    "command_response.error": "Shown as an error; the action is not executed.",
    "content": "Blocks of text and images.",
    "is_error": "Whether the tool failed.",
    "activate_tools": "Deferred tools that become available with the next model request.",
    "structured_content": "The result for programs; the model reads `content`.",
    "block": "Whether to deny the action.",
    "reason": "The reason of the denial.",
    "event.reason": "Why the session ended, or why permission was denied.",
    "modified_args": "New arguments for the tool; an object.",
    "replace_text": "The text to show to the user instead.",
    "event_intercept_response.system_prompt": "Replaces the whole system prompt; an empty string removes it.",
    "event_intercept.system_prompt": "The complete system prompt.",
    "level": "`info`, `success`, `warn` or `error`.",
    "message": "The text of the notification.",
    "panel_id": "The panel's id.",
    "title": "The title; if empty, the old one, or the name of the extension.",
    "lines": "The lines; default: none.",
    "footer": "A muted last line.",
    "text": "The text.",
    "event.text": "The visible text of the message, or the accepted prompt.",
    "event_intercept.text": "The complete text of the message.",
    "panel_key.text": "The character, with `rune` only.",
    "args": "The arguments, an object.",
    "command_invoked.args": "The trimmed text after the name.",
    "parent_id": "The `tool_call` you are answering, if you call from inside it.",
    "protocol_version": "1.",
    "zot_version": "The version of zot.",
    "provider": "The active provider.",
    "model": "The active model.",
    "cwd": "The directory of the project.",
    "extension_dir": "The directory of your manifest.",
    "data_dir": "The directory for your data.",
    "operation_key": "The same for every replay of one call.",
    "reconcile": "Report how far the operation got; do not perform it.",
    "event": "The name of the event.",
    "session_id": "The id of the conversation.",
    "sequence": "The number of this notification, counted over all notifications of this process.",
    "step": "The number of the model call within the prompt, from 1.",
    "stop": "`end_turn`, `tool_use`, `length`, `error` or `aborted`.",
    "tool_id": "The model's id of the call.",
    "tool_args_raw": "The arguments as text, if they are not JSON.",
    "tool_preview": "The summary of the call that the user is asked about.",
    "status": "`completed`, `failed`, `blocked`, `cancelled` or `timed_out`.",
    "executed": "Whether the tool started to run.",
    "result": "The result of the tool.",
    "truncated": "Whether it was truncated.",
    "decision": "`approved`, `denied` or `cancelled`.",
    "source": "`user`, `remembered`, `policy` or `yolo`.",
    "stage": "`pre_execution` or `tool_execution`.",
    "by": "Who decided: a rule and its file, a saved answer, a mode, a hook, an extension, or `you`; absent in mode "
    "everything.",
    "queued": "Whether the prompt waits for a running one.",
    "image_count": "Number of images in the prompt.",
    "compaction_id": "Connects `pre_compact` and `post_compact`.",
    "message_count": "Number of messages in the transcript.",
    "token_estimate": "The estimated size of the transcript in tokens.",
    "agent_id": "The id of the sub-agent.",
    "agent_run_id": "The id of one run of an agent.",
    "origin_extension": "The extension that sent the `call_tool`.",
    "key": "The name of the key, see below.",
    "Panel.id": "Any text; names the panel in later frames.",
    "Content.type": "`text` or `image`.",
    "Content.text": "The text of a text block.",
    "Content.mime_type": "The type of an image, such as `image/png`.",
    "Content.data": "The image in standard base64.",
    "Content.format": "`markdown`: a hint for display.",
    # second edition
    "Panel.keys": "`named` (default), `all` or `release`: the keys the panel gets.",
    "rows": "Styled lines instead of `lines`.",
    "place": "Where the panel is drawn: `mode`, `anchor`, `width`, `max_height`, `margin`, `focus`.",
    "cursor": "Where the terminal's cursor is shown: `row` and `col`.",
    "label": "The name for users; default: the name.",
    "prompt_line": "One line for the system prompt's list of tools instead of the description.",
    "guidelines": "Up to 5 lines for the system prompt while the tool is active.",
    "parallel": "May run in parallel with other calls of the same message.",
    "timeout_s": "The limit of silence in seconds, 1 to 3,600; default: the setting.",
    "override": "Take the place of the built-in tool of this name; needs `tools.override`.",
    "register_tool.ask": "Ask the user before each call, whatever the permission mode.",
    "options": "Options by event name: `tools`, `topics`, `every_ms`, `content`, `thinking`.",
    "drop": "Events to observe and intercept no longer.",
    "tool_result.view": "How users see the result.",
    "tool_result.details": "Data stored in the session for renderers and the extension; never for the model.",
    "tool_result.usage": "Money spent elsewhere: `cost_usd`.",
    "end_turn": "If every result of the message says so, the prompt ends without another model call.",
    "value": "What to use instead; depends on the event.",
    "contribute.value": "The contribution; depends on the kind.",
    "handled": "The extension has done it: zot does not, and this is no refusal.",
    "ask": "For `tool_call`: the user must approve the call, whatever the permission mode.",
    "desktop": "Also as a notification of the desktop.",
    "method": "The name of the method.",
    "params": "Its parameters, an object.",
    "request.parent_id": "The open request of the other side that this one serves; it ends with that one.",
    "timeout_ms": "A shorter limit than the method's own.",
    "response.result": "The result.",
    "response.error": "Why it failed.",
    "ResponseError.code": "The kind of failure, see below.",
    "ResponseError.message": "One sentence for users.",
    "ResponseError.data": "More for programs.",
    "progress.text": "What is happening; the newest is shown.",
    "fraction": "How much is done, 0 to 1.",
    "progress.content": "The partial result.",
    "view": "What is shown meanwhile.",
    "progress.data": "More for programs.",
    "cancel.reason": "Why.",
    "kind": "The kind of contribution.",
    "contribute.name": "Its name, unique for the extension and kind.",
    "withdraw.name": "Its name.",
    "contribute.id": "Requests a `response`.",
    "withdraw.id": "Requests a `response`.",
    "edition": "2.",
    "features": "What this zot implements.",
    "granted": "The words of `uses` that hold in this run.",
    "mode": "`terminal`, `print`, `json`, `stream`, `rpc`, `sdk`, `daemon` or `subagent`.",
    "ui": "What can be shown: `dialogs`, `surfaces`, `panels`, `editor`, `width`, `height`, `colors`, `images`.",
    "session": "`id`, `name`, `reason` and number of `entries`; absent without a session.",
    "flags": "Values of the flags of the manifest.",
    "settings": "Values of its settings, without secrets.",
    "limits": "`line`, `open_requests`, `progress_hz`, `delta_ms`.",
    "state": "What the previous process of this extension saved before a reload.",
    "hello_ack.resume": "At a URL: names this connection, to resume it when it is lost.",
    "event.data": "Everything that belongs to a new event.",
    "event_intercept.data": "Everything that belongs to a new event.",
    "panel_key.event": "`press`, `repeat` or `release`, with `keys` `release`.",
    "width": "Columns.",
    "height": "Rows.",
    "focused": "True if it has the focus.",
}


def _meaning(owner: str, key: str, *, from_host: bool) -> str:
    """The meaning of a key of a frame or object; KeyError if it has none."""
    for name in ([f">{owner}.{key}"] if from_host else []) + [f"{owner}.{key}", key]:
        if name in MEANINGS:
            return MEANINGS[name]
    raise KeyError(f"no meaning for {owner}.{key}")
