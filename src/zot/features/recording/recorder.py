"""``--record FILE``: a journal of a run's inputs and the agent's actions, in order.
See ``docs/reference/recordings.md``. Known keys are removed; other secrets in texts may remain. A request repeats only
changes."""

from __future__ import annotations

from contextvars import ContextVar
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from zot.core.events import AgentEvent, CompactStart, ConfirmationRequested, Error, PermissionDecided, TurnStart
from zot.core.permission_gate import Answer, ApprovalQuestion, PermissionGate
from zot.core.permission_modes import CallClass, Rule
from zot.core.tool import ToolResult
from zot.features.recording.frame_trace import Direction, FrameLog
from zot.provider.messages import ToolCallBlock
from zot.provider.model_call import Request, StreamEvent
from zot.system.checksummed_lines import RECORDING_FORMAT

if TYPE_CHECKING:
    from zot.features.recording.recording_boundary import RecordingBoundary

FORMAT = RECORDING_FORMAT
# While an own interceptor runs: its verdict is recorded, not its actions.
INSIDE: ContextVar[bool] = ContextVar("an interceptor is being asked", default=False)


class Sink(Protocol):
    """Receives lines: a file, or a comparison with another run."""

    def put(self, type: str, fields: dict[str, Any]) -> None: ...

    def flush_soon(self) -> None: ...

    def now(self) -> float: ...

    def close(self) -> None: ...


class Recorder:
    """All methods are fast and never raise."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self._put = sink.put
        self._frames = FrameLog()
        self._requests = 0
        self._agents = 0
        self._before: dict[int, Request] = {}

    def number(self) -> int:
        """Number of the next agent: 1 is the conversation, then side chats."""
        self._agents += 1
        return self._agents

    def put(self, type: str, **fields: Any) -> None:
        self._put(type, fields)

    def close(self) -> None:
        self.put("end")
        self.sink.close()

    # --- the model

    def request(self, agent: RecordingBoundary, request: Request) -> int:
        """A model call begins; its number identifies streamed output."""
        self._requests += 1
        before = self._before.get(agent.number)
        self._before[agent.number] = request
        if before is None:
            shared = 0
        else:
            earlier, later = before.messages, request.messages
            if later[: len(earlier)] == earlier:
                shared = len(earlier)
            else:
                shorter = min(len(earlier), len(later))
                shared = next(
                    (n for n in range(shorter) if earlier[n] is not later[n] and earlier[n] != later[n]), shorter
                )
        fields: dict[str, Any] = {"n": self._requests, "shared": shared, "messages": request.messages[shared:]}
        old, new = None if before is None else _beside_messages(before), _beside_messages(request)
        if old is None:
            fields |= zip(_BESIDE_MESSAGES, new, strict=True)
        elif old != new:
            fields |= ((name, now) for name, was, now in zip(_BESIDE_MESSAGES, old, new, strict=True) if was != now)
        agent.record_changes()
        self._of(agent, "request", fields)
        self.sink.flush_soon()
        return self._requests

    def streamed(self, agent: RecordingBoundary, n: int, event: StreamEvent) -> None:
        fields: dict[str, Any] = {"n": n, "kind": type(event).__name__, "value": event}
        if agent.number > 1:
            fields["agent"] = agent.number
        self._put("stream", fields)

    def refused(self, agent: RecordingBoundary, n: int, error: Exception) -> None:
        """The call failed before an answer."""
        self.of(agent, "refusal", n=n, error=error)

    # --- the agent

    def of(self, agent: RecordingBoundary, type: str, **fields: Any) -> None:
        """A line about one agent, after its pending state changes."""
        agent.record_changes()
        self._of(agent, type, fields)

    def _of(self, agent: RecordingBoundary, type: str, fields: dict[str, Any]) -> None:
        if agent.number > 1:
            fields["agent"] = agent.number
        self._put(type, fields)

    def event(self, agent: RecordingBoundary, event: AgentEvent) -> None:
        if type(event) in _DECIDED_BEFORE:
            agent.record_changes()
        fields: dict[str, Any] = {"event": event}
        if agent.number > 1:
            fields["agent"] = agent.number
        self._put("event", fields)

    def external_event(self, agent: RecordingBoundary, event: AgentEvent) -> None:
        """An event that is not the agent's: a diagnostic, another session."""
        self.of(agent, "told", event=event)

    def input(self, agent: RecordingBoundary, what: str, **fields: Any) -> None:
        """A request from outside to the agent."""
        self.of(agent, "input", what=what, **fields)

    # --- tools

    def tool(self, agent: RecordingBoundary, call: ToolCallBlock, origin: str) -> None:
        named = {"origin": origin} if origin else {}
        self._of(agent, "tool", {"id": call.id, "name": call.name, "arguments": call.arguments, **named})

    def progress(self, agent: RecordingBoundary, id: str, text: str) -> None:
        self._of(agent, "progress", {"id": id, "text": text})

    def result(self, agent: RecordingBoundary, id: str, result: ToolResult) -> None:
        self._of(agent, "result", {"id": id, "result": result})

    def failed(self, agent: RecordingBoundary, id: str, error: BaseException | None) -> None:
        """The tool raised; None when it was cancelled."""
        self._of(agent, "result", {"id": id, **({"cancelled": True} if error is None else {"error": error})})

    # --- permission

    def watch(self, gate: PermissionGate, agent: RecordingBoundary) -> None:
        """Inputs of the gate: calls, saved rules and answers."""
        nature, kept = gate.nature, gate.kept

        def natures(call: ToolCallBlock) -> CallClass:
            found = nature(call)
            if not INSIDE.get():
                agent.record_changes()
                self.put("nature", id=call.id, name=call.name, nature=found)
            return found

        def rules() -> list[Rule]:
            found = list(kept())
            if found and not INSIDE.get():
                self.put("kept", rules=found)
            return found

        def answered(question: ApprovalQuestion, answer: Answer) -> None:
            self.put("answer", id=question.call.id, answer=answer)

        gate.nature, gate.kept, gate.on_answer = natures, rules, answered

    # --- extensions

    def frame(self, extension: str, direction: Direction, line: bytes) -> None:
        """An extension frame; a ``FrameTap``."""
        traced = self._frames.frame(self.sink.now(), extension, direction, line)
        fields = {name: value for name in _FRAME if (value := getattr(traced, name)) not in (None, "", ())}
        self.sink.put("frame", fields)

    def gone(self, extension: str, reason: str) -> None:
        """The process can no longer be reached; ``reason`` is empty after a normal exit."""
        self.put("gone", extension=extension, reason=reason)

    def exited(self, extension: str, code: int | None) -> None:
        self.put("exit", extension=extension, code=code)


# Before these, the agent reads state that others may change: limits, model, gate mode.
_DECIDED_BEFORE = frozenset({TurnStart, ConfirmationRequested, PermissionDecided, CompactStart, Error})
_BESIDE_MESSAGES = tuple(name for name in Request.__struct_fields__ if name not in ("messages", "edit_payload"))
_beside_messages = attrgetter(*_BESIDE_MESSAGES)
_FRAME = ("extension", "direction", "frame", "text", "latency", "pending")
