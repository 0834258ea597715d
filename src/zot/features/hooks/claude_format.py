"""Converts tool calls and hook decisions between zot's and Claude Code's formats.
An ``edit`` with several replacements is one ``Edit`` with joined texts; inputs without a counterpart raise
UnsupportedInput."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, cast

import msgspec

from zot.features.hooks.config import Hook
from zot.features.hooks.hook_process import HookResult

NAMES = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "grep": "Grep",
    "glob": "Glob",
    "skill": "Skill",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "ask_user": "AskUserQuestion",
    "todo": "TodoWrite",
    "present_plan": "ExitPlanMode",
}
MODES = {"plan": "plan", "ask": "default", "accept-edits": "acceptEdits", "everything": "bypassPermissions"}
_KEYS: dict[str, dict[str, str]] = {
    "bash": {"command": "command"},
    "read": {"path": "file_path", "offset": "offset", "limit": "limit"},
    "write": {"path": "file_path", "content": "content"},
    "grep": {"pattern": "pattern", "path": "path", "glob": "glob", "ignore_case": "-i", "context": "-C"},
    "glob": {"pattern": "pattern", "path": "path"},
    "skill": {"name": "skill"},
    "web_fetch": {"url": "url", "prompt": "prompt", "offset": "offset"},
    "web_search": {"query": "query"},
}

# Keys of lists of objects, at any depth.
_TO_CLAUDE = {"ask_user": {"multiple": "multiSelect"}, "todo": {"items": "todos", "text": "content"}}
_STATUS = {"done": "completed"}

Resolve = Callable[[str], str]


class UnsupportedInput(ValueError):
    """A hook's input has no counterpart."""


class _Replacement(msgspec.Struct):
    """An item of ``edits`` in a hook's ``updatedInput``."""

    old_string: str
    new_string: str


def to_claude_input(tool: str, args: dict[str, Any], resolve: Resolve) -> dict[str, Any]:
    """Claude Code's input for a call of ``tool``; unchanged for tools that are not built in."""
    if tool == "edit":
        return _edit_input(args, resolve)
    if tool in ("ask_user", "todo"):
        return _renamed(args, _TO_CLAUDE[tool], _STATUS)
    keys = _KEYS.get(tool)
    if keys is None:
        return args
    fields = {keys[name]: value for name, value in args.items() if name in keys}
    for key in ("file_path", "path"):
        if isinstance(fields.get(key), str):
            fields[key] = resolve(fields[key])
    if tool == "bash" and isinstance(args.get("timeout"), int):
        fields["timeout"] = args["timeout"] * 1000
    return fields


