"""Drive ``zot rpc`` from Python. Only the names of this module are public; everything behind it may change.

>>> import asyncio, tempfile
>>> from pathlib import Path
>>> from zot.client import Client, TextDelta
>>> script = Path(tempfile.mkdtemp(), "script.json")  # the scripted model needs no key; name a real one instead
>>> _ = script.write_text('{"turns": [{"text": "Hello."}]}')
>>> async def main():
...     async with Client(provider="script", args=["--script", str(script)]) as zot:
...         async for event in zot.prompt("Say hello."):
...             if isinstance(event, TextDelta):
...                 print(event.delta)
>>> asyncio.run(main())
Hello.

``SyncClient`` is the same without ``async``. Events and data are the structs of the wire, as in ``zot.sdk``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zot.client.client import Client, ClientOptions, PromptStream
    from zot.client.sync import SyncClient
    from zot.errors import AnswerMismatch, ClientError, CommandFailed, ProcessExited, ResponseTimeout, ZotError
    from zot.wire.events import message_text
    from zot.wire.python_values import PlanDecision
    from zot.wire.rpc_codec import decode
    from zot.wire.rpc_frames import (
        ApprovalRequest,
        AssistantMessage,
        AssistantStart,
        ChangedFile,
        Changes,
        CommandInfo,
        CommandRun,
        CompactDone,
        Done,
        ElicitationField,
        ElicitationRequest,
        Error,
        Event,
        ExtClearNotes,
        ExtDisplay,
        ExtNotify,
        ExtPanel,
        ExtPanelClose,
        HelloData,
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

    NoAnswer, ProcessGone, text_of = ResponseTimeout, ProcessExited, message_text

__all__ = [
    "AnswerMismatch",
    "ApprovalRequest",
    "AssistantMessage",
    "AssistantStart",
    "ChangedFile",
    "Changes",
    "Client",
    "ClientError",
    "ClientOptions",
    "CommandFailed",
    "CommandInfo",
    "CommandRun",
    "CompactDone",
    "Done",
    "ElicitationField",
    "ElicitationRequest",
    "Error",
    "Event",
    "ExtClearNotes",
    "ExtDisplay",
    "ExtNotify",
    "ExtPanel",
    "ExtPanelClose",
    "HelloData",
    "JobUpdate",
    "Message",
    "ModelInfo",
    "PlanDecision",
    "PlanRequest",
    "ProcessExited",
    "PromptChanges",
    "PromptStream",
    "QuestionRequest",
    "ResponseTimeout",
    "RetryWait",
    "Rewound",
    "RewoundFile",
    "SessionFault",
    "State",
    "SyncClient",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingEnd",
    "Todo",
    "Todos",
    "ToolCall",
    "ToolProgress",
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
    "ZotError",
    "decode",
    "message_text",
]

_OLDER = {"NoAnswer": "ResponseTimeout", "ProcessGone": "ProcessExited", "text_of": "message_text"}
_MODULES = (
    ("zot.wire.events", ("message_text",)),
    ("zot.wire.python_values", ("PlanDecision",)),
    ("zot.wire.rpc_codec", ("decode",)),
    ("zot.client.client", ("Client", "PromptStream")),
    ("zot.client.client", ("ClientOptions",)),
    ("zot.client.sync", ("SyncClient",)),
    ("zot.errors", ("AnswerMismatch", "ClientError", "CommandFailed", "ProcessExited", "ResponseTimeout", "ZotError")),
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
