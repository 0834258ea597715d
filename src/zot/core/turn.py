"""One model call: converts the stream to events and a message; closes the turn also on failure and cancellation.
While an interceptor reviews text, no text is emitted before its verdict, and no thinking at all."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from zot.core import events
from zot.core.run import Run
from zot.core.state import AgentState
from zot.errors import ContextTooLong, RequestDenied, TransportFailed
from zot.provider import model_call as stream
from zot.provider.messages import (
    SHOWN_TEXT,
    Block,
    Message,
    QuotaWindow,
    StopReason,
    TextBlock,
    ToolCallBlock,
    Usage,
    utc_now,
)

if TYPE_CHECKING:
    from zot.core.interceptors import Interceptor
    from zot.provider.model import Model


class TurnOutcome(msgspec.Struct, frozen=True):
    """How the turn ended. ``begun``: the answer began; ``kept``: part of it is stored; ``text``: its text."""

    stop: StopReason
    error: Exception | None = None
    calls: tuple[ToolCallBlock, ...] = ()
    refused: str = ""
    begun: bool = False
    kept: bool = False
    text: str = ""


class _ModelAnswer(msgspec.Struct, frozen=True):
    stop: StopReason
    message: Message
    error: Exception | None = None


class Turn:
    """``before`` is the text of this answer before it broke off: both parts are shown together."""

    def __init__(self, state: AgentState, run: Run, step: int, before: str = "") -> None:
        self._state = state
        self._run = run
        self._step = step
        self._before = before
        self._watchers: list[Interceptor] = [i for i in state.interceptors if i.watches_text]
        self._texts: list[str] = []
        self._called = False
        self._started = False
        self._thinking_since: float | None = None
        self._model: Model | None = None  # of the request: another one may be chosen meanwhile
        self._usage: events.UsageEvent | None = None
        self._usage_emitted = False

    async def run(self) -> TurnOutcome:
        self._run.emit(events.TurnStart(self._step))
        try:
            refusal = None
            if self._state.interceptors:
                from zot.core.interceptors import turn_refusal  # most runs have no interceptors

                refusal = await turn_refusal(self._state.interceptors, self._step, self._state.report_interceptor)
            if refusal is not None:
                return self._end(TurnOutcome("error", refused=refusal))
            try:
                answer = await self._answer()
            except RequestDenied as denial:
                return self._end(TurnOutcome("error", refused=str(denial)))
            message, stop = kept_message(answer.message, answer.stop)
            shown = await self._visible(message)
        except asyncio.CancelledError:
            self._abandon()
            raise
        return self._conclude(message, shown, stop, answer.error)

    # --- stream

    async def _answer(self) -> _ModelAnswer:
        """The model's answer; a prompt that is too long is compacted and sent once more."""
        try:
            try:
                return await self._listen()
            except ContextTooLong:
                from zot.core.compaction import compact_after_overflow  # needed only by long conversations

                if self._has_content or not await compact_after_overflow(self._state, self._run):
                    raise
                return await self._listen()
        except RequestDenied:
            raise
        except Exception as error:
            return _ModelAnswer("error", self._partial(), error)

    async def _listen(self) -> _ModelAnswer:
        answer = None
        self._usage_emitted = False
        origin = self._state.request_origin
        purpose = "extension" if origin else "step"
        request = await self._state.reviewed_request(self._state.request(), purpose, origin)
        self._model = request.model
        if lost := self._state.uncached_tokens(request):
            self._run.emit(events.Notice(lost))
        async with aclosing(self._state.call_model(request)) as stream_events:
            async for event in stream_events:
                if isinstance(event, stream.Finished):
                    answer = _ModelAnswer(event.stop, event.message, event.error)
                else:
                    self._forward(event)
        if answer is None:
            raise TransportFailed(f"{self._state.client.name}: the stream ended too early", retryable=True)
        if isinstance(answer.error, ContextTooLong) and not self._has_content:
            raise answer.error
        return answer

    def _forward(self, event: stream.StreamEvent) -> None:
        match event:
            case stream.TextDelta(text):
                if self._thinking_since is not None:
                    self._end_thought()
                self._texts.append(text)
                if not self._watchers:
                    self._run.emit(events.TextDelta(text))
            case stream.ToolArgs(id, delta):
                self._run.emit(events.ToolUseArgs(id, delta))
            case stream.ToolStarted(id, name):
                self._called = True
                self._end_thought()
                self._run.emit(events.ToolUseStart(id, name))
            case stream.ToolEnded(id):
                self._run.emit(events.ToolUseEnd(id))
            case stream.ThinkingDelta(text):
                self._think(text)
            case stream.UsageReported(usage, quota):
                self._end_thought()
                self._spend(usage, quota)
            case stream.Started():
                self._start()
            case stream.Retrying() | stream.Noticed():
                self._end_thought()
                self._run.emit(events.event_of_call(event))
            case stream.Finished():
                raise AssertionError("the end of a stream is not forwarded")

    def _think(self, text: str) -> None:
        """Interceptors that review text do not review thinking, so it is emitted without words."""
        first = self._thinking_since is None
        if first:
            self._thinking_since = time.monotonic()
        if not self._watchers:
            self._run.emit(events.ThinkingDelta(text))
        elif first:
            self._run.emit(events.ThinkingDelta(""))

    def _end_thought(self) -> None:
        if self._thinking_since is not None:
            seconds = time.monotonic() - self._thinking_since
            self._thinking_since = None
            self._run.emit(events.ThinkingEnd(round(seconds, 3)))

    @property
    def _has_content(self) -> bool:
        return self._called or bool(self._texts)

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._run.emit(events.AssistantStart())

    def _spend(self, usage: Usage, quota: tuple[QuotaWindow, ...]) -> None:
        side = None if self._model is self._state.model else self._model
        priced = self._state.count_call(usage, side)
        # Without a count the context size is unknown also.
        self._state.last_context_tokens = usage.context_tokens or self._state.last_context_tokens
        self._usage = events.UsageEvent(priced, self._state.cost, quota=quota)
        if not self._watchers:
            self._emit_usage()

    def _emit_usage(self) -> None:
        """Count one call that began to answer; an interrupted call has no count."""
        if self._started and not self._usage_emitted:
            self._usage_emitted = True
            self._run.emit(self._usage or events.UsageEvent(Usage(), self._state.cost))

    # --- end

    async def _visible(self, message: Message | None) -> Message | None:
        """The message for the user; None if there is none or it is suppressed."""
        text = message.text() if message and self._watchers else ""
        if message is None or not text:
            return message
        from zot.core.interceptors import review_text

        allowed = await review_text(self._watchers, text, self._state.report_interceptor)
        if allowed is None:
            return None
        return message if allowed == text else with_text(message, allowed)

    def _conclude(
        self, message: Message | None, shown: Message | None, stop: StopReason, error: Exception | None
    ) -> TurnOutcome:
        self._end_thought()
        if message is not None:
            self._state.append(_marked(message, shown) if self._watchers else message)
        if self._watchers and shown is not None and shown.text():
            self._run.emit(events.TextDelta(shown.text()))
        self._emit_usage()
        if shown is not None and self._before:
            shown = with_text(shown, self._before + shown.text())
        if shown is not None:
            self._run.emit(events.AssistantMessage(shown))
        calls = tuple(message.tool_calls()) if message else ()
        for call in calls:
            self._run.emit(events.ToolCall(call))
        text = shown.text() if shown is not None else ""
        return self._end(TurnOutcome(stop, error, calls, begun=self._has_content, kept=message is not None, text=text))

    def _abandon(self) -> None:
        """Cancelled: text is kept, an incomplete call is not; withheld text stays hidden. Does not await."""
        message, _ = (None, "") if self._called else kept_message(self._partial(), "aborted")
        self._conclude(message, None if self._watchers else message, "aborted", None)

    def _partial(self) -> Message:
        return Message("assistant", (TextBlock("".join(self._texts)),), utc_now())

    def _end(self, outcome: TurnOutcome) -> TurnOutcome:
        why = describe(outcome.error) if outcome.error else outcome.refused
        if outcome.stop == "aborted":
            why = "aborted"
        if outcome.stop != "tool_use":  # else ToolRuns emits it when the first call runs
            self._run.emit(events.Checkpoint())
        self._run.emit(events.TurnEnd(outcome.stop, why))
        return outcome


