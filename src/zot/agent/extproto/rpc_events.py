"""Every event of ``--json`` and ``zot rpc`` as a struct of exactly the wire's shape: what programs read.

The SDK hands these out, the clients decode lines into them, and the types of the other languages are generated
from them. ``of`` makes one from an agent's event; encoding it gives the line ``extproto.events`` writes.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.agent.extproto import events
from zot.core.events import (
    AgentEvent,
    AssistantStart,
    Done,
    Error,
    TextDelta,
    ToolProgress,
    ToolUseArgs,
    ToolUseEnd,
    ToolUseStart,
    TurnStart,
)

Stop = Literal["end_turn", "tool_use", "length", "error", "aborted"]


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A block of text."""

    text: str


class Image(msgspec.Struct, frozen=True, tag="image"):
    """An image: its size in bytes, never its data."""

    mime_type: str
    bytes: int


class ToolCallContent(msgspec.Struct, frozen=True, tag="tool_call"):
    """A call inside a message; ``args`` is null when they were empty or no JSON."""

    id: str
    name: str
    args: Any = None


class ToolResultContent(msgspec.Struct, frozen=True, tag="tool_result"):
    """The result of a call, inside a ``tool`` message."""

    call_id: str
    is_error: bool
    content: tuple[Text | Image, ...]


Content = Text | Image | ToolCallContent | ToolResultContent


class Message(msgspec.Struct, frozen=True):
    """One entry of the transcript."""

    role: Literal["user", "assistant", "tool"]
    content: tuple[Content, ...]
    time: str

    def text(self) -> str:
        """The text blocks joined by newlines; empty when there is none."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


class Cost(msgspec.Struct, frozen=True):
    """Tokens and money. ``reasoning`` is null where the provider does not count it."""

    input: int = 0
    output: int = 0
    reasoning: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float = 0.0


class UserMessage(msgspec.Struct, frozen=True, tag="user_message"):
    """The prompt, as it was appended to the transcript."""

    content: tuple[Content, ...]
    time: str


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant_message"):
    """The complete message, as the user may see it."""

    content: tuple[Content, ...]
    time: str

    def text(self) -> str:
        """The text blocks joined by newlines; empty when there is none."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """The model wants a tool to run; one per call, before any of them runs."""

    id: str
    name: str
    args: Any = None


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result"):
    """A tool finished, or was refused."""

    id: str
    is_error: bool
    content: tuple[Text | Image, ...]


class _Usage(msgspec.Struct, frozen=True, tag="usage"):
    input: int
    output: int
    reasoning: int | None
    cache_read: int
    cache_write: int
    cost_usd: float
    cumulative: Cost


class Usage(_Usage, frozen=True, omit_defaults=True, tag="usage"):
    """What one model call took; ``auxiliary`` marks inference made by a tool."""

    auxiliary: bool = False


class TurnEnd(msgspec.Struct, frozen=True, omit_defaults=True, tag="turn_end"):
    """One model call finished."""

    stop: Stop
    error: str = ""


class CompactDone(msgspec.Struct, frozen=True, tag="compact_done"):
    """A compact succeeded: its last event, in place of ``done``."""

    summary: str


class ExtNotify(msgspec.Struct, frozen=True, tag="ext_notify"):
    """A note from an extension."""

    extension: str
    level: str
    message: str


class ExtDisplay(msgspec.Struct, frozen=True, tag="ext_display"):
    """What an extension's command wants shown."""

    extension: str
    text: str


class ExtClearNotes(msgspec.Struct, frozen=True, tag="ext_clear_notes"):
    """The notes of an extension are to disappear."""

    extension: str


class ExtPanel(msgspec.Struct, frozen=True, tag="ext_panel"):
    """An extension opened or redrew a panel (capability ``panels``)."""

    extension: str
    panel_id: str
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""


class ExtPanelClose(msgspec.Struct, frozen=True, tag="ext_panel_close"):
    """An extension closed its panel."""

    extension: str
    panel_id: str


class ApprovalRequest(msgspec.Struct, frozen=True, tag="approval_request"):
    """A tool call waits for a yes (capability ``approvals``); ``args`` are those that will run."""

    request_id: str
    tool_id: str
    name: str
    args: Any = None
    preview: str = ""


class Unknown(msgspec.Struct, frozen=True):
    """An event this version does not know, as it came; to be passed over."""

    type: str
    raw: dict[str, Any]


KnownEvent = (
    UserMessage
    | TurnStart
    | AssistantStart
    | TextDelta
    | ToolUseStart
    | ToolUseArgs
    | ToolUseEnd
    | Usage
    | AssistantMessage
    | ToolCall
    | TurnEnd
    | ToolProgress
    | ToolResult
    | Error
    | Done
    | CompactDone
    | ExtNotify
    | ExtDisplay
    | ExtClearNotes
    | ExtPanel
    | ExtPanelClose
    | ApprovalRequest
)
Event = KnownEvent | Unknown

# Agent events whose fields are the wire's own: handed on as they are, the hot path of a streaming answer.
_SAME = (TextDelta, ToolUseArgs, ToolProgress, TurnStart, AssistantStart, ToolUseStart, ToolUseEnd, Error, Done)

_decode = msgspec.json.Decoder(KnownEvent).decode


def of(event: AgentEvent) -> KnownEvent | None:
    """The event as programs see it, or None for those that are not part of the wire."""
    if isinstance(event, _SAME):
        return event
    line = events.encode(event)  # the one encoder decides what an event looks like outside
    return None if line is None else _decode(line)


def decode(line: bytes | str) -> Event:
    """One line of a stream; an unknown type or shape is an Unknown, no JSON object a msgspec.DecodeError."""
    try:
        return _decode(line)
    except msgspec.ValidationError:
        raw = msgspec.json.decode(line, type=dict[str, Any])
        return Unknown(str(raw.get("type", "")), raw)
