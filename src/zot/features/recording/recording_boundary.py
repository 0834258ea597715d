"""Records one agent: inputs on arrival, model calls and tools, and state changes before the next event."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Iterable
from contextlib import aclosing
from operator import attrgetter
from typing import Any

import msgspec

from zot.agent.system_prompt import SystemPrompt
from zot.core.events import (
    SHOWN,
    AgentEvent,
    AssistantStart,
    ConfirmationRequested,
    PermissionDecided,
    PromptAccepted,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolUseArgs,
    ToolUseEnd,
    ToolUseStart,
)
from zot.core.interceptors import (
    CompactionPlan,
    CompactionVerdict,
    Interceptor,
    InterceptorFailed,
    PromptVerdict,
    RunStart,
    RunVerdict,
    TextVerdict,
    ToolVerdict,
    TurnVerdict,
)
from zot.core.permission_gate import PermissionGate
from zot.core.state import AgentState, Boundary
from zot.core.tool import Tool, ToolContext, ToolResult
from zot.features.recording.recorder import INSIDE, Recorder
from zot.provider.messages import ToolCallBlock
from zot.provider.model_call import Request, StreamEvent

# Already recorded as streamed output and tool lines.
_NOT_RECORDED = (AssistantStart, TextDelta, ThinkingDelta, ToolUseStart, ToolUseArgs, ToolUseEnd, ToolProgress)
_RECORDED = (
    *(kind for kind in SHOWN if kind not in _NOT_RECORDED),
    *(PromptAccepted, ConfirmationRequested, PermissionDecided),
)
_OWN = (
    *("model", "reasoning", "temperature", "session_id", "compact_at", "max_cost_usd", "max_steps", "goes_on"),
    *("server_tools", "output_schema"),
)
_own = attrgetter(*_OWN)
CHANGEABLE = (*_OWN, "mode", "asks", "jail", "brief")
_WORK = ("prompt", "proceed", "go_on", "compact")


class RecordingBoundary(Boundary):
    """``number`` is 1 for the conversation itself; side chats follow."""

    agent: AgentState

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.number = recorder.number()
        self._emitting: AgentEvent | None = None
        self._cancel_recorded = False
        self._state: tuple[Any, ...] = ()
        self._tools: list[dict[str, Any]] | None = None

    def attach(self, agent: AgentState) -> None:
        self.agent = agent
        agent.readers.subscribe(self._on_event, *_RECORDED, first=True)

    def for_child(self) -> Boundary:
        return RecordingBoundary(self.recorder)

    def wrap_interceptor(self, interceptor: Interceptor, place: int) -> Interceptor:
        """Records its verdicts; those of extensions follow from their frames."""
        return RecordingInterceptor(interceptor, place, self)

    # --- state

    @property
    def mode(self) -> str:
        return self.agent.gate.mode if self.agent.gate is not None else ""

    def begin(self) -> dict[str, Any]:
        """The current state; later only changes are recorded."""
        self._state = self._read_state()
        self._tools = own_specs(self.agent.tools)
        return dict(zip(CHANGEABLE, self._state, strict=True))

    def record_changes(self) -> None:
        now = self._read_state()
        if now != self._state and self._state:
            changed = {name: new for name, old, new in zip(CHANGEABLE, self._state, now, strict=True) if old != new}
            self._state = now  # first, since recording also checks for changes
            self.recorder.of(self, "state", **changed)

    def _read_state(self) -> tuple[Any, ...]:
        gate, system = self.agent.gate, self.agent.system
        prompt = system.told if isinstance(system, SystemPrompt) else ("", "")
        asks = isinstance(gate, PermissionGate) and (gate.confirmer is not None or gate.stand_in is not None)
        return (*_own(self.agent), self.mode, asks, *prompt)

    # --- events and inputs

    def _on_event(self, event: AgentEvent) -> None:
        if event is not self._emitting:
            self.recorder.event(self, event)

    def emit(self, agent: AgentState, event: AgentEvent) -> None:
        self.recorder.external_event(self, event)
        before, self._emitting = self._emitting, event
        try:
            super().emit(agent, event)
        finally:
            self._emitting = before

    def on_input(self, what: str, /, **fields: Any) -> None:
        match what:
            case "command":
                self.recorder.of(self, "command", **fields)
                return
            case "abort":
                self._record_cancel()
                return
            case "tools":  # those of extension processes follow from their frames
                own = own_specs(fields["tools"])
                if self._tools is None or own == self._tools:
                    return
                self._tools = fields["tools"] = own
            case "child":
                fields = fields["agent"].boundary.describe()
            case "model":
                self._state = (fields["model"], *self._state[1:])
            case "prompt":
                fields = {name: value for name, value in fields.items() if value or name == "text"}
            case _:
                pass
        if what in _WORK:
            self._cancel_recorded = False
        self.recorder.input(self, what, **{name: value for name, value in fields.items() if value != ()})

    def describe(self) -> dict[str, Any]:
        """This side chat's number in its parent's recording."""
        agent, names = self.agent, [tool.name for tool in self.agent.tools]
        system = agent.system(agent.specs)
        self.begin()
        return {"number": self.number, "system": system, "tools": names, "messages": agent.messages or None}

    def _record_cancel(self, **fields: Any) -> None:
        """Once per run: an abort, or with ``outside`` an unannounced cancellation."""
        if not self._cancel_recorded:
            self._cancel_recorded = True
            self.recorder.input(self, "abort", **fields)

    # --- the outside

    async def call(self, agent: AgentState, request: Request) -> AsyncGenerator[StreamEvent]:
        n = self.recorder.request(self, request)
        try:
            async with aclosing(super().call(agent, request)) as events:
                async for event in events:
                    self.recorder.streamed(self, n, event)
                    yield event
        except asyncio.CancelledError:
            self._record_cancel(outside=True)
            raise
        except Exception as error:
            self.recorder.refused(self, n, error)
            raise

    async def perform(self, tool: Tool, args: dict[str, Any], context: ToolContext) -> ToolResult:
        id, over = context.call_id, False

        def progress(text: str) -> None:
            if not over:
                self.recorder.progress(self, id, text)
            context.progress(text)

        self.recorder.tool(self, context.call, context.origin)
        try:
            result = await super().perform(tool, args, msgspec.structs.replace(context, progress=progress))
        except asyncio.CancelledError:
            over = True
            if not context.origin:  # a nested call of an extension may end alone; the run continues
                self._record_cancel(outside=True)
            self.recorder.failed(self, id, None)
            raise
        except Exception as error:
            over = True
            self.recorder.failed(self, id, error)
            raise
        over = True
        self.recorder.result(self, id, result)
        return result

    async def take_over(self, agent: AgentState, error: Exception) -> bool:
        if agent.fallback is None:
            return False
        taken = await super().take_over(agent, error)
        self.recorder.of(self, "fallback", taken=taken)
        return taken


def own_specs(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Descriptions of tools that do not belong to an extension."""
    module = sys.modules.get("zot.features.extensions.tools")  # not loaded: no extensions
    kind: Any = module.ExtensionTool if module is not None else ()
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "schema": tool.schema,
            "read_only": tool.read_only,
            "deferred": bool(getattr(tool, "deferred", False)),
        }
        for tool in tools
        if not isinstance(tool, kind)
    ]


