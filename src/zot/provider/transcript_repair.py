"""Makes a transcript acceptable to every provider: each call has exactly one result, right behind it.

Truncated, failed and killed turns leave calls without results and results without calls, and providers
refuse every later request because of one such hole. The originals are never changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from zot.provider.messages import Block, Message, TextBlock, ToolCallBlock, ToolResultBlock

MISSING_RESULT = "The call was aborted without a recorded result."


class Repair:
    """For requests that follow each other: what was in order the last time is not looked through again."""

    def __init__(self) -> None:
        self._settled: tuple[Message, ...] = ()  # up to here every call has its result
        self._made: tuple[Message, ...] = ()

    def __call__(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages without orphan results and empty messages, and with a stub for each unanswered call.

        Valid messages come back as the same objects. A result counts only in the tool messages right behind
        the calls: further away no provider accepts it.
        """
        messages = tuple(messages)
        settled = len(self._settled)
        if messages[:settled] != self._settled:
            settled, self._made = 0, ()
        out = list(self._made)
        made = len(out)
        waiting: list[str] = []  # ids still without result, in order; small servers repeat ids, so no set
        for place in range(settled, len(messages)):
            message = messages[place]
            if message.role == "tool":
                message = _answering(message, waiting)
            else:
                if waiting:
                    _fill(out, waiting)
                message = _without_results(message)
                waiting = [block.id for block in message.content if isinstance(block, ToolCallBlock)]
            if message.content:
                out.append(message)
            if not waiting:
                settled, made = place + 1, len(out)
        self._settled, self._made = messages[:settled], tuple(out[:made])
        if waiting:
            _fill(out, waiting)
        return tuple(out)


def repaired(messages: Sequence[Message]) -> tuple[Message, ...]:
    return Repair()(messages)


def _without_results(message: Message) -> Message:
    if ToolResultBlock not in map(type, message.content):
        return message
    return _keeping(message, [not isinstance(block, ToolResultBlock) for block in message.content])


def _answering(message: Message, waiting: list[str]) -> Message:
    if waiting == [block.call_id if isinstance(block, ToolResultBlock) else None for block in message.content]:
        waiting.clear()
        return message  # as nearly all are: every step goes through the whole transcript
    counts: dict[str, int] = {}
    for id in waiting:
        counts[id] = counts.get(id, 0) + 1
    kept = _keeping(message, [_answers(block, counts) for block in message.content])
    left: list[str] = []
    for id in reversed(waiting):  # of one id that came twice, the first was answered
        if counts[id]:
            counts[id] -= 1
            left.append(id)
    waiting[:] = reversed(left)
    return kept


def _answers(block: Block, counts: dict[str, int]) -> bool:
    if not isinstance(block, ToolResultBlock):
        return True
    if not counts.get(block.call_id):
        return False
    counts[block.call_id] -= 1
    return True


def _keeping(message: Message, keep: list[bool]) -> Message:
    if all(keep):
        return message
    kept = tuple(block for block, wanted in zip(message.content, keep, strict=True) if wanted)
    return msgspec.structs.replace(message, content=kept)


def _fill(out: list[Message], waiting: list[str]) -> None:
    """Stubs join the tool message that is there, or a new one with the time of the calls."""
    stubs = tuple(ToolResultBlock(id, (TextBlock(MISSING_RESULT),), is_error=True) for id in waiting)
    last = out[-1]
    if last.role == "tool":
        out[-1] = msgspec.structs.replace(last, content=last.content + stubs)
    else:
        out.append(Message("tool", stubs, last.time))
