"""Events of the second edition. The agent's events are read only while an extension observes something made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zot.core import events
from zot.core.events import OF_EXTENSION, AgentEvent
from zot.features.extensions.gathered_text import GatheredText

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.event_fanout import EventFanout
    from zot.features.extensions.host import ExtensionHost
    from zot.provider.messages import ToolCallBlock, Usage

Data = dict[str, Any]

_MOST_PATHS = 200
STATUSES = {"end": "completed", "length": "completed", "error": "failed", "aborted": "cancelled"}

# The agent's events that each event is made of. Those of ``message_delta`` and ``tool_update`` are gathered.
_SOURCES: dict[str, tuple[type[AgentEvent], ...]] = {
    "prompt_start": (events.PromptStarted,),
    "prompt_end": (events.PromptStarted, events.PromptEnded),
    "idle": (events.Idle,),
    "message_end": (events.MessageAppended,),
    "message_delta": (events.PromptStarted, events.TurnStart, events.TextDelta, events.ThinkingDelta),
    "tool_start": (events.ToolRunning,),
    "tool_update": (events.ToolRunning, events.ToolProgress),
    "model_changed": (events.ModelSelected,),
    "tools_changed": (events.ToolsChanged,),
    "usage": (events.TurnStart, events.UsageEvent),
    "session_info": (events.SessionRenamed,),
    "files_changed": (events.ToolEnded,),
    "queue_changed": (events.QueueChanged,),
}


class LateEvents:
    def __init__(self, host: ExtensionHost, conversation: Conversation, fanout: EventFanout) -> None:
        self._host = host
        self._conversation = conversation
        self._fanout = fanout
        self._wanted: frozenset[str] = frozenset()
        self._leave: Callable[[], None] | None = None
        self._listens_to_dialogs = False
        self._prompt_id = ""
        self._step = 0
        self._tools: dict[str, str] = {}  # names by id of the calls that run
        self._texts: dict[tuple[str, str], dict[ExtensionChild, GatheredText]] = {}  # by event and call

    def refresh(self) -> None:
        """Extensions subscribed, or ended."""
        children = [child for child in self._host.children if child.alive and child.edition2]
        wanted = frozenset(name for child in children for name in child.events)
        for gathered in self._texts.values():
            for child in [child for child in gathered if child not in children]:
                gathered.pop(child).close()
        if wanted == self._wanted:
            return
        self._wanted = wanted
        if self._leave is not None:
            self._leave()
            self._leave = None
        kinds = {kind for name in wanted for kind in _SOURCES.get(name, ())}
        if kinds:
            self._leave = self._conversation.agent.readers.subscribe(self.observe, *kinds)
        if "dialog" in wanted and not self._listens_to_dialogs:
            self._follow_dialogs()

    def observe(self, event: AgentEvent) -> None:
        _TRANSLATIONS[type(event)](self, event)

    def send(self, name: str, data: Callable[[], Data] | Data, tool: str = "") -> None:
        """One event, encoded only if an extension observes it."""
        if name in self._wanted:
            self._fanout.send_late(name, data if callable(data) else lambda: data, tool)

    def flush(self) -> None:
        """What was gathered goes before the next event."""
        for gathered in self._texts.values():
            for text in gathered.values():
                text.flush()
        self._texts.clear()

    # --- text

    def _gathered(self, event: str, tool: str) -> Iterable[ExtensionChild]:
        return [
            child
            for child in self._host.children
            if event in child.events and child.alive and child.edition2 and child.wants_tool(event, tool)
        ]

    def _text_of(self, child: ExtensionChild, event: str, call: str) -> GatheredText:
        known = self._texts.setdefault((event, call), {})
        if child not in known:
            known[child] = GatheredText(child, event, lambda child, data: self._send_gathered(child, event, call, data))
        return known[child]

    def _send_gathered(self, child: ExtensionChild, event: str, call: str, data: Data) -> None:
        if event == "message_delta":
            data = {"prompt_id": self._prompt_id, "step": self._step, **data}
        else:
            data = {"tool_id": call, "tool_name": self._tools.get(call, ""), **data}
        self._fanout.send_late(event, lambda: data, only=child)

    # --- the agent's events

    def prompt_started(self, event: events.PromptStarted) -> None:
        self._prompt_id, self._step = event.prompt_id, 0
        self.send(
            "prompt_start",
            lambda: {
                "prompt_id": event.prompt_id,
                "text": event.text,
                "image_count": event.image_count,
                "source": event.source or self._host.interceptor.late.source(),
            },
        )

    def prompt_ended(self, event: events.PromptEnded) -> None:
        self.flush()
        status = STATUSES.get(event.status, event.status)
        data = {"prompt_id": event.prompt_id, "status": status, "steps": event.steps, "usage": _usage(event.usage)}
        self.send("prompt_end", data)

    def message_appended(self, event: events.MessageAppended) -> None:
        message = event.message

        def data() -> Data:
            id = self._host.entry_ids.of(message, self._conversation.session)
            by = {"extension": name} if (name := message.meta.get(OF_EXTENSION)) else {}
            return {"entry_id": id, "role": message.role, "chars": len(message.text()), **by}

        self.send("message_end", data)

    def turn_started(self, event: events.TurnStart) -> None:
        self._step = event.step

    def thought(self, event: events.ThinkingDelta) -> None:
        if event.delta:
            for child in self._gathered("message_delta", ""):
                if child.options.get("message_delta", {}).get("thinking") is True:
                    self._text_of(child, "message_delta", "").add("thinking", event.delta)

    def text_arrived(self, event: events.TextDelta) -> None:
        for child in self._gathered("message_delta", ""):
            self._text_of(child, "message_delta", "").add("text", event.delta)

    def tool_started(self, event: events.ToolRunning) -> None:
        call = event.call
        self._tools[call.id] = call.name
        self.send("tool_start", lambda: {**_call(call, event.origin), "args": call.value}, call.name)

    def tool_progressed(self, event: events.ToolProgress) -> None:
        name = self._tools.get(event.id, "")
        for child in self._gathered("tool_update", name):
            gathered = self._text_of(child, "tool_update", event.id)
            if event.text:
                gathered.add("text", event.text, replace=event.replace)
            if event.fraction is not None:
                gathered.note(fraction=event.fraction)
            if event.data is not None:
                gathered.note(data=event.data)

    def tool_ended(self, event: events.ToolEnded) -> None:
        self._tools.pop(event.call.id, None)
        if paths := _changed(event, self._conversation.workspace.cwd):
            self.send("files_changed", {"paths": paths[:_MOST_PATHS], "tool_id": event.call.id})

    def usage_counted(self, event: events.UsageEvent) -> None:
        conversation = self._conversation

        def data() -> Data:
            context = {
                "context_tokens": conversation.context_tokens,
                "context_window": conversation.model.context_window,
            }
            return {"step": self._step, **_usage(event.usage), **context}

        self.send("usage", data)

    def model_selected(self, event: events.ModelSelected) -> None:
        data = {name: getattr(event, name) for name in ("provider", "model", "reasoning", "previous", "source")}
        self.send("model_changed", {**data, **({"extension": event.extension} if event.extension else {})})

    def session_renamed(self, event: events.SessionRenamed) -> None:
        more = {name: value for name in ("name", "entry_id", "label") if (value := getattr(event, name))}
        self.send("session_info", {"session_id": event.session_id, **more})

    def mode_changed(self) -> None:
        """The permission mode or the jail changed."""
        gate, jail = self._conversation.gate, self._conversation.workspace.jail
        mode = gate.mode if gate is not None else "everything"
        self.send("mode_changed", {"permission_mode": mode, "jail": jail is not None})

    # --- dialogs

    def _follow_dialogs(self) -> None:
        from zot.features.questions import Question, question_queue

        self._listens_to_dialogs = True

        def changed(question: Question[Any], state: str) -> None:
            owner = question.source if question.kind == "dialog" else "zot"
            kind = getattr(getattr(question, "params", None), "kind", "") or question.kind
            self.send("dialog", {"state": state, "owner": owner, "kind": kind})

        queue = question_queue(self._conversation.services)
        queue.listen(lambda question: changed(question, "open"), lambda question: changed(question, "closed"))


def _call(call: ToolCallBlock, origin: str) -> Data:
    return {"tool_id": call.id, "tool_name": call.name, **({"origin_extension": origin} if origin else {})}


def _usage(usage: Usage) -> Data:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cost_usd")
    return {name: getattr(usage, name) for name in names}


def _changed(event: events.ToolEnded, cwd: Path) -> Sequence[str]:
    """Files that zot's tools changed, relative to the project; what a shell command changed is not known."""
    if event.result.is_error or event.call.name not in ("write", "edit"):
        return ()
    path = (event.result.details or {}).get("path")
    if not isinstance(path, str):
        return ()
    try:
        return (str(Path(path).relative_to(cwd)),)
    except ValueError:
        return (path,)


_TRANSLATIONS: dict[type[AgentEvent], Callable[[LateEvents, Any], None]] = {
    events.PromptStarted: LateEvents.prompt_started,
    events.PromptEnded: LateEvents.prompt_ended,
    events.Idle: lambda late, event: late.send("idle", {}),
    events.MessageAppended: LateEvents.message_appended,
    events.TurnStart: LateEvents.turn_started,
    events.TextDelta: LateEvents.text_arrived,
    events.ThinkingDelta: LateEvents.thought,
    events.ToolRunning: LateEvents.tool_started,
    events.ToolProgress: LateEvents.tool_progressed,
    events.ToolEnded: LateEvents.tool_ended,
    events.UsageEvent: LateEvents.usage_counted,
    events.ModelSelected: LateEvents.model_selected,
    events.ToolsChanged: lambda late, event: late.send("tools_changed", {"active": list(event.active)}),
    events.SessionRenamed: LateEvents.session_renamed,
    events.QueueChanged: lambda late, event: late.send(
        "queue_changed", {"steering": event.steering, "queued": event.queued}
    ),
}
