"""The RPC structs as data: keys in wire order with type and meaning, and their JSON Schema.

The schema, the reference page and the types of the client libraries are generated from it. A key that is missing in
MEANINGS fails the generator.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from zot.wire import rpc_frames, swarm_frames


class Field(NamedTuple):
    """``annotation`` excludes null and absence; see ``nullable`` and ``optional``."""

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
    """The data of each command's response."""
    return {command: shape_of(struct) for command, struct in _DATA.items()}


def content() -> list[Shape]:
    return [shape_of(struct) for struct in get_args(rpc_frames.Content)]


def objects() -> list[Shape]:
    """The objects inside other structs."""
    plain = (rpc_frames.Image, rpc_frames.UsageTotals, rpc_frames.Message, rpc_frames.ModelInfo, rpc_frames.CommandInfo)
    plain += (rpc_frames.PromptChanges, rpc_frames.ChangedFile, rpc_frames.RewoundFile)
    plain += (rpc_frames.CompletionItem, rpc_frames.DialogOption, rpc_frames.DialogField)
    plain += (rpc_frames.SteeringMessage, rpc_frames.QueuedPrompt, rpc_frames.FoundFile)
    plain += (
        rpc_frames.Quota,
        rpc_frames.JailState,
        rpc_frames.Outside,
        rpc_frames.ElicitationField,
        rpc_frames.Todo,
        rpc_frames.QuestionOption,
        rpc_frames.UserQuestion,
        rpc_frames.McpServer,
    )
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
    """The item type of a list, or None."""
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
            "Command": {"description": "A line a client sends.", "oneOf": [_ref(struct) for struct in commands]},
            "ServerLine": {"description": "A line zot sends.", "oneOf": [_ref(struct) for struct in lines]},
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


