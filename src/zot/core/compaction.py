"""Compaction: replaces the older part of the transcript by a summary, as a whole or not at all.
It never splits a tool exchange and preserves the last instruction unless that fills half the window."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Sequence
from contextlib import aclosing, contextmanager

from zot.core import events
from zot.core.compaction_prompt import INSTRUCTIONS, SYSTEM, head_and_tail, length_of, transcript_text
from zot.core.events import SYNTHETIC, CompactionEnded, CompactionStarted
from zot.core.run import Run
from zot.core.state import AgentState, PendingPrompt
from zot.core.tool import KEPT, kept_of
from zot.errors import CompactionFailed, ContextTooLong, RequestDenied, ZotError, describe_error
from zot.provider import model_call as stream
from zot.provider.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, user_message, utc_now
from zot.provider.model import Model

AUTOMATIC_TAIL = 4
SUMMARY_TOKENS = 4096
HEADING = "## Context Summary (compacted)"
LAST_INSTRUCTION = "## Last instruction"

CHARS_PER_TOKEN = 4
_ASSUMED_WINDOW = 32_768  # for a model whose window is unknown
ROLE = "compact"
_OVERHEAD_TOKENS = 1024  # the summariser's instructions
_LEAST_ROOM = 2_000  # characters of a conversation; cutting further makes no sense


async def compact(
    state: AgentState, run: Run, keep_tail: int = 0, *, focus: str = "", pinned: int = 0, trigger: str = "manual"
) -> str:
    """Replace all but the last ``keep_tail`` messages by a summary and return it. ``focus`` is emphasised; the last
    ``pinned`` messages stay."""
    messages, plan = state.messages, _Plan(keep_tail, focus, pinned, trigger)
    if not state.readers.has_subscriber(CompactionStarted):
        return await _compact(state, run, messages, plan)
    with _announced(state, plan.id, messages):
        return await _compact(state, run, messages, plan)


class _Plan:
    """Changed by interceptors: ``summary`` replaces the model's, ``instructions`` are added to the request."""

    def __init__(self, keep_tail: int, focus: str, pinned: int, trigger: str) -> None:
        self.id = os.urandom(8).hex()
        self.keep_tail, self.focus, self.pinned, self.trigger = keep_tail, focus, pinned, trigger
        self.summary = self.instructions = ""


