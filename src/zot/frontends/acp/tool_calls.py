"""Tool calls as an editor shows them: title, kind, locations, diffs."""

from __future__ import annotations

from typing import Any

from zot.core.events import ToolResultEvent
from zot.core.permission_gate import preview
from zot.frontends.acp.content import Json, to_blocks
from zot.frontends.json_rpc import as_list, as_object
from zot.provider.messages import TextBlock, ToolCallBlock
from zot.system.visible_text import spelled_start

_KINDS = {
    "read": "read",
    "skill": "read",
    "write": "edit",
    "edit": "edit",
    "bash": "execute",
    "jobs": "execute",
    "grep": "search",
    "glob": "search",
    "web_fetch": "fetch",
    "web_search": "search",
    "todo": "think",
    "agent": "think",
    "present_plan": "switch_mode",
}
_TITLES = {"read": "Read", "write": "Write", "edit": "Edit", "grep": "Search", "glob": "Find"}
_LONGEST_TITLE = 200
_LONGEST_DIFF = 1 << 20  # characters of a file in a diff


def kind_of(name: str) -> str:
    return _KINDS.get(name, "other")


def title_of(call: ToolCallBlock) -> str:
    """One line: the command itself for bash."""
    about = preview(call.value, _LONGEST_TITLE)
    if call.name == "bash":
        return about or "bash"
    args = call.args or {}
    if call.name == "todo":
        return "Steps"
    if call.name == "ask_user":
        asked = [str(as_object(each).get("question", "")) for each in as_list(args.get("questions"))]
        return spelled_start(f"Question: {' '.join(asked)}", _LONGEST_TITLE)
    subject = str(args.get("pattern") or args.get("path") or about)
    return spelled_start(f"{_TITLES.get(call.name, call.name)} {subject}".strip(), _LONGEST_TITLE)


def locations_of(call: ToolCallBlock, resolve: Any) -> list[Json]:
    path = (call.args or {}).get("path")
    if not isinstance(path, str) or not path:
        return []
    try:
        absolute = str(resolve(path))
    except Exception:  # the tool reports it
        return []
    line = (call.args or {}).get("offset")
    return [{"path": absolute, **({"line": line} if isinstance(line, int) and line > 0 else {})}]


def started(call: ToolCallBlock, resolve: Any) -> Json:
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call.id,
        "title": title_of(call),
        "kind": kind_of(call.name),
        "status": "pending",
        "locations": locations_of(call, resolve),
        "rawInput": call.args,
    }


def planned_diff(call: ToolCallBlock, before: str | None, resolve: Any) -> list[Json]:
    """What ``write`` or ``edit`` would make of a file, for the permission request and the result."""
    args = call.args or {}
    path, changed = args.get("path"), None
    if call.name == "write" and isinstance(content := args.get("content"), str):
        changed = content
    elif call.name == "edit" and before is not None:
        changed = before
        for edit in map(as_object, as_list(args.get("edits"))):
            if isinstance(old := edit.get("oldText"), str):
                changed = changed.replace(old, str(edit.get("newText", "")), 1)
    if changed is None or not isinstance(path, str) or len(changed) > _LONGEST_DIFF:
        return []
    diff: Json = {"type": "diff", "path": str(resolve(path)), "newText": changed}
    return [diff if before is None else {**diff, "oldText": before}]


def finished(event: ToolResultEvent, diff: list[Json]) -> Json:
    blocks = to_blocks(event.content)
    content = [{"type": "content", "content": block} for block in blocks]
    update: Json = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": event.id,
        "status": "failed" if event.is_error else "completed",
        "content": diff if diff and not event.is_error else content,
        "rawOutput": {"text": "".join(block.text for block in event.content if isinstance(block, TextBlock))},
    }
    return update
