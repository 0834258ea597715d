"""What the agent tells the session as it happens. Calls are plain and quick; when one returns, it is written.

The agent calls ``appended`` for every message it adds to the transcript, before the matching event is emitted,
so that whatever a reader of events has seen is on disk. A message marked ``REPLACES`` takes the place of the one
before it, which stays in the file: one row, so that no kill leaves the first withdrawn and the second unsaid.
"""

from __future__ import annotations

from typing import Protocol

from zot.core.tool import ToolResult
from zot.provider.messages import Message, ToolCallBlock, Usage

REPLACES = "replaces"  # a mark in a message's ``meta``; the message before it is a prompt nobody answered


class Journal(Protocol):
    def appended(self, message: Message) -> None: ...

    def used(self, usage: Usage, cumulative: Usage) -> None: ...

    def tool_intent(self, call: ToolCallBlock) -> None: ...

    def tool_outcome(self, call_id: str, result: ToolResult) -> None: ...

    def compacted(self, keep_tail: int, summary: Message) -> None: ...

    def turn_ended(self) -> None:
        """A point at which everything must be durable (fsync); after a turn with calls, as soon as one runs."""
        ...


class NoJournal:
    """A run without a session."""

    def appended(self, message: Message) -> None: ...

    def used(self, usage: Usage, cumulative: Usage) -> None: ...

    def tool_intent(self, call: ToolCallBlock) -> None: ...

    def tool_outcome(self, call_id: str, result: ToolResult) -> None: ...

    def compacted(self, keep_tail: int, summary: Message) -> None: ...

    def turn_ended(self) -> None: ...
