"""``tools.list``, ``tools.active``, ``tools.call`` and ``commands.list``: what the model and the user can run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.events import ToolProgress
from zot.core.tool import ToolResult, attached_of, refused_of
from zot.errors import ToolError
from zot.features import json_schema
from zot.features.extensions.overrides import WORD as OVERRIDE
from zot.features.extensions.requests import MethodCall, RequestError
from zot.features.extensions.tool_selection import ToolSelection
from zot.features.extensions.tools import wire_blocks
from zot.features.lookup import skills
from zot.provider.messages import TextBlock
from zot.wire import limits

if TYPE_CHECKING:
    from zot.core.tool import Tool

_CHANGING = frozenset({"write", "edit"})


# --- the list


async def available(call: MethodCall) -> dict[str, Any]:
    return {"tools": _tools(call)}


def _tools(call: MethodCall) -> list[dict[str, Any]]:
    conversation = call.conversation
    active = conversation.agent.toolbox
    found = {tool.name: tool for tool in (*conversation.toolset.permitted(), *active.values())}
    rows = [_described(tool, tool.name in active) for tool in found.values()]
    for name, (child, frame) in call.host.deferred_tools().items():
        if name not in found and _is_permitted(call, name):
            schema = json_schema.completed(frame.schema)
            row = {"name": name, "description": frame.description, "schema": schema, "source": "extension"}
            rows.append({**row, "extension": child.name, "active": False, "class": "runs"})
    return sorted(rows, key=lambda row: row["name"])


def _described(tool: Tool, active: bool) -> dict[str, Any]:
    owner = str(getattr(tool, "extension", "") or "")
    server, _, name = owner.partition(":")
    source = "zot" if not owner else "mcp" if server == "mcp" else "extension"
    named = {"extension": name if source == "mcp" else owner} if owner not in ("", "mcp") else {}
    row = {"name": tool.name, "description": tool.description, "schema": tool.schema, "source": source}
    return {**row, **named, "active": active, "class": _class(tool)}


def _class(tool: Tool) -> str:
    """What it does: reads, changes or runs. A tool in the place of a built-in one is of its class."""
    original: Tool | None = getattr(tool, "original", None)
    if tool.read_only:
        return "reads"
    owned = getattr(tool, "extension", "") and original is None
    return "changes" if tool.name in _CHANGING and not owned else "runs"


def _is_permitted(call: MethodCall, name: str) -> bool:
    return call.conversation.toolset.choice.permits(name)


# --- switching on and off


class _ActiveParams(msgspec.Struct, frozen=True):
    names: tuple[str, ...]


async def activate(call: MethodCall) -> dict[str, Any]:
    params, conversation, host = call.params(_ActiveParams), call.conversation, call.host
    known = {row["name"] for row in _tools(call)}
    for name in params.names:
        if name not in known:
            raise _not_offered(call, name)
    if host.tool_selection is None:
        host.tool_selection = ToolSelection(host, conversation)
    host.tool_selection.choose(params.names)
    conversation.refresh_tools()
    return {"active": sorted(conversation.agent.toolbox)}


def _not_offered(call: MethodCall, name: str) -> RequestError:
    from zot.agent.tools.registry import ALL_TOOLS, EXTRAS, SWARM_NAMES

    others = {tool for feature in call.conversation.features for tool in feature.tool_names()}
    if name in (*ALL_TOOLS, *EXTRAS, *SWARM_NAMES) or name in others:
        text = f"tools.active: the user's flags and settings do not permit {name}"
        return RequestError("refused", text)
    return RequestError("not_found", f"tools.active: no tool is called {name[:60]!r}")


# --- calling


class _CallParams(msgspec.Struct, frozen=True):
    name: str
    args: dict[str, Any] = {}
    original: bool = False


async def call(call: MethodCall) -> dict[str, Any]:
    params, conversation = call.params(_CallParams), call.conversation
    call.require(OVERRIDE if params.original else "tools")
    tool = _original(call, params.name) if params.original else None
    if tool is None and params.name not in conversation.agent.toolbox:
        raise RequestError("not_found", f"tools.call: no tool is called {params.name[:60]!r}")
    try:
        call.host.nested.enter(call.child, params.name, call.parent, original=tool is not None)
    except ToolError as refusal:
        raise RequestError("refused", str(refusal)) from None
    progress = _NestedProgress(call)
    seconds = None if params.original else limits.CALL_TOOL_REPLY
    try:
        async with asyncio.timeout(seconds) as progress.clock:
            result = await conversation.agent.run_tool(
                params.name, params.args, call.child.name, tool=tool, report=progress.received
            )
    except TimeoutError:
        raise RequestError("timeout", f"tools.call: {params.name} was silent for {seconds:g} s") from None
    finally:
        progress.close()
    return _result(result)


def _original(call: MethodCall, name: str) -> Tool:
    """The built-in tool whose place the extension's tool takes, only within a call of that."""
    overrides = call.host.overrides
    tool = overrides.original(call.child, name) if overrides is not None else None
    if tool is None or call.host.nested.tool_of(call.child, call.parent) != name:
        text = f"tools.call: original: expected the parent_id of a call of {name[:60]!r} that takes a built-in's place"
        raise RequestError("refused", text)
    return tool