# A bare key applies to every struct, ``Struct.key`` to one.
MEANINGS: dict[str, str] = {
    "id": "The id of the tool call.",
    "Command.id": "Any text, or a whole number; the response repeats it.",
    "Response.id": "The id of the command, if it had one.",
    "Response.command": 'The type of the command as received; "" if it could not be read.',
    "Response.success": "Whether the command was accepted.",
    "Response.data": "The data of the command.",
    "Response.error": "Why it failed.",
    "token": "The value of ZOTCORE_RPC_TOKEN, if zot was started with one.",
    "Hello.capabilities": "approvals, call_hash, commands, dialogs, elicitation, panels, permits, plans, questions, "
    "queue, sessions, surfaces; zot ignores others.",
    "HelloData.capabilities": "The accepted ones.",
    "protocol_version": "The major version of the protocol.",
    "version": "The version of zot.",
    "provider": "The provider's id.",
    "model": "The model's id.",
    "ModelInfo.id": "The id for set_model.",
    "Prompt.message": "The text. With `commands` announced, a leading slash names a command; `\\/` sends it as text.",
    "images": "Images, in order; placed after the text.",
    "mime_type": "The media type.",
    "Image.mime_type": "Advisory; zot detects the type from the content.",
    "data": "The image file in base64.",
    "reasoning": "Tokens counted as reasoning; null if the provider does not report them.",
    "SetReasoning.reasoning": "off, minimum, low, medium, high, xhigh or max.",
    "ReasoningSet.reasoning": "The new level.",
    "ModelInfo.reasoning": "Whether it supports reasoning.",
    "request_id": "The id of the request; repeat it in the answer.",
    "decision": "once: this call; prefix: commands with the same prefix from now on; tool: this tool from now on; all: "
    "every call from now on; deny. About access outside a jail: once; session: from now on; never: deny and do not "
    "ask again; deny.",
    "permission_mode": "plan, ask, accept-edits or everything.",
    "PermissionModeSet.permission_mode": "The new mode.",
    "prefixes": "The prefixes of several joined commands, which the decision prefix allows together.",
    "ApprovalRequest.reason": "Why a hook or a rule requires approval; absent if the mode does.",
    "prefix": "The command prefix that the decision prefix allows; absent if there is none.",
    "focus": "Content the summary must preserve.",
    "prompt": "The number of a prompt, from 1.",
    "GetChanges.prompt": "The number of a prompt, from 1; 0 is the whole session.",
    "Rewind.prompt": "The number of a prompt, from 1; 0 undoes the last rewind of files.",
    "what": "The conversation, the files, or both.",
    "overwrite": "Also restore files that something else changed since.",
    "dry_run": "Report what would happen and change nothing.",
    "prompts": "Every prompt of the session, oldest first.",
    "PromptChanges.text": "The text of the prompt.",
    "PromptChanges.files": "Number of files it changed.",
    "Rewound.text": "The text of the prompt that was undone; empty if a rewind was undone.",
    "Changes.files": "The changed files, sorted by path.",
    "Rewound.files": "The files to change.",
    "unknown": "Reasons why the list may be incomplete; [] if it is complete.",
    "added": "Number of added lines.",
    "removed": "Number of removed lines.",
    "path": "The absolute path of the file.",
    "change": "The kind of change.",
    "diff": "The changed lines in unified format, from the first @@ on.",
    "note": "Why there is no diff.",
    "outcome": "The result for this file; with dry_run, the expected one.",
    "RewoundFile.reason": "Why it was not touched or could not be changed.",
    "reason": "The reason of a denial, sent to the model.",
    "RunCommand.name": "The name of the command; a leading slash is accepted.",
    "CommandInfo.name": "The name of the command, without a slash.",
    "RunCommand.args": "The text after the name.",
    "description": "One line for users.",
    "extension": "The name of the extension.",
    "CommandInfo.extension": "The name of the extension; empty for a prompt template.",
    "CommandInfo.arguments": "The arguments of a template, for users.",
    "McpServer.name": "The name of the server.",
    "McpServer.origin": "Where it is configured: user, project, flag, or plugin NAME.",
    "McpServer.state": "Its state; a server that is off starts when it is used.",
    "McpServer.shown": "Its command or address, without values that may be secret.",
    "McpServer.tools": "Number of its tools, if known.",
    "McpServer.tokens": "Approximate cost of all its tool definitions in a request.",
    "McpServer.known": "Whether it has listed its tools at least once.",
    "McpServer.error": "Its last error.",
    "McpServer.log": "The file with its stderr, once it was started.",
    "McpServer.about": "The name and version the server reports.",
    "McpServer.version": "The MCP version it uses.",
    "McpServers.servers": "Sorted by name, including servers that are not trusted.",
    "McpState.server": "The current state of the server.",
    "panel_id": "The id of the panel, unique within its extension.",
    "key": "The name of the key (see the extension protocol, keys in a panel).",
    "PanelKey.text": "The character, if the key is rune.",
    "input": "Input tokens that were not cached.",
    "output": "Output tokens.",
    "cache_read": "Input tokens read from the cache.",
    "cache_write": "Input tokens written to the cache.",
    "cost_usd": "The cost in USD.",
    "cumulative": "The total so far, over prompts and compactions.",
    "auxiliary": "True for a model call made by a tool: it adds to the cost, not to the size of the conversation.",
    "text": "The text.",
    "bytes": "The size of the image file.",
    "quota": "What the provider says is left of a plan or of a rate limit; absent if its answer has none.",
    "Quota.name": "The window: its length, or the kind of requests or tokens it counts.",
    "remaining_percent": "What is left of it, in percent.",
    "resets_at": "When it starts again, as RFC 3339; absent if unknown.",
    "Quota.plan": "True for a window of a plan, false for a rate limit.",
    "name": "The name of the tool.",
    "args": "The arguments; null if they were empty or not JSON.",
    "ApprovalRequest.args": "The arguments the call will run with.",
    "ElicitationRequest.request_id": "The id to repeat in answer_elicitation.",
    "ElicitationRequest.message": "The question of the server.",
    "AnswerElicitation.request_id": "The id of the request.",
    "AnswerElicitation.content": "With accept: the values of the fields by name.",
    "ElicitationField.name": "The name of the field, used in content.",
    "ElicitationField.kind": "The type of the value; yes is true or false, choices is several of the choices.",
    "ElicitationField.description": "A description for the user.",
    "ElicitationField.default": "The suggested value, as text.",
    "Permit.request_id": "The id of the request.",
    "Permit.decision": "go: make the call; refuse: end the turn.",
    "Permit.reason": "Why the call is refused; the error of the turn repeats it.",
    "Permit.usd": "The most the call may cost; its output is limited to that. 0 is no limit.",
    "PermitRequest.request_id": "The id to repeat in permit; permit_settled has it as well.",
    "PermitRequest.usd": "Estimated cost of the input in USD; 0 if it is free or the price is unknown.",
    "PermitRequest.unpriced": "The price of the model is unknown, so a cost limit cannot be enforced.",
    "PermitRequest.least_usd": "Its estimated cost with a short answer.",
    "PermitRequest.usual_usd": "Its estimated cost with an answer of usual length.",
    "PermitRequest.most_usd": "Its estimated cost with the longest answer the model gives.",
    "PermitSettled.request_id": "The id of the request.",
    "PermitSettled.usd": "The cost in USD.",
    "PermitSettled.outcome": "The result; absent if the model answered.",
    "pause_s": "Seconds to wait, as the provider requires; zot waits that long before it retries.",
    "server": "The MCP server that asks.",
    "url": "The address to open, instead of fields to fill in.",
    "fields": "The fields to fill in.",
    "AnswerElicitation.action": "The decision of the user.",
    "ElicitationField.title": "The label to show.",
    "required": "Whether a value is required.",
    "choices": "The allowed values.",
    "labels": "The text to show for each choice.",
    "call_id": "The id of the tool call.",
    "is_error": "Whether the call failed, was denied or was cancelled.",
    "content": "The blocks; [] when there are none.",
    "role": "The author of the message.",
    "time": "RFC 3339, UTC.",
    "context_window": "Maximum number of input tokens; 0 if unknown.",
    "max_output": "Maximum number of output tokens; 0 if unknown.",
    "started": "True: events follow.",
    "cwd": "The working directory.",
    "message_count": "Number of messages in the transcript, including tool results.",
    "busy": "Whether a prompt or compaction is running or queued.",
    "usage": "Tokens and cost so far.",
    "messages": "The transcript.",
    "models": "In the order of the catalog.",
    "pong": "Always true.",
    "commands": "The commands that are available now.",
    "action": "The action the extension requested.",
    "insert": "Text to insert into the client's editor.",
    "step": "The number of the model call within this prompt, from 1.",
    "delta": "The piece of text.",
    "replace": "True if the text replaces the earlier output of the tool; absent if it follows it.",
    "fraction": "How much is done, from 0 to 1; absent if unknown.",
    "view": "Styled lines to show in place of the output so far; absent if there are none.",
    "decided_by": "Who allowed or denied the call: a rule and its file, a saved answer, a mode, a hook, an "
    "extension, or `you`; absent in mode everything.",
    "ToolProgress.content": "A partial result; absent if there is none.",
    "Done.reason": "`handled` if an extension answered in the model's place; else absent.",
    "merged": "Number of pieces joined in this line; absent if it is one.",
    "seconds": "Duration of the thinking.",
    "attempt": "The number of the next attempt, from 2.",
    "attempts": "The maximum number of attempts.",
    "wait_s": "Seconds until the next attempt.",
    "RetryWait.reason": "The error, for users.",
    "dropped": "Number of omitted characters of earlier output; absent if none were omitted.",
    "stop": "Why the model stopped.",
    "error": "The error, for users.",
    "summary": "The summary the model wrote.",
    "Error.message": "The error, for users.",
    "source": "The feature that reports it: `mcp`, `hooks`, `extensions`, `jail`, …; `zot` for zot itself.",
    "Diagnostic.level": "The severity.",
    "Diagnostic.message": "What happened and what to do, for users.",
    "JobUpdate.job": "The number of the job.",
    "JobUpdate.command": "Its command, in one line.",
    "JobUpdate.state": "`ended`, or `matched`: a pattern that the model watches for appeared.",
    "JobUpdate.exit_code": "Of its first process, negative for a signal; null while it runs.",
    "JobUpdate.text": "How it ended, such as `exit 1 after 2m5s`; or the line that matched.",
    "SessionFault.message": "The session, and why it cannot be saved.",
    "lost": "True at the end of the run if records are still not on disk; zot does not retry.",
    "code": "The kind of error, for programs; absent if it has none.",
    "level": "info, success, warn or error; others are passed on unchanged.",
    "ExtNotify.message": "The text.",
    "title": "The title of the panel.",
    "lines": "The lines of the panel.",
    "footer": "The line below them.",
    "tool_id": "The id of the tool call.",
    "preview": "One line that summarizes the call.",
    "outside": "The access outside the jail that the call needs; absent for a call that has not run yet.",
    "jail": "The limits of commands and file tools; null without a jail.",
    "JailState.level": "The protection this machine supports.",
    "network": "Whether the network is available inside.",
    "read": "Readable paths besides the system's.",
    "write": "Writable paths; the project is first.",
    "approve": "outside if the user can be asked about access outside the jail.",
    "access": "The kind of access.",
    "Outside.path": "The path that approval allows; empty for the network.",
    "Outside.kind": "The kind of path.",
    "missing": "True if the path does not exist yet and would be created.",
    "host": "The host it tried to reach; approval allows the whole network.",
    "worker": "The id of a worker, a unique prefix of the id, or its name.",
    "task": "The task of the worker.",
    "SwarmStart.name": "A name for users; derived from the task by default.",
    "SwarmStart.cwd": "Its working directory; default: the directory of this zot.",
    "mode": "worktree: on its own branch, in its own worktree; shared: in the directory itself.",
    "SwarmStart.write": "Whether a shared worker can change files.",
    "include_dirty": "Whether the worktree starts with your uncommitted changes.",
    "SwarmStart.reasoning": "off, minimum, low, medium, high, xhigh or max; default: as in the settings.",
    "SwarmStart.script": "For the provider script: the file with the answers of the scripted model.",
    "SwarmStart.tools": "The only tools it has; [] for none.",
    "ask": "Whether its tool calls need approval, given with swarm_approve.",
    "SwarmStart.jail": "Whether a shared worker is jailed in its directory.",
    "extensions": "Whether it loads the installed extensions.",
    "max_steps": "Maximum number of model calls per prompt.",
    "SwarmBudget.max_steps": "Maximum number of model calls of all workers together.",
    "max_cost": "Maximum cost in USD.",
    "max_agents": "Maximum number of workers that run at once.",
    "timeout_s": "Time limit in seconds; default for a worker: 3600.",
    "engine": "Where it runs: local, ray, or ray://HOST:PORT.",
    "swarm": "The name of the budget it shares with other workers.",
    "SwarmStart.key": "The item of a fan-out it works on.",
    "WorkerInfo.key": "The item of a fan-out it works on.",
    "once": "Whether it ends after its first task instead of waiting for more.",
    "restarts": "How many times it is restarted if its process dies.",
    "session": "The conversation that started it.",
    "SwarmList.session": "Only workers this conversation started.",
    "SwarmList.swarm": "Only workers that share this budget.",
    "SwarmList.all": "Also workers that have ended.",
    "SwarmStop.all": "Stop every worker.",
    "SwarmSend.text": "The prompt.",
    "SwarmApprove.request_id": "The id of the request.",
    "how": "squash: change the files, for you to commit; no-ff: create a merge commit; patch: write a patch file.",
    "into": "The target branch; default: the checked-out one.",
    "check": "A command that must succeed in the merged files before anything is changed.",
    "force": "Also remove a worker with unmerged changes.",
    "past": "Whether earlier events come first.",
    "off": "Unsubscribe.",
    "WorkerInfo.id": "The id of the worker.",
    "WorkerInfo.name": "Its name, for users.",
    "WorkerInfo.started": "When it first ran.",
    "WorkerInfo.attempt": "Number of processes started for it.",
    "WorkerInfo.reason": "Why it ended.",
    "WorkerInfo.merged": "The branch its changes were merged into.",
    "WorkerInfo.notes": "Parts of the repository that its worktree does not contain (submodules, Git LFS files, nested "
    "repositories).",
    "status": "Its state; lost: its process ended without a result.",
    "created": "When it was created.",
    "ended": "When it ended.",
    "branch": "The branch of its worktree.",
    "pid": "Its process id.",
    "steps": "Number of model calls so far.",
    "activity": "Its current activity, in a few words.",
    "last": "The beginning of its last answer.",
    "workers": "Oldest first.",
    "answer": "Its last answer.",
    "SwarmWorker.files": "Number of files it changed.",
    "waiting": "Number of queued prompts.",
    "SwarmDiffData.diff": "The output of `git diff`.",
    "SwarmMerged.files": "The changed files.",
    "repair": "Write conflicts into the worker's worktree and ask the worker to resolve them.",
    "SwarmMerged.left": "Files in its worktree that are not part of the merge, one line each.",
    "mending": "Files the worker was asked to repair.",
    "conflicts": "Files changed on both sides; nothing was merged.",
    "patch": "The patch file that was written.",
    "said": "The output of the check.",
    "left": "What could not be removed, one line each.",
    "SwarmUpdate.id": "The id of the worker.",
    "SwarmUpdate.worker": "The current state of the worker.",
    "SwarmStarted.worker": "The current state of the worker.",
    "SwarmWorker.worker": "The current state of the worker.",
    "SwarmEvent.id": "The id of the worker.",
    "event": "The event, as the worker sent it.",
    "AnswerDialog.request_id": "The id of the dialog.",
    "AnswerDialog.value": "The answer; its type depends on the kind of dialog.",
    "cancelled": "True if the user closed the dialog without an answer.",
    "ExtComplete.command": "The command whose arguments to complete; or give `trigger`.",
    "trigger": "The character before the word to complete.",
    "ExtComplete.text": "The arguments so far, or the word after the trigger.",
    "cursor": "The position in the text.",
    "before": "The line before the word; extensions get at most its last 1,000 characters.",
    "CompletionItem.value": "The text to insert.",
    "label": "A Line to show instead of the value.",
    "CompletionItem.replace": "Number of characters before the cursor that it replaces.",
    "items": "At most 200 items for each extension.",
    "more": "True if there are further items.",
    "rows": "Lines with styles, instead of `lines`; absent if it has none.",
    "place": "Where it should stand; absent for the usual place.",
    "ExtPanel.cursor": "Row and column of the cursor in the rows; absent if there is none.",
    "keys": "Which keys it wants: named, all or release; absent for the usual ones.",
    "kind": "status, widget, header, footer, title, working, thinking, border or decoration.",
    "ExtSurface.name": "Its name, unique for the extension and kind.",
    "ExtSurface.value": "Its content, as the extension sent it; absent if it was withdrawn.",
    "stale": "True if its process ended; it disappears within 3 seconds unless a new process renews it.",
    "DialogOption.value": "The answer, if it is chosen.",
    "group": "The heading it stands under.",
    "disabled": "Whether it cannot be chosen.",
    "DialogField.name": "The name of the field, used in the value.",
    "DialogField.kind": "The type of the value; yes is true or false, choices is several of the choices.",
    "DialogField.title": "The label to show.",
    "DialogField.description": "A description for the user.",
    "default": "The suggested answer.",
    "pattern": "A regular expression that a text must match.",
    "ExtDialog.request_id": "The id to repeat in answer_dialog.",
    "ExtDialog.kind": "What is asked for.",
    "ExtDialog.title": "The question, in one line.",
    "ExtDialog.message": "Lines below the title.",
    "options": "The options to choose from.",
    "placeholder": "A hint to show while the text is empty.",
    "ExtDialog.text": "The initial text.",
    "ExtDialog.url": "The address to open; shown whole, and opened only by the user.",
    "ExtDialog.timeout_s": "After this many seconds zot closes it; absent for none.",
    "todos": "The model's list of steps.",
    "Todo.status": "How far it is.",
    "Todos.items": "The steps, in order; [] if the list was cleared.",
    "question": "The question.",
    "header": "One or two words about it; absent if there are none.",
    "QuestionOption.label": "The answer; repeat it to choose it.",
    "QuestionOption.description": "What it means; absent if there is nothing to add.",
    "UserQuestion.options": "The answers it offers; absent if it asks for text.",
    "multiple": "Whether several options may be chosen.",
    "questions": "The questions, one to four.",
    "answers": "A list of texts for each question, in order.",
    "declined": "Whether the user answers none of them.",
    "comment": "What the user says about it; sent to the model.",
    "AnswerPlan.decision": "approve or refuse.",
    "AnswerPlan.mode": "The permission mode that follows; default: `mode` of the request.",
    "AnswerPlan.plan": "The text as the user edited it; empty if unchanged.",
    "fresh": "Whether a new session with the plan begins.",
    "PlanRequest.plan": "The plan, as Markdown.",
    "PlanRequest.path": "The file it is saved in; absent if it could not be saved.",
    "modes": "The permission modes that may follow, from the narrowest to the widest.",
    "PlanRequest.mode": "The default one of them.",
    "yes": "The label of yes.",
    "no": "The label of no.",
    "Steer.message": "The message.",
    "Steer.images": "Images beside the text.",
    "SetModel.provider": "The provider of the model; absent for the current one.",
    "ModelSet.provider": "The provider, if the command named one.",
    "all": "Also models of other providers that can be used.",
    "call_hash": "The SHA-256 of the call, in hexadecimal digits.",
    "Approve.call_hash": "That of the request; a different one is refused, and the request stays open.",
    "Unqueue.index": "The `index` of the prompt in the queue.",
    "query": "The beginning of a path, or letters of a name.",
    "limit": "At most this many, up to 200.",
    "on": "False ends it.",
    "State.context_tokens": "Tokens of the last request; 0 if unknown.",
    "State.context_window": "The context window of the model.",
    "State.reasoning": "The reasoning effort.",
    "State.title": "The title of the session, or the first words of its first prompt.",
    "State.session_id": "The id of the session.",
    "State.permission_limit": "The widest permission mode that can be set.",
    "steered": "True if it joins the running prompt, false if it is a prompt of its own.",
    "SteeringMessage.text": "Its first 2,000 characters.",
    "SteeringMessage.images": "The number of its images.",
    "QueuedPrompt.text": "Its first 2,000 characters.",
    "QueuedPrompt.images": "The number of its images.",
    "QueuedPrompt.index": "Names the prompt in `unqueue`; stays the same while it waits.",
    "steering": "Messages that join the running prompt, in order.",
    "Queue.queued": "Prompts that wait, in order.",
    "QueueChanged.queued": "Prompts that wait, in order.",
    "Unqueued.text": "The whole text of the prompt.",
    "FoundFile.path": "The path as it is mentioned after `@`.",
    "FoundFile.kind": "What it is.",
    "FoundFiles.files": "The best match first.",
    "ImageData.mime_type": "Its type, such as image/png.",
    "ImageData.data": "The file, in base64.",
    "GetImage.tool_id": "The id of a tool call.",
    "GetImage.message": "The place of a message in `get_messages`, from 0.",
    "GetImage.index": "Its place among the images there, from 0.",
    "SessionChanged.action": "What happened.",
    "SessionChanged.session_id": "The id of the session that is shown now.",
    "SessionChanged.title": "Its title, or the first words of its first prompt.",
    "SessionChanged.message_count": "The number of its messages.",
    "direction": "in: from the extension, out: to it.",
    "t": "When zot read or wrote it, in seconds since 1970.",
    "frame": "The frame; absent if it is no JSON or too long.",
    "latency": "Seconds since the request that it answers.",
    "ExtFrame.text": "The line, or its beginning, instead of `frame`.",
    "cut": "True if only the first 64 KiB are sent.",
    "ExtFrame.dropped": "Number of frames before it that were left out.",
}


def meaning(struct: str, key: str, *, command: bool = False) -> str:
    """KeyError for a key without an entry, which fails the generator."""
    if command and key == "id":
        return MEANINGS["Command.id"]
    return MEANINGS.get(f"{struct}.{key}") or MEANINGS[key]
