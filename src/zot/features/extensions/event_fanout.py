"""Sends agent events to subscribed extensions; each event is encoded once. Queuing never waits and preserves order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from zot.core import events
from zot.core.tool import ATTACHED
from zot.features.extensions.child import ExtensionChild
from zot.features.extensions.tools import wire_blocks
from zot.provider.messages import TextBlock, ToolCallBlock
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import Event, ResultView

if TYPE_CHECKING:
    from zot.agent.snapshot import ConversationSnapshot

_Fields = dict[str, Any]


class EventFanout:
    def __init__(self, children: Iterable[ExtensionChild], present: Callable[[], ConversationSnapshot]) -> None:
        self._children = children
        self._present = present
        self._sequence = 0

        self.before: Callable[[], None] | None = None  # sends what is gathered, before the next event

    def observe(self, event: events.AgentEvent) -> None:
        """Subscriber of the agent's events in ``OBSERVED``."""
        kind = type(event)
        translate = _TRANSLATIONS.get(kind)
        if translate is None:
            return
        if self.before is not None and kind in _AFTER_TEXT:
            self.before()
        name, fields = translate
        self._sequence += 1
        tool = event.call.name if isinstance(event, events.ToolCall | events.ToolEnded) else ""
        listening = self._listening(name, tool)
        late = [child for child in listening if child.edition2] if kind in _DATA else []
        self._send(name, [child for child in listening if child not in late], lambda: fields(event))
        self._send(name, late, lambda: {**fields(event), "data": self._data(event)})

    def send_late(
        self, name: str, data: Callable[[], _Fields], tool: str = "", only: ExtensionChild | None = None
    ) -> None:
        """An event of the second edition, ``only`` to one child or to all that observe it."""
        self._sequence += 1
        listening = [child for child in self._listening(name, tool) if only is None or child is only]
        self._send(name, listening, lambda: {"data": data()})

    def _listening(self, name: str, tool: str) -> list[ExtensionChild]:
        return [
            child for child in self._children if name in child.events and child.alive and child.wants_tool(name, tool)
        ]

    def _send(self, name: str, listening: Sequence[ExtensionChild], fields: Callable[[], _Fields]) -> None:
        if not listening:
            return
        present = self._present()
        common: _Fields = {"session_id": present.session_id, "cwd": present.directory, "sequence": self._sequence}
        line = encode(Event(event=name, **{**common, **fields()}))
        for child in listening:
            child.send_line(line)

    def _data(self, event: events.AgentEvent) -> _Fields:
        """What children of the second edition read beside the keys of the first."""
        match event:
            case events.SessionStarted(session_id, reason, previous, name):
                more = {"previous_session_id": previous, "name": name}
                return {"reason": reason, "session_id": session_id, **{key: v for key, v in more.items() if v}}
            case events.SessionEnded(session_id, _, action):
                return {"reason": action, "session_id": session_id}
            case events.ToolEnded(result=result, seconds=seconds):
                attached = (result.details or {}).get(ATTACHED)
                details = cast("_Fields", attached).get("details") if isinstance(attached, dict) else None
                return {"duration_ms": round(seconds * 1000), **({} if details is None else {"details": details})}
            case _:
                return {}


def _turn_end(event: events.TurnEnd) -> _Fields:
    return {"stop": "end_turn" if event.stop == "end" else event.stop, "error": event.error}


def _assistant_message(event: events.AssistantMessage) -> _Fields:
    return {"text": "".join(block.text for block in event.message.content if isinstance(block, TextBlock))}


def _call(call: ToolCallBlock, origin: str = "") -> _Fields:
    return {"tool_id": call.id, "tool_name": call.name, "origin_extension": origin}


def _tool_call(event: events.ToolCall) -> _Fields:
    return {**_call(event.call), "tool_args": event.call.value}


def _tool_result(event: events.ToolEnded) -> _Fields:
    content, cut = wire_blocks(event.result.content)
    args: Any = event.call.value if event.call.arguments.strip() else {}
    return {
        **_call(event.call, event.origin),
        "tool_args": args,
        "tool_args_raw": event.call.arguments if args is None else "",
        "status": event.status,
        "executed": event.executed,
        "result": ResultView(content=content, is_error=event.result.is_error, truncated=cut),
    }


def _prompt(event: events.PromptAccepted) -> _Fields:
    return {"text": event.text, "queued": event.queued, "image_count": event.image_count}


def _confirmation(event: events.ConfirmationRequested) -> _Fields:
    return {**_call(event.call, event.origin), "tool_preview": event.preview}


def _permission(event: events.PermissionDecided) -> _Fields:
    decided = {"decision": event.decision, "source": event.source, "stage": "pre_execution", "reason": event.reason}
    if event.by and event.by != "mode everything":
        decided["by"] = event.by
    return {**_call(event.call, event.origin), **decided}


def _compaction(event: events.CompactionStarted) -> _Fields:
    return {
        "compaction_id": event.id,
        "message_count": event.message_count,
        "token_estimate": event.token_estimate,
    }


def _compacted(event: events.CompactionEnded) -> _Fields:
    return {**_compaction(event.started), "status": event.status, "error": event.error}


def _session_end(event: events.SessionEnded) -> _Fields:
    return {"reason": event.reason, "session_id": event.session_id}


_TRANSLATIONS: dict[type[Any], tuple[str, Callable[[Any], _Fields]]] = {
    events.TurnStart: ("turn_start", lambda event: {"step": event.step}),
    events.AssistantMessage: ("assistant_message", _assistant_message),
    events.ToolCall: ("tool_call", _tool_call),
    events.TurnEnd: ("turn_end", _turn_end),
    events.PromptAccepted: ("user_prompt_submit", _prompt),
    events.ToolEnded: ("tool_result", _tool_result),
    events.ConfirmationRequested: ("tool_confirmation_requested", _confirmation),
    events.PermissionDecided: ("permission_decision", _permission),
    events.CompactionStarted: ("pre_compact", _compaction),
    events.CompactionEnded: ("post_compact", _compacted),
    events.SessionStarted: ("session_start", lambda event: {}),
    events.SessionEnded: ("session_end", _session_end),
}

_DATA = frozenset((events.SessionStarted, events.SessionEnded, events.ToolEnded))
_AFTER_TEXT = frozenset((events.AssistantMessage, events.ToolEnded, events.TurnEnd))

OBSERVED: tuple[type[events.AgentEvent], ...] = tuple(_TRANSLATIONS)
