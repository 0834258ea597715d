"""The RPC structs as data: keys in wire order, what each holds and means, and their JSON Schema.

The schema, the reference page and the client libraries' types are made from it. A key without a sentence in MEANINGS
fails the generator.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from zot.wire import rpc_frames, swarm_frames


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


_COMMANDS = (*get_args(rpc_frames.AnyCommand), *get_args(swarm_frames.SwarmCommand))
_SWARM_EVENTS = (swarm_frames.SwarmUpdate, swarm_frames.SwarmEvent)
_DATA = {**rpc_frames.DATA, **swarm_frames.SWARM_DATA}


def commands() -> list[Shape]:
    return [shape_of(struct) for struct in _COMMANDS]


def events() -> list[Shape]:
    return [shape_of(struct) for struct in (*get_args(rpc_frames.KnownEvent), *_SWARM_EVENTS)]


def data() -> dict[str, Shape]:
    """What each command answers with."""
    return {command: shape_of(struct) for command, struct in _DATA.items()}


def content() -> list[Shape]:
    return [shape_of(struct) for struct in get_args(rpc_frames.Content)]


def objects() -> list[Shape]:
    """The plain objects inside the others."""
    plain = (rpc_frames.Image, rpc_frames.UsageTotals, rpc_frames.Message, rpc_frames.ModelInfo, rpc_frames.CommandInfo)
    plain += (rpc_frames.PromptChanges, rpc_frames.ChangedFile, rpc_frames.RewoundFile)
    plain += (rpc_frames.JailState, rpc_frames.Outside, rpc_frames.ElicitationField, rpc_frames.McpServer)
    plain += (swarm_frames.WorkerInfo,)
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


def schema() -> str:
    """``docs/schema/rpc.json``: commands and server lines, with the data of each response by command."""
    commands, lines = _COMMANDS, (*get_args(rpc_frames.ServerLine), *_SWARM_EVENTS)
    answers = tuple(dict.fromkeys(_DATA.values()))
    _, definitions = msgspec.json.schema_components((*commands, *lines, *answers), ref_template="#/$defs/{name}")
    for name, definition in definitions.items():
        _explain(name, definition, command=name in {struct.__name__ for struct in commands})
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lines of zot rpc, protocol version 1.",
        "oneOf": [{"$ref": "#/$defs/Command"}, {"$ref": "#/$defs/ServerLine"}],
        "data": {command: _ref(struct) for command, struct in _DATA.items()},
        "$defs": {
            "Command": {"description": "What a client writes.", "oneOf": [_ref(struct) for struct in commands]},
            "ServerLine": {"description": "What zot writes.", "oneOf": [_ref(struct) for struct in lines]},
            **definitions,
        },
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"


def _ref(struct: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/$defs/{struct.__name__}"}


def _explain(name: str, definition: dict[str, Any], *, command: bool) -> None:
    definition["description"] = " ".join(definition.get("description", "").split()).replace("``", "`")
    for key, value in definition["properties"].items():
        if key != "type":
            value["description"] = meaning(name, key, command=command)


# A bare key speaks for every struct, ``Struct.key`` for one.
MEANINGS: dict[str, str] = {
    "id": "The tool call's id.",
    "Command.id": "Free choice; the response repeats it.",
    "Response.id": "The command's, when it had one.",
    "Response.command": 'The command\'s type as received; "" when it could not be read.',
    "Response.success": "Whether the command was accepted.",
    "Response.data": "What the command returns.",
    "Response.error": "Why it failed.",
    "token": "The value of ZOTCORE_RPC_TOKEN, when zot was started with one.",
    "Hello.capabilities": "What the client can do: approvals, commands, elicitation, panels, permits; others are not.",
    "HelloData.capabilities": "Those that were accepted.",
    "protocol_version": "The major version of this protocol.",
    "version": "The version of zot.",
    "provider": "The provider's id.",
    "model": "The model's id.",
    "ModelInfo.id": "The id for set_model.",
    "Prompt.message": "The text, as it is: a leading slash has no meaning.",
    "images": "Images, after the text, in order.",
    "mime_type": "The media type.",
    "Image.mime_type": "Advisory: the content decides.",
    "data": "The image file in base64.",
    "reasoning": "Tokens the provider counted as reasoning; null when it does not say.",
    "SetReasoning.reasoning": "off, minimum, low, medium, high, xhigh or max.",
    "ReasoningSet.reasoning": "The level now.",
    "ModelInfo.reasoning": "Whether it can think before it answers.",
    "request_id": "Ties the answer to the question.",
    "decision": "once: this call; prefix: commands that begin like this one from now on; tool: this tool from now on; "
    "all: everything from now on; deny: no. About what is outside a jail: once; session: from now on; never: no, and "
    "do not ask again; deny.",
    "permission_mode": "plan, ask, accept-edits or everything.",
    "PermissionModeSet.permission_mode": "The mode now.",
    "prefix": "The beginning of commands that the decision prefix allows; absent when there is none.",
    "focus": "What the summary should keep above all.",
    "prompt": "The number of a prompt, from 1.",
    "GetChanges.prompt": "The number of a prompt, from 1; 0 is the whole session.",
    "Rewind.prompt": "The number of a prompt, from 1; 0 undoes the last rewinding of files.",
    "what": "The conversation, the files, or both.",
    "overwrite": "Whether files that others changed since go back, too.",
    "dry_run": "Whether nothing is done and all is told.",
    "prompts": "Every prompt of the session, oldest first.",
    "PromptChanges.text": "What was said.",
    "PromptChanges.files": "How many files it changed.",
    "Rewound.text": "What was said in that prompt; empty when a rewinding was undone.",
    "Changes.files": "By path.",
    "Rewound.files": "Those that were to change.",
    "unknown": "Why there may be more than this; [] when all is known.",
    "added": "Lines that were added.",
    "removed": "Lines that were removed.",
    "path": "The file; absolute.",
    "change": "What became of it.",
    "diff": "The lines, as `diff -u` writes them, from the first @@ on.",
    "note": "Why there is no diff.",
    "outcome": "What became of it, or would.",
    "RewoundFile.reason": "Why it was left alone, or could not be changed.",
    "reason": "Told to the model with a refusal.",
    "RunCommand.name": "The command's name; a leading slash is forgiven.",
    "CommandInfo.name": "The command's name, without a slash.",
    "RunCommand.args": "What follows the name.",
    "description": "One line for people.",
    "extension": "The extension's name.",
    "CommandInfo.extension": "The extension's name; empty for a prompt template.",
    "CommandInfo.arguments": "What a template takes, for people.",
    "McpServer.name": "The server's name.",
    "McpServer.origin": "Where it is configured: user, project, flag, or plugin NAME.",
    "McpServer.state": "Where it stands; a server that is off starts when it is used.",
    "McpServer.shown": "The command that runs, or its address; values that may be secret are left out.",
    "McpServer.tools": "How many tools it has, as far as it is known.",
    "McpServer.tokens": "About what they would cost in a request, if all were told to the model.",
    "McpServer.known": "Whether it was ever asked what it has.",
    "McpServer.error": "Why it failed last.",
    "McpServer.log": "The file with what it writes to stderr, once it was started.",
    "McpServer.about": "Its own name and version.",
    "McpServer.version": "The version of the protocol it speaks.",
    "McpServers.servers": "By name; those that are not trusted are among them.",
    "McpState.server": "The server as it is now.",
    "panel_id": "The panel, within its extension.",
    "key": "The key's name (see the extension protocol, keys in a panel).",
    "PanelKey.text": "The character, for the key rune.",
    "input": "Input tokens that were not cached.",
    "output": "Output tokens.",
    "cache_read": "Input tokens read from the cache.",
    "cache_write": "Input tokens written to the cache.",
    "cost_usd": "Their price in USD.",
    "cumulative": "The sum so far, over prompts and compactions.",
    "auxiliary": "True for inference made by a tool: it counts for the cost, not for the size of the chat.",
    "text": "The text.",
    "bytes": "The size of the image file.",
    "name": "The tool's name.",
    "args": "The arguments; null when they were empty or no JSON.",
    "ApprovalRequest.args": "The arguments that will run.",
    "ElicitationRequest.request_id": "For answer_elicitation.",
    "ElicitationRequest.message": "What the server says.",
    "AnswerElicitation.request_id": "The request's.",
    "AnswerElicitation.content": "The values of the fields by name, with accept.",
    "ElicitationField.name": "The field, for content.",
    "ElicitationField.kind": "What it takes; yes is true or false, choices some of several.",
    "ElicitationField.description": "What it is for.",
    "ElicitationField.default": "What is suggested, as people would type it.",
    "Permit.request_id": "The request's.",
    "Permit.decision": "go: make the call; refuse: end the turn.",
    "Permit.reason": "Why not; the turn's error says it.",
    "Permit.usd": "The most the call may cost; its output is limited to that. 0 is no limit.",
    "PermitRequest.request_id": "For permit, and repeated by permit_settled.",
    "PermitRequest.usd": "What its input costs, about; 0 when it costs nothing or nobody knows the price.",
    "PermitRequest.unpriced": "Nobody said what this model costs: no limit in dollars can be held.",
    "PermitRequest.least_usd": "Its estimated cost with a short answer.",
    "PermitRequest.usual_usd": "Its estimated cost with an answer of usual length.",
    "PermitRequest.most_usd": "Its estimated cost with the longest answer the model gives.",
    "PermitSettled.request_id": "The request's.",
    "PermitSettled.usd": "What it cost.",
    "PermitSettled.outcome": "How it ended; absent when it was answered.",
    "pause_s": "Seconds of silence the provider wants; zot itself waits that long before it tries again.",
    "server": "The MCP server that asks.",
    "url": "What is to be opened instead of filling in fields.",
    "fields": "What is to be filled in.",
    "AnswerElicitation.action": "What the person did.",
    "ElicitationField.title": "What people are shown of it.",
    "required": "Whether it must be filled in.",
    "choices": "What there is to choose from.",
    "labels": "What people are shown of each choice.",
    "call_id": "The call this answers.",
    "is_error": "Whether it failed, was refused or was stopped.",
    "content": "The blocks; [] when there are none.",
    "role": "Who speaks.",
    "time": "RFC 3339, UTC.",
    "context_window": "Tokens it can read; 0 when unknown.",
    "max_output": "Tokens it can write; 0 when unknown.",
    "started": "True: events follow.",
    "cwd": "The working directory.",
    "message_count": "Messages in the transcript, those with tool results included.",
    "busy": "Whether a prompt or compaction is running or waiting.",
    "usage": "Tokens and cost so far.",
    "messages": "The transcript.",
    "models": "In the order of the catalogue.",
    "pong": "Always true.",
    "commands": "Those that work now.",
    "action": "What the extension wanted done.",
    "insert": "Text for the client's editor.",
    "step": "Counts the model calls of this prompt, from 1.",
    "delta": "The piece.",
    "merged": "How many pieces this line stands for; absent when it is one.",
    "seconds": "How long it thought.",
    "attempt": "The attempt that begins next, from 2.",
    "attempts": "How many there will be at most.",
    "wait_s": "Seconds until then.",
    "RetryWait.reason": "What went wrong, for people.",
    "dropped": "Characters of earlier output that are not shown; absent when none are.",
    "stop": "Why the model stopped.",
    "error": "What went wrong, for people.",
    "summary": "What the model wrote.",
    "Error.message": "What went wrong, for people.",
    "source": "The feature that reports it: `mcp`, `hooks`, `extensions`, `jail`, …; `zot` for zot itself.",
    "Diagnostic.level": "How serious it is.",
    "Diagnostic.message": "What happened and what to do, for people.",
    "SessionFault.message": "Which session, and why it cannot be saved.",
    "lost": "True at the end, when records are still not on disk and nobody will try again.",
    "code": "What went wrong, for programs; absent when there is no name for it.",
    "level": "info, success, warn or error; others pass unchanged.",
    "ExtNotify.message": "The note.",
    "title": "The panel's heading.",
    "lines": "The panel's text.",
    "footer": "The line below it.",
    "tool_id": "The id of the tool call.",
    "preview": "One line that says what the call is about.",
    "outside": "What it wanted outside its jail, where it failed; absent for a call that has not run yet.",
    "jail": "What commands and file tools are confined to; null when they are not.",
    "JailState.level": "What this machine can hold.",
    "network": "Whether there is one inside.",
    "read": "What may be read beside the system.",
    "write": "What may be changed; the project comes first.",
    "approve": "outside when somebody may be asked about what is outside.",
    "access": "What it wanted.",
    "Outside.path": "Exactly what a yes allows; empty for the network.",
    "Outside.kind": "What the path is.",
    "missing": "True when it is to be made.",
    "host": "Whom it wanted to reach; a yes opens the whole network.",
    "worker": "A worker by its id, a unique beginning of it, or its name.",
    "task": "What the worker was started for.",
    "SwarmStart.name": "A name for people; made from the task when left out.",
    "SwarmStart.cwd": "Where it works; the directory of this zot when left out.",
    "mode": "worktree: on a branch and in files of its own; shared: in the directory itself.",
    "SwarmStart.write": "Whether a shared worker may change files.",
    "include_dirty": "Whether the worktree begins with what is uncommitted here.",
    "SwarmStart.reasoning": "off, minimum, low, medium, high, xhigh or max; as the settings say when left out.",
    "SwarmStart.script": "What the scripted model says, a file; for the provider script.",
    "SwarmStart.tools": "Only these; [] is none at all.",
    "ask": "Whether its tool calls are put to a person, who answers with swarm_approve.",
    "SwarmStart.jail": "Whether it is confined to its directory.",
    "extensions": "Whether it loads the extensions that are installed.",
    "max_steps": "Model calls for one prompt.",
    "SwarmBudget.max_steps": "Model calls of all workers together.",
    "max_cost": "USD.",
    "max_agents": "How many workers of it run at once.",
    "timeout_s": "Seconds; an hour for a worker when left out.",
    "engine": "Where it runs: local, ray, or ray://HOST:PORT.",
    "swarm": "The budget it shares with others.",
    "SwarmStart.key": "What item of a fan-out it works on.",
    "WorkerInfo.key": "What item of a fan-out it works on.",
    "once": "Whether it ends with its first task instead of waiting for more.",
    "restarts": "How often it may be continued by itself when its process is gone.",
    "session": "The conversation that started it.",
    "SwarmList.session": "Only workers this conversation started.",
    "SwarmList.swarm": "Only workers that share this budget.",
    "SwarmList.all": "Also those that have ended.",
    "SwarmStop.all": "Every worker.",
    "SwarmSend.text": "What to say.",
    "SwarmApprove.request_id": "The request's.",
    "how": "squash: into the files, for you to commit; no-ff: as a merge commit; patch: as a file.",
    "into": "The branch; the one that is checked out when left out.",
    "check": "A command that has to succeed with the merged files, before anything is changed.",
    "force": "Also with changes that are not merged.",
    "past": "Whether what it said before comes first.",
    "off": "Ends it.",
    "WorkerInfo.id": "The worker.",
    "WorkerInfo.name": "How people call it.",
    "WorkerInfo.started": "When it first ran.",
    "WorkerInfo.attempt": "How many processes it has had.",
    "WorkerInfo.reason": "Why it ended as it did.",
    "WorkerInfo.merged": "The branch its changes went into.",
    "WorkerInfo.notes": "What its tree does not have of the origin (submodules, files in Git LFS, other repositories).",
    "status": "Where it stands; lost: its process is gone, and nobody knows how it ended.",
    "created": "When it was ordered.",
    "ended": "When it ended.",
    "branch": "The branch of its worktree.",
    "pid": "Its process.",
    "steps": "Model calls so far.",
    "activity": "What it does at this moment, in a few words.",
    "last": "The beginning of the last thing it said.",
    "workers": "Oldest first.",
    "answer": "The last thing it said.",
    "SwarmWorker.files": "How many files it changed.",
    "waiting": "Prompts it has not taken yet.",
    "SwarmDiffData.diff": "As `git diff` writes it.",
    "SwarmMerged.files": "Those that changed.",
    "repair": "Put a conflict into the worker's own tree and tell it to mend it.",
    "SwarmMerged.left": "What is in its tree and not part of the merge, a line each.",
    "mending": "Files its worker was told to mend.",
    "conflicts": "Files that were changed on both sides; then nothing was merged.",
    "patch": "The file that was written.",
    "said": "What the check printed.",
    "left": "What could not be removed, a line each.",
    "SwarmUpdate.id": "The worker.",
    "SwarmUpdate.worker": "The worker as it is now.",
    "SwarmStarted.worker": "The worker as it is now.",
    "SwarmWorker.worker": "The worker as it is now.",
    "SwarmEvent.id": "The worker.",
    "event": "The event, as the worker said it.",
}


def meaning(struct: str, key: str, *, command: bool = False) -> str:
    """KeyError for a key nobody explained: the generated pages fail then."""
    if command and key == "id":
        return MEANINGS["Command.id"]
    return MEANINGS.get(f"{struct}.{key}") or MEANINGS[key]
