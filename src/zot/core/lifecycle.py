"""What extensions may watch besides the event stream: prompts accepted, permissions, tool outcomes, compactions.

Listeners are called at once and in order, between the events of the stream; screens and clients do not hear these.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from zot.core.tool import ToolResult
from zot.provider.messages import ToolCallBlock

Status = Literal["completed", "failed", "blocked", "cancelled", "timed_out"]


class PromptAccepted(msgspec.Struct, frozen=True):
    """Input was taken, before it is appended or queued; not repeated when a queued one is run."""

    text: str
    image_count: int = 0
    queued: bool = False


class ConfirmationRequested(msgspec.Struct, frozen=True):
    """The user is about to be asked."""

    call: ToolCallBlock
    preview: str
    origin: str = ""


class PermissionDecided(msgspec.Struct, frozen=True):
    """``origin`` is the extension that asked for the call, empty for the model's own."""

    call: ToolCallBlock
    decision: Literal["approved", "denied", "cancelled"]
    source: Literal["user", "remembered", "policy", "yolo"]
    reason: str = ""
    origin: str = ""


class ToolEnded(msgspec.Struct, frozen=True):
    """``call`` carries the arguments as they ran; ``executed`` says whether the tool's code was entered."""

    call: ToolCallBlock
    status: Status
    executed: bool
    result: ToolResult
    origin: str = ""


class CompactionStarted(msgspec.Struct, frozen=True):
    id: str
    message_count: int
    token_estimate: int


class CompactionEnded(msgspec.Struct, frozen=True):
    """Every started compaction ends with one of these, whatever happens."""

    started: CompactionStarted
    status: Status
    error: str = ""


LifecycleEvent = (
    PromptAccepted | ConfirmationRequested | PermissionDecided | ToolEnded | CompactionStarted | CompactionEnded
)
