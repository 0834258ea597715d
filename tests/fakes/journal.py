"""A session that only records its calls in order: the agent's first subscriber."""

from __future__ import annotations

from typing import Any

from zot.core import events
from zot.provider.messages import Message


class FakeJournal:
    """``told`` is one list of entries, each a tuple that starts with a word for the event; it may be shared with
    another reader to see the order between the two."""

    def __init__(self, told: list[tuple[Any, ...]] | None = None) -> None:
        self.told: list[tuple[Any, ...]] = [] if told is None else told

    def names(self) -> list[str]:
        return [entry[0] for entry in self.told]

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [entry[1:] for entry in self.told if entry[0] == name]

    def read(self, event: events.AgentEvent) -> None:
        match event:
            case events.MessageAppended(message):
                self.appended(message)
            case events.UsageCounted(usage, cumulative):
                self.told.append(("used", usage, cumulative))
            case events.ToolStarting(call):
                self.told.append(("tool_intent", call))
            case events.ToolReturned(call_id, result):
                self.told.append(("tool_outcome", call_id, result))
            case events.AnswerEnded(how):
                self.told.append(("answer_end", how))
            case events.TranscriptCompacted(keep_tail, summary):
                self.told.append(("compacted", keep_tail, summary))
            case events.Checkpoint():
                self.told.append(("turn_ended",))
            case _:
                raise AssertionError(f"not for the session: {event}")

    def appended(self, message: Message) -> None:
        self.told.append(("appended", message))
