"""Compaction: the older part of the transcript becomes one message that another model could go on from.

Either it succeeds whole or the transcript is unchanged. The last instruction of the user always survives word
for word, a tool exchange is never split, and the summary's cost is counted.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Sequence
from contextlib import aclosing, contextmanager

from zot.core import events
from zot.core.events import SYNTHETIC, CompactionEnded, CompactionStarted
from zot.core.inputs import Prompt
from zot.core.run import Run
from zot.core.state import AgentState
from zot.core.summary_text import INSTRUCTIONS, SYSTEM, length_of, serialise
from zot.errors import CompactionFailed, ZotError, in_words
from zot.provider import model_call as stream
from zot.provider.messages import Block, ImageBlock, Message, TextBlock, user_message, utc_now

AUTOMATIC_TAIL = 4
SUMMARY_TOKENS = 4096
HEADING = "## Context Summary (compacted)"
LAST_INSTRUCTION = "## Last instruction"

_CHARS_PER_TOKEN = 4
_ASSUMED_WINDOW = 32_768  # for a model whose window is unknown
_OVERHEAD_TOKENS = 1024  # the summariser's own instructions


async def compact(state: AgentState, run: Run, keep_tail: int = 0) -> str:
    """Replace all but the last ``keep_tail`` messages with a summary; returns the model's text."""
    messages = state.messages
    if not state.readers.hear(CompactionStarted):
        return await _compact(state, run, messages, keep_tail)
    with _announced(state, messages):
        return await _compact(state, run, messages, keep_tail)


@contextmanager
def _announced(state: AgentState, messages: Sequence[Message]) -> Generator[None]:
    """Emit that an attempt begins, and how it ended."""
    started = CompactionStarted(os.urandom(8).hex(), len(messages), length_of(messages) // _CHARS_PER_TOKEN)
    state.emit(started)
    try:
        yield
    except asyncio.CancelledError:
        state.emit(CompactionEnded(started, "cancelled"))
        raise
    except Exception as error:
        state.emit(CompactionEnded(started, "failed", in_words(error)))
        raise
    state.emit(CompactionEnded(started, "completed"))


async def _compact(state: AgentState, run: Run, messages: Sequence[Message], keep_tail: int) -> str:
    if not messages:
        raise CompactionFailed("nothing to compact")
    start = tail_start(messages, keep_tail, state.model.context_window)
    if start == 0:
        raise CompactionFailed("nothing to compact: the messages to keep are the whole transcript")
    summary = await _summarise(state, run, messages[:start])
    state.replace_by_summary(_summary_message(summary, messages, start), len(messages) - start)
    return summary


async def compact_automatically(state: AgentState, run: Run, why: str, keep_tail: int = AUTOMATIC_TAIL) -> bool:
    """Compact in mid-task. A failure is told and the task goes on; returns whether there is room now."""
    run.emit(events.Notice(f"{why}: compacting"))
    run.emit(events.CompactStart(automatic=True))
    try:
        summary = await compact(state, run, keep_tail)
    except CompactionFailed as error:
        run.emit(events.Notice(f"automatic compaction failed: {error}", "warn"))
        return False
    run.emit(events.CompactDone(summary, automatic=True))
    return True


async def compact_after_overflow(state: AgentState, run: Run) -> bool:
    """The provider refused the prompt as too long; a short transcript has no tail to spare."""
    tail = AUTOMATIC_TAIL if len(state.messages) > AUTOMATIC_TAIL else 0
    return await compact_automatically(state, run, "the prompt does not fit the model's window", tail)


def tail_start(messages: Sequence[Message], keep: int, window: int) -> int:
    """Where the kept tail begins: never between a call and its result, and never more than half a window."""
    start = max(0, len(messages) - keep)
    while 0 < start < len(messages) and messages[start].role == "tool":
        start -= 1
    room = window * _CHARS_PER_TOKEN // 2
    while window and start < len(messages) and length_of(messages[start:]) > room:
        start += 1
        while start < len(messages) and messages[start].role == "tool":
            start += 1
    return start


async def _summarise(state: AgentState, run: Run, messages: Sequence[Message]) -> str:
    window = state.model.context_window or _ASSUMED_WINDOW
    room = max(1, window - SUMMARY_TOKENS - _OVERHEAD_TOKENS) * _CHARS_PER_TOKEN
    conversation = f"<conversation>\n{serialise(messages, room)}\n</conversation>\n\n{INSTRUCTIONS}"
    request = stream.Request(
        model=state.model,
        system=SYSTEM,
        messages=(user_message(conversation),),
        max_tokens=SUMMARY_TOKENS,
        session_id=state.session_id,
    )
    summary = (await _read(state, run, request)).strip()
    if not summary:
        raise CompactionFailed("empty summary from model")
    return summary


async def _read(state: AgentState, run: Run, request: stream.Request) -> str:
    texts: list[str] = []
    finished: stream.Finished | None = None
    try:
        async with aclosing(state.client.stream(request)) as heard:
            async for event in heard:
                match event:
                    case stream.TextDelta(text):
                        texts.append(text)
                    case stream.UsageReported(usage):
                        state.spend(usage)
                    case stream.Retrying(attempt, attempts, wait_s, reason):
                        run.emit(events.RetryWait(attempt, attempts, wait_s, reason))
                    case stream.Finished():
                        finished = event
                    case _:
                        pass
    except ZotError as error:
        raise CompactionFailed(str(error)) from error
    if finished is None or finished.stop in ("error", "aborted"):
        reason = finished.error if finished and finished.error else "the summary was cut off"
        raise CompactionFailed(str(reason))
    return "".join(texts)


def _summary_message(summary: str, messages: Sequence[Message], start: int) -> Message:
    text = f"{HEADING}\n\n{summary}"
    meta = {"compaction": "true", "tokens_before": str(length_of(messages[:start]) // _CHARS_PER_TOKEN)}
    images: tuple[Block, ...] = ()
    instruction = _lost_instruction(messages, start)
    if instruction is not None:
        text += f"\n\n{LAST_INSTRUCTION}\n\n{instruction.text}"
        meta["last_instruction"] = instruction.text  # a later compaction finds it here
        images = instruction.images
    return Message("user", (*images, TextBlock(text)), utc_now(), meta)


def _lost_instruction(messages: Sequence[Message], start: int) -> Prompt | None:
    """The user's last prompt, unless the tail still holds it."""
    at = next((i for i in reversed(range(len(messages))) if _instruction(messages[i])), -1)
    return None if at < 0 or at >= start else _instruction(messages[at])


def _instruction(message: Message) -> Prompt | None:
    if message.role != "user" or SYNTHETIC in message.meta:
        return None
    compacted = "compaction" in message.meta
    text = message.meta.get("last_instruction", "") if compacted else message.text()
    images = tuple(block for block in message.content if isinstance(block, ImageBlock))
    return Prompt(text, images) if text or images else None