# --- interceptors of a front end


class RecordingInterceptor(Interceptor):
    """Records only verdicts other than a plain approval."""

    def __init__(self, interceptor: Interceptor, place: int, boundary: RecordingBoundary) -> None:
        self.inner = interceptor
        self._place = place
        self._boundary = boundary

    @property
    def watches_text(self) -> bool:
        return self.inner.watches_text

    async def before_turn(self, step: int) -> TurnVerdict:
        return await self._recorded_verdict("turn", self.inner.before_turn(step), TurnVerdict())

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return await self._recorded_verdict("tool", self.inner.before_tool(call, origin), ToolVerdict())

    async def before_tool_again(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return await self._recorded_verdict("tool", self.inner.before_tool_again(call, origin), ToolVerdict())

    async def before_message(self, text: str) -> TextVerdict:
        return await self._recorded_verdict("message", self.inner.before_message(text), TextVerdict())

    async def after_tool(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> str:
        return await self._recorded_verdict("result", self.inner.after_tool(call, result, origin), "")

    async def replace_result(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> ToolResult | None:
        return await self._recorded_verdict("replacement", self.inner.replace_result(call, result, origin), None)

    async def before_stop(self, text: str) -> str:
        return await self._recorded_verdict("stop", self.inner.before_stop(text), "")

    async def before_steering(self, text: str, source: str = "") -> PromptVerdict:
        return await self._recorded_verdict("steering", self.inner.before_steering(text, source), PromptVerdict())

    async def before_compaction(self) -> str:
        return await self._recorded_verdict("compaction", self.inner.before_compaction(), "")

    async def before_run(self, start: RunStart) -> RunVerdict:
        return await self._recorded_verdict("run", self.inner.before_run(start), RunVerdict())

    async def plan_compaction(self, plan: CompactionPlan) -> CompactionVerdict:
        return await self._recorded_verdict("summary", self.inner.plan_compaction(plan), CompactionVerdict())

    async def review_request(self, request: Request, purpose: str, origin: str = "") -> Request:
        return await self.inner.review_request(request, purpose, origin)  # the request itself is recorded

    @property
    def label(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.label

    def for_child(self) -> Interceptor:
        return RecordingInterceptor(self.inner.for_child(), self._place, self._boundary)

    async def _recorded_verdict(self, about: str, question: Awaitable[Any], yes: Any) -> Any:
        asking = INSIDE.set(True)
        try:
            verdict = await question
        except InterceptorFailed as error:
            self._boundary.recorder.of(
                self._boundary, "verdict", who=self._place, about=about, verdict=yes, failed=str(error)
            )
            raise
        finally:
            INSIDE.reset(asking)
        if verdict != yes:
            self._boundary.recorder.of(self._boundary, "verdict", who=self._place, about=about, verdict=verdict)
        return verdict