def describe(error: Exception) -> str:
    return str(error) or type(error).__name__


# Stored part of an answer. The transcript never has a call without an answer: only a complete answer
# keeps its calls; other endings keep the text alone, and an aborted one with a started call keeps nothing.


def kept_message(message: Message, stop: StopReason) -> tuple[Message | None, StopReason]:
    """The message to append, if any, and the stop reason for the loop."""
    calls = message.tool_calls()
    match stop:
        case "tool_use":
            stop = "tool_use" if calls else "end"
            content = message.content
        case "end" if all(not call.arguments.strip() or isinstance(call.value, dict) for call in calls):
            stop = "tool_use" if calls else "end"  # some servers report a finished call as a natural end
            content = message.content
        case "aborted" if calls:
            content = ()
        case _:
            content = tuple(block for block in message.content if isinstance(block, TextBlock) and block.text)
    if not any(not isinstance(block, TextBlock) or block.text for block in content):
        return None, stop
    return msgspec.structs.replace(message, content=content, time=message.time or utc_now()), stop


def with_text(message: Message, text: str) -> Message:
    """The message with its text replaced by one block, at the place of the first."""
    content: list[Block] = []
    replaced = False
    for block in message.content:
        if not isinstance(block, TextBlock):
            content.append(block)
        elif not replaced:
            content.append(TextBlock(text))
            replaced = True
    return msgspec.structs.replace(message, content=tuple(content))


def _marked(message: Message, shown: Message | None) -> Message:
    """With the shown text instead of its own, so that it is never shown differently later."""
    text = shown.text() if shown is not None else ""
    if text == message.text():
        return message
    return msgspec.structs.replace(message, meta={**message.meta, SHOWN_TEXT: text})
