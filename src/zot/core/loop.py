"""The agent loop: turns and tools until the model stops or a limit is reached.
A call that failed before any content was stored may be repeated by another model as the same step. Without a user,
an interrupted answer is continued once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from zot.core import events
from zot.core.events import REPLACES, SYNTHETIC
from zot.core.run import Run
from zot.core.state import AgentState, PendingPrompt
from zot.core.tool import Tool
from zot.core.turn import Turn, TurnOutcome, describe
from zot.errors import ContextTooLong, CostLimitReached, ProviderError, StepLimitReached, TransportFailed, ZotError
from zot.provider.messages import ImageBlock, Message, StopReason, ToolCallBlock, user_message, utc_now

GO_ON = (
    "Your last answer broke off because the connection failed; what arrived of it is above. Go on exactly where it"
    " ends: repeat nothing and do not mention the interruption. A tool call that you had begun was not made."
)


class Outcome(msgspec.Struct, frozen=True):
    """How a prompt ended. ``refused`` is an interceptor's reason; ``taken_back`` a prompt that was too long and
    removed; ``handled``: an extension answered it in the model's place."""

    stop: StopReason
    error: Exception | None = None
    refused: str = ""
    taken_back: PendingPrompt | None = None
    handled: bool = False


class Loop:
    def __init__(self, state: AgentState, run: Run) -> None:
        self._state = state
        self._run = run
        self._may_compact = True
        self._went_on = False
        self._steering: dict[int, tuple[PendingPrompt, str]] = {}  # the prompt to append, and the context before it
        self._prompt_id = ""  # if interceptors or subscribers need it
        self._watched = False
        self._last_text = ""
        self._usage_before = state.cost
        self._steps = 0

    async def begin_prompt(self, prompt: PendingPrompt, *, instead: bool = False) -> str:
        """Let interceptors change or deny the prompt, then append it; returns why it is denied."""
        state = self._state
        watched = state.readers.has_subscriber(events.PromptStarted)
        if not (watched or state.interceptors):
            self.append_prompt(prompt, instead=instead)
            return ""
        id, source = os.urandom(8).hex(), "extension" if events.OF_EXTENSION in prompt.meta else ""
        self._prompt_id, self._usage_before, self._watched = id, state.cost, watched
        if state.interceptors:
            from zot.core.interceptors import RunStart, review_run

            start = RunStart(id, prompt.text, len(prompt.images), source, prompt.meta.get(events.OF_EXTENSION, ""))
            verdict = await review_run(state.interceptors, start, state.report_interceptor)
            if not verdict.allowed:
                return verdict.reason or "denied by an extension"
            if verdict.system is not None or verdict.system_append:
                state.run_system = verdict.edit_system
            for message in verdict.messages:
                state.append(message)
        if watched:
            self._run.emit(events.PromptStarted(id, prompt.text, len(prompt.images), source))
        self.append_prompt(prompt, instead=instead)
        return ""

    async def end_prompt(self, outcome: Outcome) -> None:
        """Its last step has ended."""
        state = self._state
        if self._prompt_id and state.interceptors and outcome.stop != "aborted" and not outcome.refused:
            from zot.core.interceptors import RunEnd, run_ended

            end = RunEnd(self._prompt_id, outcome.stop, self._last_text)
            await run_ended(state.interceptors, end, state.report_interceptor)
        if self._watched:
            usage = state.cost - self._usage_before
            self._run.emit(events.PromptEnded(self._prompt_id, outcome.stop, self._steps, usage))

    def append_prompt(self, prompt: PendingPrompt, *, instead: bool = False) -> None:
        """Append the user's message to transcript and session, then show it; ``instead`` replaces a failed one."""
        message = user_message(prompt.text, prompt.images)
        if prompt.meta:
            message = msgspec.structs.replace(message, meta=prompt.meta)
        if instead and self._state.unanswered is not None:
            message = msgspec.structs.replace(message, meta={**message.meta, REPLACES: "true"})
            self._state.replace_last(message)
        else:
            self._state.append(message)
        self._run.emit(events.UserMessage(message))

    def continue_answer(self) -> None:
        """Ask the model to complete an answer that broke off."""
        self._ask_for(GO_ON)

    def _ask_for(self, text: str) -> None:
        message = msgspec.structs.replace(user_message(text), meta={SYNTHETIC: "true"})
        self._state.append(message)
        self._run.emit(events.UserMessage(message))

    async def run_initial_call(self, call: ToolCallBlock, origin: str) -> None:
        """Run a call requested by an extension: call and result are appended before the model's answer."""
        self._state.append(Message("assistant", (call,), utc_now(), {"origin_extension": origin}))
        self._run.emit(events.ToolCall(call))
        await self._run_tools(self._state.toolbox, (call,), origin)

    async def run(self) -> Outcome:
        step, before = 1, ""
        while True:
            await self._run.checkpoint()
            limit = self._limit_reached(step)
            if limit is not None:
                return Outcome("error", limit)
            await self._prepare()
            await self._state.finalize_system_prompt()
            tools = self._state.toolbox
            self._steps = step
            turn = await Turn(self._state, self._run, step, before).run()
            # the model failed without content: try another one for this turn
            if turn.error is not None and not turn.kept and await self._state.switch_to_fallback(turn.error):
                continue
            if self._continues_broken_answer(turn):
                step, before = step + turn.kept, turn.text
                continue
            before, self._went_on, self._last_text = "", False, turn.text
            if turn.stop == "tool_use":
                if await self._run_tools(tools, turn.calls):
                    return Outcome("end")
            elif not await self._continues_for_steering(turn.stop, step) and not await self._continues_for_interceptor(
                turn, step
            ):
                if isinstance(turn.error, ContextTooLong) and not turn.kept and self._state.unanswered is not None:
                    error, prompt = withdraw_oversized_prompt(self._state, turn.error)
                    return Outcome(turn.stop, error, taken_back=prompt)
                return Outcome(turn.stop, turn.error, turn.refused)
            step += 1

    async def _run_tools(self, tools: Mapping[str, Tool], calls: Sequence[ToolCallBlock], origin: str = "") -> bool:
        """True if every result ends the prompt."""
        from zot.core.tool_batch import ToolBatch  # many prompts are answered without a tool

        return await ToolBatch(self._state, self._run, tools, calls, origin).run_all()

    async def _prepare(self) -> None:
        await self._review_steering()
        for steered in self._state.inputs.take_steering():
            prompt, context = self._steering.pop(id(steered), (steered, ""))
            if context:
                self._state.append(msgspec.structs.replace(user_message(context), meta={SYNTHETIC: "true"}))
            self.append_prompt(prompt)
        if (focus := self._state.compaction_focus) is not None:
            from zot.core.compaction import compact_automatically

            self._state.compaction_focus = None
            await compact_automatically(
                self._state, self._run, "an extension asks for a summary", focus=focus, trigger="manual"
            )
        elif self._may_compact and self._state.needs_compaction:
            from zot.core.compaction import compact_automatically  # needed only by long conversations

            used = self._state.last_context_tokens * 100 // self._state.model.context_window
            # A failed compaction would fail again at the next step, at a price.
            self._may_compact = await compact_automatically(self._state, self._run, f"the context is {used}% full")

    def _continues_broken_answer(self, turn: TurnOutcome) -> bool:
        """The answer broke off and no user can be asked: True if the model is asked once to continue."""
        error = turn.error
        if error is None or self._went_on or not turn.begun or not self._state.goes_on or not _broke_off(error):
            return False
        self._went_on = True
        how = "the model is asked to continue it" if turn.kept else "the model is asked again"
        self._run.emit(events.Notice(f"the answer broke off ({describe(error)}); {how}", "warn"))
        if turn.kept:
            self.continue_answer()
        return True

    async def _review_steering(self) -> None:
        """Show steered prompts to interceptors once; denied ones are dropped."""
        inputs, interceptors = self._state.inputs, self._state.interceptors
        if not interceptors:
            return
        from zot.core.interceptors import review_steering  # most runs have no interceptors

        while new := [prompt for prompt in inputs.steering if id(prompt) not in self._steering]:
            prompt, report = new[0], self._state.report_interceptor
            source = prompt.meta.get(events.OF_EXTENSION, "")
            verdict = await review_steering(interceptors, prompt.text, report, source)
            self._steering[id(prompt)] = (_rewritten(prompt, verdict.text, verdict.extension), verdict.context)
            if not verdict.allowed:
                inputs.withdraw(prompt)
                if verdict.reason:
                    self._run.emit(events.Notice(f"not said: {verdict.reason}", "warn"))

    async def _continues_for_steering(self, stop: StopReason, step: int) -> bool:
        """True if the model would stop but a steered prompt and a step are left."""
        inputs = self._state.inputs
        if stop not in ("end", "length") or not inputs.steered or step == self._state.max_steps:
            return False
        await self._review_steering()
        return inputs.steered

    async def _continues_for_interceptor(self, turn: TurnOutcome, step: int) -> bool:
        """True if an interceptor continues the finished model and a step is left."""
        interceptors = self._state.interceptors
        if turn.stop != "end" or turn.refused or not interceptors or step == self._state.max_steps:
            return False
        from zot.core.interceptors import continuation_request

        reason = await continuation_request(interceptors, turn.text, self._state.report_interceptor)
        if reason:
            self._ask_for(reason)
        return bool(reason)

    def _limit_reached(self, step: int) -> ZotError | None:
        steps, dollars = self._state.max_steps, self._state.max_cost_usd
        if steps and step > steps:
            return StepLimitReached(f"max steps ({steps}) exceeded")
        if dollars > 0 and self._state.cost.cost_usd >= dollars:
            spent = self._state.cost.cost_usd
            return CostLimitReached(
                f"cost limit of ${dollars:g} reached (${spent:.4f} spent);"
                " raise it with --max-cost, or max_cost_session in /settings"
            )
        return None


