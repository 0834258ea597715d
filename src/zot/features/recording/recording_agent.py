"""An agent that tells a recorder what comes in from outside and what it makes of it; else it is the agent it was.

Inputs are told at the moment they are given, model calls and tools where every one of them passes, and what others
changed on the agent (its model, its limits, the mode of its gate) before the next thing that happens.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from contextlib import aclosing
from operator import attrgetter
from typing import Any

import msgspec

from zot.agent.system_prompt import SystemPrompt
from zot.core.agent import Agent, FirstCall, Outcome
from zot.core.event_bus import Reader
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
from zot.core.interceptors import Interceptor, InterceptorFailed, PromptVerdict, TextVerdict, ToolVerdict, TurnVerdict
from zot.core.permission_gate import ConfirmGate
from zot.core.state import PendingPrompt
from zot.core.tool import Tool, ToolContext, ToolResult
from zot.features.recording.recorder import INSIDE, Recorder
from zot.provider.messages import ImageBlock, Message, ToolCallBlock, Usage
from zot.provider.model import Model
from zot.provider.model_call import Client, Request, StreamEvent

# What was streamed says these, and what tools said.
_UNTOLD = (AssistantStart, TextDelta, ThinkingDelta, ToolUseStart, ToolUseArgs, ToolUseEnd, ToolProgress)
_TOLD = (
    *(kind for kind in SHOWN if kind not in _UNTOLD),
    *(PromptAccepted, ConfirmationRequested, PermissionDecided),
)
_OWN = ("model", "reasoning", "temperature", "session_id", "compact_at", "max_cost_usd", "max_steps", "goes_on")
_own = attrgetter(*_OWN)
CHANGEABLE = (*_OWN, "mode", "asks", "jail", "brief")


class RecordedAgent(Agent):
    """``recorder`` hears it; ``number`` is 1 for the conversation itself."""

    def __init__(self, recorder: Recorder, **parts: Any) -> None:
        self.recorder = recorder
        self.number = recorder.number()
        self._telling: AgentEvent | None = None
        self._cancel_noted = False
        self._noted: tuple[Any, ...] = ()
        self._tools_noted: list[dict[str, Any]] | None = None
        super().__init__(**parts)
        self.readers.add(self._hear, *_TOLD, first=True)

    def add_interceptor(self, interceptor: Interceptor) -> None:
        """With its verdicts recorded; those of extensions follow from their frames."""
        super().add_interceptor(RecordedInterceptor(interceptor, len(self.interceptors), self))

    # --- what others changed

    @property
    def mode(self) -> str:
        return self.gate.mode if self.gate is not None else ""

    @property
    def asks(self) -> bool:
        """Whether somebody is there who answers for the gate."""
        gate = self.gate
        return isinstance(gate, ConfirmGate) and (gate.confirmer is not None or gate.stand_in is not None)

    def begin(self) -> dict[str, Any]:
        """All that may change, as it is now; from here on only changes are told."""
        self._noted = self._present()
        self._tools_noted = own_specs(self.tools)
        return dict(zip(CHANGEABLE, self._noted, strict=True))

    def note_changes(self) -> None:
        now = self._present()
        if now != self._noted and self._noted:
            changed = {name: new for name, old, new in zip(CHANGEABLE, self._noted, now, strict=True) if old != new}
            self._noted = now  # before it is told: telling notes, too
            self.recorder.of(self, "state", **changed)

    def _present(self) -> tuple[Any, ...]:
        gate, system = self.gate, self.system
        told = system.told if isinstance(system, SystemPrompt) else ("", "")
        return (*_own(self), "", False, *told) if gate is None else (*_own(self), gate.mode, self.asks, *told)

    # --- events

    def _hear(self, event: AgentEvent) -> None:
        if event is not self._telling:
            self.recorder.event(self, event)

    def tell(self, event: AgentEvent) -> None:
        self.recorder.told(self, event)
        before, self._telling = self._telling, event
        try:
            super().tell(event)
        finally:
            self._telling = before

    # --- inputs

    async def prompt(
        self,
        text: str,
        images: Sequence[ImageBlock] = (),
        emit: Reader | None = None,
        *,
        queued: bool = False,
        first_call: FirstCall | None = None,
        instead: bool = False,
    ) -> Outcome:
        self._must_be_idle()
        given = {"images": tuple(images), "queued": queued, "first_call": first_call, "instead": instead}
        self._begun("prompt", text=text, **{name: value for name, value in given.items() if value})
        return await super().prompt(text, images, emit, queued=queued, first_call=first_call, instead=instead)

    async def proceed(self, emit: Reader | None = None) -> Outcome:
        self._must_be_idle()
        self._begun("proceed")
        return await super().proceed(emit)

    async def go_on(self, emit: Reader | None = None) -> Outcome:
        self._must_be_idle()
        self._begun("go_on")
        return await super().go_on(emit)

    async def compact(self, emit: Reader | None = None, keep_tail: int = 0, focus: str = "") -> str:
        self._must_be_idle()
        self._begun("compact", keep_tail=keep_tail, focus=focus)
        return await super().compact(emit, keep_tail, focus)

    def _begun(self, what: str, **fields: Any) -> None:
        self._cancel_noted = False
        self.recorder.input(self, what, **fields)

    def abort(self) -> None:
        if self.busy and not self._cancel_noted:
            self._cancel_noted = True
            self.recorder.input(self, "abort")
        super().abort()

    def _cancelled(self) -> None:
        """A cancellation that nobody announced as an abort came through."""
        if self.busy and not self._cancel_noted:
            self._cancel_noted = True
            self.recorder.input(self, "abort", outside=True)

    def steer(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        self._input("steer", text=text, images=tuple(images))
        super().steer(text, images)

    def enqueue(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        self._input("queue", text=text, images=tuple(images))
        super().enqueue(text, images)

    def take_all(self) -> tuple[PendingPrompt, ...]:
        if self.inputs.steered:
            self._input("take_all")
        return super().take_all()

    def add(self, message: Message) -> None:
        self._input("add", message=message)
        super().add(message)

    def set_messages(self, messages: Iterable[Message]) -> None:
        self._must_be_idle()
        given = tuple(messages)
        self._input("messages", messages=given)
        super().set_messages(given)

    def set_tools(self, tools: Iterable[Tool]) -> None:
        """Those of extension processes follow from their frames; others that come and go are told."""
        super().set_tools(tools)
        own = own_specs(self.tools)
        if self._tools_noted is not None and own != self._tools_noted:
            self._tools_noted = own
            self._input("tools", tools=own)

    def seed_cost(self, cumulative: Usage) -> None:
        self._input("cost", usage=cumulative)
        super().seed_cost(cumulative)

    def count_beside(self, priced: Usage) -> None:
        self._input("beside", usage=priced)
        super().count_beside(priced)

    def replace_model(self, client: Client, model: Model) -> None:
        super().replace_model(client, model)
        self._noted = (model, *self._noted[1:])
        self._input("model", model=model)

    def note(self, what: str, /, **fields: Any) -> None:
        if what == "command":
            self.recorder.of(self, "command", **fields)
        else:
            self._input(what)

    def _input(self, what: str, **fields: Any) -> None:
        self.recorder.input(self, what, **{name: value for name, value in fields.items() if value != ()})

    # --- another beside it

    def _made_like_this(self, **parts: Any) -> Agent:
        child = self._like_this(**parts)
        system, tools = child.system(child.specs), [tool.name for tool in child.tools]
        child.begin()
        self._input("child", number=child.number, system=system, tools=tools, messages=child.messages or None)
        return child

    def _like_this(self, **parts: Any) -> RecordedAgent:
        return RecordedAgent(self.recorder, **parts)

    # --- the outside

    async def call(self, request: Request) -> AsyncGenerator[StreamEvent]:
        n = self.recorder.request(self, request)
        try:
            async with aclosing(super().call(request)) as events:
                async for event in events:
                    self.recorder.streamed(self, n, event)
                    yield event
        except asyncio.CancelledError:
            self._cancelled()
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
            if not context.origin:  # a call of an extension's own may end alone, and this run goes on
                self._cancelled()
            self.recorder.failed(self, id, None)
            raise
        except Exception as error:
            over = True
            self.recorder.failed(self, id, error)
            raise
        over = True
        self.recorder.result(self, id, result)
        return result

    async def take_over(self, error: Exception) -> bool:
        if self.fallback is None:
            return False
        taken = await super().take_over(error)
        self.recorder.of(self, "fallback", taken=taken)
        return taken


def own_specs(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """What a model is told of each tool that is not in an extension's process."""
    module = sys.modules.get("zot.features.extensions.tools")  # where it is not loaded, there are none
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


