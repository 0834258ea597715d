"""The part of a running turn that is not in the transcript yet, for front ends that join in the middle of it."""

from __future__ import annotations

from collections.abc import Sequence

from zot.core import events

# After these the transcript has everything before them.
_WHOLE = (
    events.UserMessage,
    events.AssistantMessage,
    events.ToolResultEvent,
    events.Done,
    events.CompactDone,
    events.SessionStarted,
)
_OPEN = (
    *(events.AssistantStart, events.TextDelta, events.ThinkingDelta, events.ThinkingEnd),
    *(events.ToolUseStart, events.ToolCall, events.ToolProgress),
)


class PartialTurn:
    """``on_event`` gets the events of these ``kinds``."""

    kinds: tuple[type[events.AgentEvent], ...] = (*_WHOLE, *_OPEN)

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._joins: type[events.TextDelta] | type[events.ThinkingDelta] | None = None
        self._events: list[events.AgentEvent] = []
        self._calls: dict[str, events.AgentEvent] = {}

    def on_event(self, event: events.AgentEvent) -> None:
        if isinstance(event, events.TextDelta | events.ThinkingDelta):
            if self._joins is not type(event):
                self._seal()
                self._joins = type(event)
            self._texts.append(event.delta)
        elif isinstance(event, _WHOLE):
            self._clear(event)
        else:
            self._seal()
            if isinstance(event, events.ToolCall):
                self._calls[event.call.id] = event
            elif not isinstance(event, events.ToolProgress):
                self._events.append(event)

    def events(self) -> Sequence[events.AgentEvent]:
        """What a front end that shows the transcript must still be given."""
        self._seal()
        return [*self._events, *self._calls.values()]

    def _seal(self) -> None:
        if self._joins is not None:
            self._events.append(self._joins("".join(self._texts)))
            self._texts, self._joins = [], None

    def _clear(self, event: events.AgentEvent) -> None:
        self._texts, self._joins, self._events = [], None, []
        if isinstance(event, events.ToolResultEvent):
            self._calls.pop(event.id, None)
        elif not isinstance(event, events.AssistantMessage):
            self._calls.clear()