def _renamed(value: Any, keys: dict[str, str], words: dict[str, str]) -> Any:
    """The value with other keys, and with other words for a ``status``."""
    if isinstance(value, list):
        return [_renamed(item, keys, words) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    made = {keys.get(name, name): _renamed(item, keys, words) for name, item in fields.items()}
    if isinstance(status := made.get("status"), str):
        made["status"] = words.get(status, status)
    return made


def _edit_input(args: dict[str, Any], resolve: Resolve) -> dict[str, Any]:
    edits = _edits(args)
    fields: dict[str, Any] = {"file_path": resolve(str(args.get("path", "")))}
    fields["old_string"] = "\n".join(old for old, _ in edits)
    fields["new_string"] = "\n".join(new for _, new in edits)
    fields["replace_all"] = False
    if len(edits) > 1:
        fields["edits"] = [{"old_string": old, "new_string": new} for old, new in edits]
    return fields


def _edits(args: dict[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    listed: Any = args.get("edits")
    for item in cast("list[Any]", listed) if isinstance(listed, list) else []:
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            found.append((str(fields.get("oldText", "")), str(fields.get("newText", ""))))
    return found


def from_claude_input(tool: str, fields: dict[str, Any], args: dict[str, Any], resolve: Resolve) -> dict[str, Any]:
    """The arguments for a hook's ``updatedInput``; UnsupportedInput if zot has no counterpart."""
    if tool == "edit":
        return _edit_args(fields, args, resolve)
    if tool in ("ask_user", "todo"):
        renamed = {new: old for old, new in _TO_CLAUDE[tool].items()}
        return _renamed(fields, renamed, {new: old for old, new in _STATUS.items()})
    keys = _KEYS.get(tool)
    if keys is None:
        return fields
    made = {name: fields[key] for name, key in keys.items() if key in fields}
    timeout: Any = fields.get("timeout")
    if tool == "bash" and isinstance(timeout, int | float):
        if not isfinite(timeout):
            raise UnsupportedInput("expected a number in timeout")
        made["timeout"] = max(1, int(timeout // 1000))
    return _with_path(made, args, resolve)


def _edit_args(fields: dict[str, Any], args: dict[str, Any], resolve: Resolve) -> dict[str, Any]:
    before = _edit_input(args, resolve)
    if fields.get("replace_all"):
        raise UnsupportedInput("replace_all is not supported by zot's edit")
    listed: Any = fields.get("edits")
    if listed is not None and listed != before.get("edits"):
        try:
            pairs = [(item.old_string, item.new_string) for item in msgspec.convert(listed, list[_Replacement])]
        except msgspec.ValidationError as error:
            raise UnsupportedInput(f"edits: {error}") from error
    elif all(fields.get(key) == before[key] for key in ("old_string", "new_string")):
        pairs = _edits(args)
    elif "edits" in before:
        raise UnsupportedInput("the call has several replacements; expected them in `edits`")
    else:
        pairs = [(fields.get("old_string"), fields.get("new_string"))]
    if not all(isinstance(old, str) and isinstance(new, str) for old, new in pairs):
        raise UnsupportedInput("expected text in old_string and new_string")
    made = {"path": fields.get("file_path", before["file_path"])}
    made["edits"] = [{"oldText": old, "newText": new} for old, new in pairs]
    return _with_path(made, args, resolve)


def _with_path(made: dict[str, Any], args: dict[str, Any], resolve: Resolve) -> dict[str, Any]:
    """Restores the original spelling of an unchanged path."""
    before = args.get("path")
    if isinstance(before, str) and made.get("path") == resolve(before):
        made["path"] = before
    return made


def to_claude_response(tool: str, fields: dict[str, Any], text: str) -> Any:
    """A tool's result in the format Claude Code's hooks expect."""
    match tool:
        case "bash":
            return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        case "read":
            return {"type": "text", "file": {"filePath": fields.get("file_path", ""), "content": text}}
        case "write":
            return {"type": "create", "filePath": fields.get("file_path", ""), "content": fields.get("content", "")}
        case "edit":
            texts = {"oldString": fields.get("old_string", ""), "newString": fields.get("new_string", "")}
            return {"filePath": fields.get("file_path", ""), **texts, "replaceAll": False, "success": True}
        case _:
            return {"content": [{"type": "text", "text": text}]}


def from_claude_response(value: Any) -> str:
    """The text of a tool's result that a hook replaced: plain text, or the format of ``to_claude_response``."""
    if isinstance(value, str):
        return value
    listed: Any = value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if isinstance(fields.get("stdout"), str):
            return "\n".join(filter(None, (fields["stdout"], str(fields.get("stderr") or ""))))
        file: Any = fields.get("file")
        if isinstance(file, dict) and isinstance(cast("dict[str, Any]", file).get("content"), str):
            return str(cast("dict[str, Any]", file)["content"])
        listed = fields.get("content")
    blocks = cast("list[Any]", listed) if isinstance(listed, list) else []
    texts = [cast("dict[str, Any]", block).get("text") for block in blocks if isinstance(block, dict)]
    if texts and all(isinstance(text, str) for text in texts):
        return "\n".join(map(str, texts))
    return listed if isinstance(listed, str) else msgspec.json.encode(value).decode()


# Hook output: exit 0 with optional JSON, exit 2 with a reason for the model, anything else is a failure.

LONGEST = 10_000  # characters of a reason or of context
_RANKS = ("deny", "defer", "ask", "allow", "")
UNHEEDED = (
    *("updatedPermissions", "terminalSequence"),
    *("initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"),
)
_SPEAKS_IN_CONTEXT = ("UserPromptSubmit", "SessionStart")


class HookDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one hook.
    ``decision`` is ``deny``, ``defer``, ``ask``, ``allow`` or empty; ``stop`` is the reason to end the run; ``message``
    is for the user, ``context`` for the model; ``output`` replaces the tool's; ``ignored`` are unsupported fields."""

    hook: Hook
    decision: str = ""
    reason: str = ""
    context: str = ""
    updated: dict[str, Any] | None = None
    output: Any = None
    stop: str | None = None
    message: str = ""
    failure: str = ""
    ignored: tuple[str, ...] = ()


class _Decision(msgspec.Struct):
    behavior: str | None = None
    message: str | None = None
    updatedInput: dict[str, Any] | None = None
    interrupt: bool = False


class _Specific(msgspec.Struct):
    permissionDecision: str | None = None
    permissionDecisionReason: str | None = None
    updatedInput: dict[str, Any] | None = None
    additionalContext: str | None = None
    decision: _Decision | None = None
    updatedToolOutput: Any = None
    updatedMCPToolOutput: Any = None


class _Output(msgspec.Struct):
    go_on: bool = msgspec.field(default=True, name="continue")
    stopReason: str | None = None
    systemMessage: str | None = None
    decision: str | None = None
    reason: str | None = None
    additionalContext: str | None = None
    hookSpecificOutput: _Specific | None = None


def parse_hook_output(hook: Hook, ran: HookResult) -> HookDecision:
    if ran.failure:
        return HookDecision(hook=hook, failure=ran.failure)
    if ran.code == 2:
        reason = ran.err.strip() or "denied by a hook without a reason"
        return HookDecision(hook=hook, decision="deny", reason=reason[:LONGEST])
    if ran.code != 0:
        first_line = next((line.strip() for line in ran.err.splitlines() if line.strip()), "")
        return HookDecision(
            hook=hook, failure=f"exit status {ran.code}" + (f": {first_line[:200]}" if first_line else "")
        )
    text = ran.out.strip()
    if text.startswith("{"):
        return _from_json(hook, text, cut=ran.cut)
    if hook.event in _SPEAKS_IN_CONTEXT:
        return HookDecision(hook=hook, context=text[:LONGEST])
    return HookDecision(hook=hook)


def _from_json(hook: Hook, text: str, *, cut: bool) -> HookDecision:
    try:
        output = msgspec.json.decode(text.encode("utf-8", "replace"), type=_Output)
    except (msgspec.MsgspecError, RecursionError) as error:
        why = "wrote more than 1 MiB" if cut else f"printed invalid JSON: {error}"
        return HookDecision(hook=hook, failure=why)
    own = output.hookSpecificOutput or _Specific()
    updated, stop = own.updatedInput, None if output.go_on else output.stopReason or "a hook stopped the run"
    decision = own.permissionDecision or ""
    reason = own.permissionDecisionReason or output.reason or ""
    if own.decision is not None:
        decision, reason = own.decision.behavior or "", own.decision.message or reason
        updated = own.decision.updatedInput or updated
        if own.decision.interrupt and decision == "deny":
            stop = stop or reason or "a hook stopped the run"
    if not decision and output.decision:
        decision = {"approve": "allow", "block": "deny"}.get(output.decision, output.decision)
    if decision not in _RANKS:
        return HookDecision(hook=hook, failure=f'unknown decision "{decision[:40]}"')
    return HookDecision(
        hook=hook,
        decision=decision,
        reason=reason[:LONGEST],
        context=(own.additionalContext or output.additionalContext or "")[:LONGEST],
        updated=updated,
        output=own.updatedToolOutput if own.updatedToolOutput is not None else own.updatedMCPToolOutput,
        stop=stop,
        message=(output.systemMessage or "")[:LONGEST],
        ignored=tuple(name for name in UNHEEDED if f'"{name}"' in text),
    )


def joined_decision(answers: Sequence[HookDecision]) -> HookDecision | None:
    """The strongest decision, if any was made."""
    decided = [answer for answer in answers if answer.decision]
    return min(decided, key=lambda answer: _RANKS.index(answer.decision), default=None)


def joined_context(answers: Iterable[HookDecision]) -> str:
    return "\n\n".join(answer.context for answer in answers if answer.context)