def _result(result: ToolResult) -> dict[str, Any]:
    if refused_of(result.details):
        text = " ".join(block.text for block in result.content if isinstance(block, TextBlock))
        raise RequestError("refused", f"tools.call: {text}")
    content, truncated = wire_blocks(result.content, limits.CALL_TOOL_RESULT)
    answer: dict[str, Any] = {"content": content, "is_error": result.is_error, "truncated": truncated}
    details = (attached_of(result.details) or {}).get("details")
    return answer if details is None else {**answer, "details": details}


class _NestedProgress:
    """Passes on the progress of a nested call, at most every 50 ms, and restarts its clock. ``text`` is added to the
    previous unless the event replaces it."""

    def __init__(self, call: MethodCall) -> None:
        self._call = call
        self.clock: asyncio.Timeout | None = None
        self._text = ""
        self._newest: ToolProgress | None = None
        self._timer: asyncio.TimerHandle | None = None

    def received(self, event: ToolProgress) -> None:
        loop = asyncio.get_running_loop()
        if self.clock is not None and self.clock.when() is not None and not self.clock.expired():
            self.clock.reschedule(loop.time() + limits.CALL_TOOL_REPLY)
        self._text = (event.text if event.replace else self._text + event.text)[-limits.DETAILS_BYTES :]
        self._newest = event
        if self._timer is None:
            self._timer = loop.call_later(limits.PROGRESS_INTERVAL, self._send)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _send(self) -> None:
        self._timer = None
        if (event := self._newest) is not None:
            self._call.progress(text=self._text, fraction=event.fraction, view=event.view, data=event.data)


# --- slash commands


async def commands(call: MethodCall) -> dict[str, Any]:
    from zot.agent.slash_commands import list_commands

    own = [{"name": name, "description": text, "source": "zot"} for name, text in call.host.surface.own_commands()]
    taken = {row["name"].lower() for row in own}
    for command in list_commands(call.conversation):
        if command.name.lower() in taken:
            continue
        row = {"name": command.name, "description": command.summary}
        if command.extension:
            own.append({**row, "source": "extension", "extension": command.extension})
        else:
            own.append({**row, "source": "template" if command.expands else "zot"})
    return {"commands": [*own, *_skills(call)]}


def _skills(call: MethodCall) -> list[dict[str, Any]]:
    feature = skills(call.conversation)
    found = [] if feature is None else sorted(feature.skills.all, key=lambda skill: skill.name)
    rows = [{"name": f"skill:{skill.name}", "description": skill.description, "source": "skill"} for skill in found]
    return rows