def _rewritten(prompt: PendingPrompt, text: str | None, extension: str) -> PendingPrompt:
    """The prompt with another text, marked with the user's own."""
    if text is None or text == prompt.text:
        return prompt
    meta = {**prompt.meta, events.TYPED: prompt.text, events.OF_EXTENSION: extension}
    return msgspec.structs.replace(prompt, text=text, meta=meta)


def _broke_off(error: Exception) -> bool:
    """The connection was lost, or the provider failed for a temporary reason."""
    return isinstance(error, TransportFailed) or (isinstance(error, ProviderError) and error.retryable)


# A prompt that exceeds the model's window is replaced by one line, so that later prompts fit.


def withdraw_oversized_prompt(state: AgentState, refusal: ContextTooLong) -> tuple[ContextTooLong, PendingPrompt]:
    """The error for the user, and the prompt. The transcript must end with an unanswered one."""
    from zot.core.compaction import tokens_of

    message = state.unanswered
    assert message is not None
    images = tuple(block for block in message.content if isinstance(block, ImageBlock))
    pictures = f" and {len(images)} image{'s' * (len(images) != 1)}" if images else ""
    size = f"about {tokens_of(message):,} tokens{pictures}"
    instead = user_message(f"[a prompt of {size} was removed here: it did not fit the model's window]")
    state.replace_last(msgspec.structs.replace(instead, meta={REPLACES: "true"}))
    text = f"{_oversized(state, size)}; it was removed from the conversation"
    error = ContextTooLong(text, provider=refusal.provider, status=refusal.status, code=refusal.code, body=refusal.body)
    error.__cause__ = refusal
    return error, PendingPrompt(message.text(), images)


def _oversized(state: AgentState, size: str) -> str:
    from zot.core.compaction import CHARS_PER_TOKEN, tokens_of

    window = state.model.context_window
    room = f"the window of {state.model.id}" + (f", which is {window:,} tokens" if window else "")
    overhead = (len(state.system_text()) + len(msgspec.json.encode(state.specs))) // CHARS_PER_TOKEN
    before = sum(map(tokens_of, state.messages[:-1]))
    more = f", earlier messages {before:,}" if before else ""
    parts = f"it has {size}{more}, instructions and tools {overhead:,}"
    return f"{state.client.name}: the prompt does not fit {room}: {parts}"
