"""zot inside your own Python program. This module is the whole public surface; everything behind it may move.

>>> import asyncio
>>> from zot.sdk import Runtime, TextDelta, ToolCall, decode
>>> script = {"turns": [{"tool_calls": [{"name": "add", "args": {"a": 1, "b": 2}}]}, {"text": "3"}]}
>>> def add(a: int, b: int) -> int:
...     "Adds two numbers."
...     return a + b
>>> async def main():
...     async with Runtime(script=script, tools=[add]) as zot:  # no key needed; name a real model instead
...         async for event in zot.prompt("What is 1 + 2?"):
...             match event:
...                 case ToolCall():
...                     print(event.name, event.args)
...                 case TextDelta():
...                     print(event.delta)
>>> asyncio.run(main())
add {'a': 1, 'b': 2}
3

Events have the shape of the wire, so what ``zot --json`` or ``zot rpc`` wrote is read by ``decode``:

>>> decode('{"type":"text_delta","delta":"hi"}')
TextDelta(delta='hi', merged=0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zot.core.permission_gate import Answer
    from zot.core.tool import Tool, ToolContext
    from zot.errors import AgentBusy, AnswerMismatch, RuntimeClosed, ToolError, ZotError
    from zot.sdk.approvals import Approval, Outside, Wish
    from zot.sdk.interceptors import Refuse, ToolRequest, before_message, before_tool, before_turn
    from zot.sdk.options import Options
    from zot.sdk.runtime import Runtime
    from zot.sdk.stream import EventStream
    from zot.sdk.swarm import Swarm, SwarmAgent, SwarmResult, WorkerOptions
    from zot.sdk.sync import SyncRuntime, SyncStream
    from zot.sdk.tools import tool
    from zot.wire.events import text_of
    from zot.wire.rpc_codec import decode
    from zot.wire.rpc_frames import (
        AssistantMessage,
        AssistantStart,
        ChangedFile,
        Changes,
        CompactDone,
        Done,
        Error,
        Event,
        ExtClearNotes,
        ExtDisplay,
        ExtNotify,
        Message,
        ModelInfo,
        PromptChanges,
        RetryWait,
        Rewound,
        RewoundFile,
        SessionFault,
        State,
        TextDelta,
        ThinkingDelta,
        ThinkingEnd,
        ToolCall,
        ToolProgress,
        ToolResult,
        ToolUseArgs,
        ToolUseEnd,
        ToolUseStart,
        TurnEnd,
        TurnStart,
        Unknown,
        Usage,
        UsageTotals,
        UserMessage,
    )

__all__ = [
    "AgentBusy",
    "Answer",
    "AnswerMismatch",
    "Approval",
    "AssistantMessage",
    "AssistantStart",
    "ChangedFile",
    "Changes",
    "CompactDone",
    "Done",
    "Error",
    "Event",
    "EventStream",
    "ExtClearNotes",
    "ExtDisplay",
    "ExtNotify",
    "Message",
    "ModelInfo",
    "Options",
    "Outside",
    "PromptChanges",
    "Refuse",
    "RetryWait",
    "Rewound",
    "RewoundFile",
    "Runtime",
    "RuntimeClosed",
    "SessionFault",
    "State",
    "Swarm",
    "SwarmAgent",
    "SwarmResult",
    "SyncRuntime",
    "SyncStream",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingEnd",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolProgress",
    "ToolRequest",
    "ToolResult",
    "ToolUseArgs",
    "ToolUseEnd",
    "ToolUseStart",
    "TurnEnd",
    "TurnStart",
    "Unknown",
    "Usage",
    "UsageTotals",
    "UserMessage",
    "Wish",
    "WorkerOptions",
    "ZotError",
    "before_message",
    "before_tool",
    "before_turn",
    "decode",
    "text_of",
    "tool",
]

# Looked through in this order; a program that only reads transcripts loads no agent.
_ROOMS = (
    ("zot.errors", ("AgentBusy", "AnswerMismatch", "RuntimeClosed", "ToolError", "ZotError")),
    ("zot.wire.events", ("text_of",)),
    ("zot.wire.rpc_codec", ("decode",)),
    ("zot.core.permission_gate", ("Answer",)),
    ("zot.core.tool", ("Tool", "ToolContext")),
    ("zot.sdk.approvals", ("Approval", "Outside", "Wish")),
    ("zot.sdk.interceptors", ("Refuse", "ToolRequest", "before_message", "before_tool", "before_turn")),
    ("zot.sdk.options", ("Options",)),
    ("zot.sdk.runtime", ("Runtime",)),
    ("zot.sdk.stream", ("EventStream",)),
    ("zot.sdk.swarm", ("Swarm", "SwarmAgent", "SwarmResult", "WorkerOptions")),
    ("zot.sdk.sync", ("SyncRuntime", "SyncStream")),
    ("zot.sdk.tools", ("tool",)),
)


def __getattr__(name: str) -> Any:
    """Loads a name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    room = next((room for room, names in _ROOMS if name in names), "zot.wire.rpc_frames")
    value = globals()[name] = getattr(import_module(room), name)
    return value


def __dir__() -> list[str]:
    """What is here for you, for ``help`` and completion."""
    return list(__all__)
