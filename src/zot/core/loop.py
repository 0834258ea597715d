"""The loop: turn, tools, turn, tools, until the model stops by itself or something stops it.

Before each model call the limits are checked, steering joins the transcript and room is made in the window. A call that
failed before anything of its answer was kept may be made once more by another model, as the same step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from zot.core import events
from zot.core.events import REPLACES
from zot.core.inputs import Prompt
from zot.core.run import Run
from zot.core.state import AgentState
from zot.core.tool import Tool
from zot.core.turn import Turn, TurnOutcome
from zot.errors import CostLimitReached, StepLimitReached, ZotError
from zot.provider.messages import Message, StopReason, ToolCallBlock, user_message, utc_now


class Outcome(msgspec.Struct, frozen=True):
    """How a prompt ended. ``refused`` is an interceptor's reason for allowing no further turn."""

    stop: StopReason
    error: Exception | None = None
    refused: str = ""


class Loop:
    def __init__(self, state: AgentState, run: Run) -> None:
        self._state = state
        self._run = run
        self._may_compact = True

    def say(self, prompt: Prompt, *, instead: bool = False) -> None:
        """The user speaks: into transcript and session first, then it is shown; ``instead`` of what failed."""
        message = user_message(prompt.text, prompt.images)
        if instead and self._state.unanswered is not None:
            message = msgspec.structs.replace(message, meta={REPLACES: "true"})
            self._state.replace_last(message)
        else:
            self._state.append(message)
        self._run.emit(events.UserMessage(message))

    async def call_first(self, call: ToolCallBlock, origin: str) -> None:
        """Run a call nobody has asked the model about: the pair of call and result stands before its answer."""
        self._state.append(Message("assistant", (call,), utc_now(), {"origin_extension": origin}))
        self._run.emit(events.ToolCall(call))
        await self._run_tools(self._state.toolbox, (call,), origin)

    async def run(self) -> Outcome:
        step = 1
        while True:
            await self._run.checkpoint()
            limit = self._limit_reached(step)
            if limit is not None:
                return Outcome("error", limit)
            await self._prepare()
            await self._state.settle_system()
            tools = self._state.toolbox
            turn = await Turn(self._state, self._run, step).take()
            if await self._is_taken_over(turn):
                continue
            if turn.stop == "tool_use":
                await self._run_tools(tools, turn.calls)
            elif not self._goes_on(turn.stop, step):
                return Outcome(turn.stop, turn.error, turn.refused)
            step += 1

    async def _run_tools(self, tools: Mapping[str, Tool], calls: Sequence[ToolCallBlock], origin: str = "") -> None:
        from zot.core.tool_runs import ToolRuns  # many a prompt is answered without a tool

        await ToolRuns(self._state, self._run, tools, calls, origin).run_all()

    async def _prepare(self) -> None:
        for prompt in self._state.inputs.take_steering():
            self.say(prompt)
        if self._may_compact and self._state.should_be_compacted:
            from zot.core.compaction import compact_automatically  # few conversations get so long

            used = self._state.last_context_tokens * 100 // self._state.model.context_window
            # One that failed would fail again at the next step, at a price.
            self._may_compact = await compact_automatically(self._state, self._run, f"the context is {used}% full")

    async def _is_taken_over(self, turn: TurnOutcome) -> bool:
        """The model failed and nothing of its answer was kept: whether another one takes this turn."""
        fallback = self._state.fallback
        return turn.error is not None and not turn.kept and fallback is not None and await fallback(turn.error)

    def _goes_on(self, stop: StopReason, step: int) -> bool:
        """The model would stop here, but the user has more to say and a step is left to say it in."""
        return stop in ("end", "length") and self._state.inputs.steered and step != self._state.max_steps

    def _limit_reached(self, step: int) -> ZotError | None:
        steps, dollars = self._state.max_steps, self._state.max_cost_usd
        if steps and step > steps:
            return StepLimitReached(f"max steps ({steps}) exceeded")
        if dollars > 0 and self._state.cost.cost_usd >= dollars:
            spent = self._state.cost.cost_usd
            return CostLimitReached(
                f"cost limit of ${dollars:g} reached (${spent:.4f} spent); raise it with --max-cost"
            )
        return None
