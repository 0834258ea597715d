"""zot inside your Python program. Only the names of this module are public; everything behind it may change.

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

Events have the wire format, so ``decode`` reads the output of ``zot --json`` and ``zot rpc``:

>>> decode('{"type":"text_delta","delta":"hi"}')
TextDelta(delta='hi', merged=0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zot.core.permission_gate import ApprovalAnswer
    from zot.core.tool import Tool, ToolContext
    from zot.errors import AgentBusy, AnswerMismatch, RuntimeClosed, ToolError, ZotError
    from zot.sdk.approvals import AccessRequest, Approval, OutsideRequest
    from zot.sdk.interceptors import Deny, ToolRequest, before_message, before_tool, before_turn
    from zot.sdk.options import Options
    from zot.sdk.runtime import Runtime
    from zot.sdk.stream import EventStream
    from zot.sdk.swarm import Swarm, SwarmAgent, SwarmResult, WorkerOptions
    from zot.sdk.sync import SyncRuntime, SyncStream
    from zot.sdk.tools import tool
    from zot.wire.events import message_text
    from zot.wire.python_values import PlanDecision
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
        JobUpdate,
        Message,
        ModelInfo,
        PlanRequest,
        PromptChanges,
        QuestionRequest,
        RetryWait,
        Rewound,
        RewoundFile,
        SessionFault,
        State,
        TextDelta,
        ThinkingDelta,
        ThinkingEnd,
        Todo,
        Todos,
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

    Answer, Outside, Refuse, Wish, text_of = ApprovalAnswer, OutsideRequest, Deny, AccessRequest, message_text

__all__ = [
    "AccessRequest",
    "AgentBusy",
    "AnswerMismatch",
    "Approval",
    "ApprovalAnswer",
    "AssistantMessage",
    "AssistantStart",
    "ChangedFile",
    "Changes",
    "CompactDone",
    "Deny",
    "Done",
    "Error",
    "Event",
    "EventStream",
    "ExtClearNotes",
    "ExtDisplay",
    "ExtNotify",
    "JobUpdate",
    "Message",
    "ModelInfo",
    "Options",
    "OutsideRequest",
    "PlanDecision",
    "PlanRequest",
    "PromptChanges",
    "QuestionRequest",
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
    "Todo",
    "Todos",
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
    "WorkerOptions",
    "ZotError",
    "before_message",
    "before_tool",
    "before_turn",
    "decode",
    "message_text",
    "tool",
]

_OLDER = {
    "Answer": "ApprovalAnswer",
    "Outside": "OutsideRequest",
    "Refuse": "Deny",
    "Wish": "AccessRequest",
    "text_of": "message_text",
}
# Where names are defined, so that a program that only reads transcripts loads no agent.
_MODULES = (
    ("zot.errors", ("AgentBusy", "AnswerMismatch", "RuntimeClosed", "ToolError", "ZotError")),
    ("zot.wire.events", ("message_text",)),
    ("zot.wire.python_values", ("PlanDecision",)),
    ("zot.wire.rpc_codec", ("decode",)),
    ("zot.core.permission_gate", ("ApprovalAnswer",)),
    ("zot.core.tool", ("Tool", "ToolContext")),
    ("zot.sdk.approvals", ("AccessRequest", "Approval", "OutsideRequest")),
    ("zot.sdk.interceptors", ("Deny", "ToolRequest", "before_message", "before_tool", "before_turn")),
    ("zot.sdk.options", ("Options",)),
    ("zot.sdk.runtime", ("Runtime",)),
    ("zot.sdk.stream", ("EventStream",)),
    ("zot.sdk.swarm", ("Swarm", "SwarmAgent", "SwarmResult", "WorkerOptions")),
    ("zot.sdk.sync", ("SyncRuntime", "SyncStream")),
    ("zot.sdk.tools", ("tool",)),
)


def __getattr__(name: str) -> Any:
    """Load a name on first use."""
    if name in _OLDER:
        return __getattr__(_OLDER[name])
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = next((module for module, names in _MODULES if name in names), "zot.wire.rpc_frames")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    """The public names, for ``help`` and completion."""
    return list(__all__)