@contextmanager
def _announced(state: AgentState, id: str, messages: Sequence[Message]) -> Generator[None]:
    started = CompactionStarted(id, len(messages), length_of(messages) // CHARS_PER_TOKEN)
    state.emit(started)
    try:
        yield
    except asyncio.CancelledError:
        state.emit(CompactionEnded(started, "cancelled"))
        raise
    except Exception as error:
        state.emit(CompactionEnded(started, "failed", describe_error(error)))
        raise
    state.emit(CompactionEnded(started, "completed"))


async def _review(state: AgentState, messages: Sequence[Message], plan: _Plan) -> None:
    """Let interceptors change the plan; CompactionFailed if one denies it."""
    from zot.core.interceptors import CompactionPlan, review_compaction

    asked = CompactionPlan(plan.id, plan.trigger, plan.focus, plan.keep_tail, tuple(messages))
    verdict = await review_compaction(state.interceptors, asked, state.report_interceptor)
    if not verdict.allowed:
        raise CompactionFailed(verdict.reason or "denied by an extension")
    plan.summary, plan.instructions = verdict.summary, verdict.instructions
    if verdict.keep_tail is not None:
        plan.keep_tail = max(verdict.keep_tail, 0)


async def _compact(state: AgentState, run: Run, messages: Sequence[Message], plan: _Plan) -> str:
    if not messages:
        raise CompactionFailed("nothing to compact")
    if state.interceptors:
        await _review(state, messages, plan)
    window, pinned = state.model.context_window, plan.pinned
    before = messages[: len(messages) - pinned]
    start = tail_start(before, max(plan.keep_tail - pinned, 0), window) or (len(before) if pinned else 0)
    if start == 0:
        raise CompactionFailed("nothing to compact: the messages to keep are the whole transcript")
    wishes = "\n\n".join(filter(None, (plan.focus, plan.instructions)))
    summary = plan.summary or await _summarise(state, run, messages[:start], wishes)
    text = f"{HEADING}\n\n{summary}"
    meta = {"compaction": "true", "tokens_before": str(length_of(messages[:start]) // CHARS_PER_TOKEN)}
    for name, kept in _kept_texts(messages, start).items():
        text += f"\n\n## {name}\n\n{kept}"
        meta[kept_key(name)] = kept
    images: tuple[Block, ...] = ()
    # the user's last prompt, unless the tail contains it
    at = next((i for i in reversed(range(len(messages))) if _instruction(messages[i])), -1)
    instruction = None if at < 0 or at >= start else _instruction(messages[at])
    if instruction is not None:
        instruction_text = head_and_tail(instruction.text, (window or _ASSUMED_WINDOW) * CHARS_PER_TOKEN // 2)
        text += f"\n\n{LAST_INSTRUCTION}\n\n{instruction_text}"
        meta["last_instruction"] = instruction_text  # a later compaction finds it here
        images = instruction.images
    state.apply_compaction(Message("user", (*images, TextBlock(text)), utc_now(), meta), len(messages) - start)
    return summary


def kept_key(name: str) -> str:
    """In a summary's ``meta``: the text of this name that survived the compaction."""
    return f"{KEPT}:{name}"


def kept_text(messages: Sequence[Message], name: str) -> str | None:
    """The newest text of this name, of a tool result or of a summary; None without one."""
    for message in reversed(messages):
        for block in reversed(message.content):
            if isinstance(block, ToolResultBlock) and (text := kept_of(block.attached).get(name)) is not None:
                return text
        if (text := message.meta.get(kept_key(name))) is not None:
            return text
    return None


def _kept_texts(messages: Sequence[Message], start: int) -> dict[str, str]:
    """Texts before ``start`` that the tail does not replace, by name."""
    blocks = (block for message in messages for block in message.content if isinstance(block, ToolResultBlock))
    names = {name for block in blocks for name in kept_of(block.attached)}
    prefix = kept_key("")
    names |= {key.removeprefix(prefix) for message in messages for key in message.meta if key.startswith(prefix)}
    missing = sorted(name for name in names if kept_text(messages[start:], name) is None)
    return {name: text for name in missing if (text := kept_text(messages[:start], name))}


async def compact_automatically(
    state: AgentState,
    run: Run,
    why: str,
    keep_tail: int = AUTOMATIC_TAIL,
    *,
    focus: str = "",
    pinned: int = 0,
    trigger: str = "threshold",
) -> bool:
    """Compact during a task; failures and vetoes are reported and the task continues. True if there is room now."""
    if state.interceptors:
        from zot.core.interceptors import compaction_veto

        if reason := await compaction_veto(state.interceptors, state.report_interceptor):
            run.emit(events.Notice(f"{why}, but compaction was denied: {reason}", "warn"))
            return False
    run.emit(events.Notice(f"{why}: compacting"))
    run.emit(events.CompactStart(automatic=True))
    try:
        summary = await compact(state, run, keep_tail, focus=focus, pinned=pinned, trigger=trigger)
    except CompactionFailed as error:
        run.emit(events.Notice(f"automatic compaction failed: {error}", "warn"))
        return False
    run.emit(events.CompactDone(summary, automatic=True))
    return True


async def compact_after_overflow(state: AgentState, run: Run) -> bool:
    """Compact after the provider refused a prompt as too long; changes nothing if the prompt alone does not fit."""
    prompt = state.unanswered
    if prompt is not None and (len(state.messages) == 1 or exceeds_window(prompt, state.model)):
        return False
    tail = AUTOMATIC_TAIL if len(state.messages) > AUTOMATIC_TAIL else 0
    why = "the prompt does not fit the model's window"
    pinned = 0 if prompt is None else 1
    return await compact_automatically(state, run, why, tail, pinned=pinned, trigger="overflow")


def tokens_of(message: Message) -> int:
    return length_of([message]) // CHARS_PER_TOKEN


def exceeds_window(prompt: Message, model: Model) -> bool:
    return bool(model.context_window) and tokens_of(prompt) >= model.context_window * 9 // 10


def tail_start(messages: Sequence[Message], keep: int, window: int) -> int:
    """Start of the kept tail: never between a call and its result, at most half a window."""
    start = max(0, len(messages) - keep)
    while 0 < start < len(messages) and messages[start].role == "tool":
        start -= 1
    room = window * CHARS_PER_TOKEN // 2
    while window and start < len(messages) and length_of(messages[start:]) > room:
        start += 1
        while start < len(messages) and messages[start].role == "tool":
            start += 1
    return start


async def _summarise(state: AgentState, run: Run, messages: Sequence[Message], focus: str) -> str:
    """By the model for compaction; if it fails, by the conversation's."""
    if (side := await state.side_model(ROLE)) is not None:
        try:
            return await _summary_by(state, run, side, messages, focus)
        except CompactionFailed as error:
            run.emit(
                events.Notice(f"{side.provider}/{side.id} cannot summarise: {error}; using {state.model.id}", "warn")
            )
    return await _summary_by(state, run, state.model, messages, focus)


async def _summary_by(state: AgentState, run: Run, model: Model, messages: Sequence[Message], focus: str) -> str:
    """Halve texts that are too long a few times: the token estimate may be too low."""
    window = model.context_window or _ASSUMED_WINDOW
    room = max(1, window - SUMMARY_TOKENS - _OVERHEAD_TOKENS) * CHARS_PER_TOKEN
    while True:
        text = transcript_text(messages, room)
        room = len(text) // 2
        try:
            asked = f"{INSTRUCTIONS}\n\nThe user asks you to keep this above all:\n{focus}" if focus else INSTRUCTIONS
            conversation = f"<conversation>\n{text}\n</conversation>\n\n{asked}"
            request = stream.Request(
                model=model,
                system=SYSTEM,
                messages=(user_message(conversation),),
                max_tokens=SUMMARY_TOKENS,
                session_id=state.session_id,
            )
            try:
                request = await state.reviewed_request(request, "compaction")
            except RequestDenied as denial:
                raise CompactionFailed(str(denial)) from denial
            summary = (await _read(state, run, request)).strip()
            if not summary:
                raise CompactionFailed("empty summary from model")
            return summary
        except CompactionFailed as error:
            if not isinstance(error.__cause__, ContextTooLong) or room < _LEAST_ROOM:
                raise


async def _read(state: AgentState, run: Run, request: stream.Request) -> str:
    texts: list[str] = []
    finished: stream.Finished | None = None
    try:
        async with aclosing(state.call_model(request)) as stream_events:
            async for event in stream_events:
                match event:
                    case stream.TextDelta(text):
                        texts.append(text)
                    case stream.UsageReported(usage):
                        side = request.model is not state.model
                        state.count_call(usage, request.model if side else None, ROLE if side else "")
                    case stream.Retrying() | stream.Noticed():
                        run.emit(events.event_of_call(event))
                    case stream.Finished():
                        finished = event
                    case _:
                        pass
    except ZotError as error:
        raise CompactionFailed(str(error)) from error
    if finished is None or finished.stop in ("error", "aborted"):
        error = finished.error if finished else None
        raise CompactionFailed(str(error or "the summary was cut off")) from error
    return "".join(texts)


def _instruction(message: Message) -> PendingPrompt | None:
    if message.role != "user" or SYNTHETIC in message.meta:
        return None
    compacted = "compaction" in message.meta
    text = message.meta.get("last_instruction", "") if compacted else message.text()
    images = tuple(block for block in message.content if isinstance(block, ImageBlock))
    return PendingPrompt(text, images) if text or images else None
