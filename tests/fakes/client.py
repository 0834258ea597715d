"""A scripted model client: each answer is a list of stream events, played in order.

Besides events an answer may hold an exception (raised there), a Pause (waits until let go or cancelled) and a
plain callable (called there). Requests are kept for the test to look at.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Any

import msgspec

from zot.errors import ProviderError
from zot.provider.messages import Block, Message, StopReason, TextBlock, ToolCallBlock, Usage
from zot.provider.model_call import (
    Finished,
    Request,
    Started,
    StreamEvent,
    TextDelta,
    ToolArgs,
    ToolEnded,
    ToolStarted,
    UsageReported,
)

TIME = "2026-01-01T00:00:00.000Z"
SOME_USAGE = Usage(input_tokens=100, output_tokens=10)


class Pause:
    """A point in an answer where the model pauses; ``reached`` signals the test."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()


Item = StreamEvent | BaseException | Pause | Callable[[], None]
Answer = Sequence[Item]


class FakeClient:
    """Plays one answer per call; more calls than answers is a mistake of the test."""

    def __init__(self, *answers: Answer, name: str = "fake") -> None:
        self._answers = list(answers)
        self._name = name
        self.requests: list[Request] = []
        self.closed = False

    @property
    def name(self) -> str:
        return self._name

    def add(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self.requests.append(request)
        assert self._answers, "the model was called more often than the test scripted"
        for item in self._answers.pop(0):
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, Pause):
                item.reached.set()
                await item.go_on.wait()
            elif callable(item):
                item()
            else:
                yield item

    async def aclose(self) -> None:
        self.closed = True


def says(*deltas: str, stop: StopReason = "end", usage: Usage = SOME_USAGE) -> list[Item]:
    """An answer in words, one delta per argument."""
    return answer((TextBlock("".join(deltas)),), deltas, stop=stop, usage=usage)


def calls(
    *wanted: tuple[str, dict[str, Any] | str],
    text: str = "",
    stop: StopReason = "tool_use",
    usage: Usage = SOME_USAGE,
    first_id: int = 1,
) -> list[Item]:
    """An answer that calls tools ``t1``, ``t2``...; arguments are a dict, or raw text for invalid JSON."""
    blocks = [
        ToolCallBlock(f"t{i}", name, args if isinstance(args, str) else msgspec.json.encode(args).decode())
        for i, (name, args) in enumerate(wanted, first_id)
    ]
    said: tuple[Block, ...] = (TextBlock(text),) if text else ()
    return answer((*said, *blocks), [text] if text else [], stop=stop, usage=usage)


def answer(
    content: tuple[Block, ...],
    deltas: Iterable[str] = (),
    *,
    stop: StopReason = "end",
    usage: Usage = SOME_USAGE,
    error: ProviderError | None = None,
) -> list[Item]:
    """A whole answer in the lawful order of stream events."""
    events: list[Item] = [Started("fake-1", "fake")]
    events += [TextDelta(delta) for delta in deltas]
    for block in content:
        if isinstance(block, ToolCallBlock):
            events += [ToolStarted(block.id, block.name), ToolArgs(block.id, block.arguments), ToolEnded(block.id)]
    return [*events, UsageReported(usage), Finished(stop, Message("assistant", content, TIME), error)]


def falls_silent(*before: StreamEvent) -> tuple[Pause, list[Item]]:
    """An answer that starts, sends ``before`` and then waits; for tests that cancel."""
    pause = Pause()
    return pause, [Started("fake-1", "fake"), *before, pause]