class RecordedInterceptor(Interceptor):
    """Only what is not a plain yes is recorded: most are asked about everything and have nothing to say."""

    def __init__(self, interceptor: Interceptor, place: int, agent: RecordedAgent) -> None:
        self.inner = interceptor
        self._place = place
        self._agent = agent

    @property
    def watches_text(self) -> bool:
        return self.inner.watches_text

    async def before_turn(self, step: int) -> TurnVerdict:
        return await self._heard("turn", self.inner.before_turn(step), TurnVerdict())

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return await self._heard("tool", self.inner.before_tool(call, origin), ToolVerdict())

    async def before_tool_again(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return await self._heard("tool", self.inner.before_tool_again(call, origin), ToolVerdict())

    async def before_message(self, text: str) -> TextVerdict:
        return await self._heard("message", self.inner.before_message(text), TextVerdict())

    async def after_tool(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> str:
        return await self._heard("result", self.inner.after_tool(call, result, origin), "")

    async def before_stop(self, text: str) -> str:
        return await self._heard("stop", self.inner.before_stop(text), "")

    async def before_steering(self, text: str) -> PromptVerdict:
        return await self._heard("steering", self.inner.before_steering(text), PromptVerdict())

    async def before_compaction(self) -> str:
        return await self._heard("compaction", self.inner.before_compaction(), "")

    def for_child(self) -> Interceptor:
        return RecordedInterceptor(self.inner.for_child(), self._place, self._agent)

    async def _heard(self, about: str, question: Awaitable[Any], yes: Any) -> Any:
        asking = INSIDE.set(True)
        try:
            verdict = await question
        except InterceptorFailed as error:
            self._agent.recorder.of(
                self._agent, "verdict", who=self._place, about=about, verdict=yes, failed=str(error)
            )
            raise
        finally:
            INSIDE.reset(asking)
        if verdict != yes:
            self._agent.recorder.of(self._agent, "verdict", who=self._place, about=about, verdict=verdict)
        return verdict
