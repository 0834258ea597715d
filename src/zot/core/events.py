"""What the agent says while it works: one ordered stream of small frozen events.

Order within a prompt::

    UserMessage
      TurnStart(step)
        AssistantStart
        (TextDelta | ToolUseStart | ToolUseArgs | ToolUseEnd)*
        UsageEvent
        AssistantMessage            absent when suppressed, empty or dropped on abort
        ToolCall*                   all calls of the message, before any tool runs
      TurnEnd(stop)
      if stop is tool_use: for each call in order: ToolProgress* ToolResultEvent
    [Error]                         not after an abort nor after a refused turn
    Done                            always, exactly once, last

``Notice`` may stand anywhere. A failure before the model answered has no AssistantStart. The tags are the
wire names; ``zot.wire.events`` turns these into the JSON of ``--json`` and ``zot rpc``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.provider.messages import Message, ResultBlock, StopReason, ToolCallBlock, Usage


class UserMessage(msgspec.Struct, frozen=True, tag="user_message"):
    message: Message


class TurnStart(msgspec.Struct, frozen=True, tag="turn_start"):
    step: int


class AssistantStart(msgspec.Struct, frozen=True, tag="assistant_start"):
    pass


class TextDelta(msgspec.Struct, frozen=True, gc=False, tag="text_delta"):
    delta: str


class ToolUseStart(msgspec.Struct, frozen=True, gc=False, tag="tool_use_start"):
    id: str
    name: str


class ToolUseArgs(msgspec.Struct, frozen=True, gc=False, tag="tool_use_args"):
    id: str
    delta: str


class ToolUseEnd(msgspec.Struct, frozen=True, gc=False, tag="tool_use_end"):
    id: str


class UsageEvent(msgspec.Struct, frozen=True, tag="usage"):
    usage: Usage
    cumulative: Usage
    auxiliary: bool = False


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant_message"):
    """The message as the user may see it; the transcript keeps the original."""

    message: Message


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    call: ToolCallBlock


class TurnEnd(msgspec.Struct, frozen=True, tag="turn_end"):
    stop: StopReason
    error: str = ""


class ToolProgress(msgspec.Struct, frozen=True, gc=False, tag="tool_progress"):
    id: str
    text: str


class ToolResultEvent(msgspec.Struct, frozen=True, tag="tool_result"):
    """``details`` is for screens and logs only; it is never sent to a model."""

    id: str
    is_error: bool
    content: tuple[ResultBlock, ...]
    details: dict[str, Any] | None = None


class CompactStart(msgspec.Struct, frozen=True, tag="compact_start"):
    """Compaction begins; ``automatic`` when nobody asked for it."""

    automatic: bool = False


class CompactDone(msgspec.Struct, frozen=True, tag="compact_done"):
    summary: str
    automatic: bool = False


class Notice(msgspec.Struct, frozen=True, tag="notice"):
    """Something the user should know that is no part of the conversation (a retry, a repair)."""

    text: str
    level: Literal["info", "warn", "error"] = "info"


class Error(msgspec.Struct, frozen=True, tag="error", omit_defaults=True):
    """``code`` names the kind of failure for programs (``rate_limited``, ``step_limit``, …)."""

    message: str
    code: str = ""


class Done(msgspec.Struct, frozen=True, tag="done"):
    pass


AgentEvent = (
    UserMessage
    | TurnStart
    | AssistantStart
    | TextDelta
    | ToolUseStart
    | ToolUseArgs
    | ToolUseEnd
    | UsageEvent
    | AssistantMessage
    | ToolCall
    | TurnEnd
    | ToolProgress
    | ToolResultEvent
    | CompactStart
    | CompactDone
    | Notice
    | Error
    | Done
)
