"""A journal that remembers what it was told, in order."""

from __future__ import annotations

from typing import Any

from zot.core.tool import ToolResult
from zot.provider.messages import Message, ToolCallBlock, Usage


class FakeJournal:
    """``told`` is one list of entries, each a tuple that starts with the method's name; it may be shared with
    a reader of events to see the order between the two."""

    def __init__(self, told: list[tuple[Any, ...]] | None = None) -> None:
        self.told: list[tuple[Any, ...]] = [] if told is None else told

    def names(self) -> list[str]:
        return [entry[0] for entry in self.told]

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [entry[1:] for entry in self.told if entry[0] == name]

    def appended(self, message: Message) -> None:
        self.told.append(("appended", message))

    def used(self, usage: Usage, cumulative: Usage) -> None:
        self.told.append(("used", usage, cumulative))

    def tool_intent(self, call: ToolCallBlock) -> None:
        self.told.append(("tool_intent", call))

    def tool_outcome(self, call_id: str, result: ToolResult) -> None:
        self.told.append(("tool_outcome", call_id, result))

    def compacted(self, keep_tail: int, summary: Message) -> None:
        self.told.append(("compacted", keep_tail, summary))

    def turn_ended(self) -> None:
        self.told.append(("turn_ended",))
