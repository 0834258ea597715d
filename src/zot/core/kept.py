"""What is kept of an answer. The transcript never holds a call that will not be answered.

Only an answer that ended by itself keeps its calls; any other ending keeps its text alone, and an aborted
answer that had begun a call keeps nothing.
"""

from __future__ import annotations

import msgspec

from zot.provider.messages import Block, Message, StopReason, TextBlock, ToolCallBlock, utc_now


def kept_message(message: Message, stop: StopReason) -> tuple[Message | None, StopReason]:
    """The message to append, if any, and the stop as the loop should take it."""
    calls = message.tool_calls()
    match stop:
        case "tool_use":
            stop = "tool_use" if calls else "end"
            content = message.content
        case "end" if all(_is_complete(call) for call in calls):
            stop = "tool_use" if calls else "end"  # some servers call a finished call a natural end
            content = message.content
        case "aborted" if calls:
            content = ()
        case _:
            content = _text_of(message)
    return _dated(message, content) if _says_something(content) else None, stop


def with_text(message: Message, text: str) -> Message:
    """The same message with all its text replaced by one block, where the first one stood."""
    content: list[Block] = []
    replaced = False
    for block in message.content:
        if not isinstance(block, TextBlock):
            content.append(block)
        elif not replaced:
            content.append(TextBlock(text))
            replaced = True
    return msgspec.structs.replace(message, content=tuple(content))


def _is_complete(call: ToolCallBlock) -> bool:
    return not call.arguments.strip() or isinstance(call.value, dict)


def _text_of(message: Message) -> tuple[Block, ...]:
    return tuple(block for block in message.content if isinstance(block, TextBlock) and block.text)


def _says_something(content: tuple[Block, ...]) -> bool:
    return any(not isinstance(block, TextBlock) or block.text for block in content)


def _dated(message: Message, content: tuple[Block, ...]) -> Message:
    return msgspec.structs.replace(message, content=content, time=message.time or utc_now())
