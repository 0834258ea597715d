"""Agent events as JSON: the one encoder that ``--json`` and ``zot rpc`` share, and what a transcript looks like.

Compact JSON, ``type`` first. Image data never leaves (a byte count does), reasoning blocks are left out, and a
natural end is spelled ``end_turn``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from zot.core import events as ev
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
)

_encoder = msgspec.json.Encoder()

# Events whose fields are the wire's own: encoded as they are, the hot path of a streaming answer.
_PLAIN = (
    ev.TextDelta,
    ev.ToolUseArgs,
    ev.ToolProgress,
    ev.TurnStart,
    ev.AssistantStart,
    ev.ToolUseStart,
    ev.ToolUseEnd,
    ev.Error,
    ev.Done,
)


def encode(event: ev.AgentEvent) -> bytes | None:
    """One line without its newline, or None for events that are not part of the wire (notices)."""
    if isinstance(event, _PLAIN):
        return _encoder.encode(event)
    fields = _fields(event)
    return None if fields is None else _encoder.encode(fields)


def _fields(event: ev.AgentEvent) -> dict[str, Any] | None:
    match event:
        case ev.UserMessage(message):
            return {"type": "user_message", "content": blocks(message.content), "time": message.time}
        case ev.AssistantMessage(message):
            return {"type": "assistant_message", "content": blocks(message.content), "time": message.time}
        case ev.ToolCall(call):
            return {"type": "tool_call", "id": call.id, "name": call.name, "args": call.parsed()}
        case ev.ToolResultEvent(id, is_error, content):
            return {"type": "tool_result", "id": id, "is_error": is_error, "content": blocks(content)}
        case ev.UsageEvent(usage, cumulative, auxiliary):
            fields = {"type": "usage", **usage_fields(usage), "cumulative": usage_fields(cumulative)}
            return {**fields, "auxiliary": True} if auxiliary else fields
        case ev.TurnEnd(stop, error):
            fields = {"type": "turn_end", "stop": "end_turn" if stop == "end" else stop}
            return {**fields, "error": error} if error else fields
        case ev.CompactDone(summary, automatic):
            return None if automatic else {"type": "compact_done", "summary": summary}
        case _:
            return None


def usage_fields(usage: Usage) -> dict[str, Any]:
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "cost_usd": usage.cost_usd,
    }


def message_fields(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": blocks(message.content), "time": message.time}


def blocks(content: tuple[Block, ...]) -> list[dict[str, Any]]:
    return [_block(block) for block in content if not isinstance(block, ReasoningBlock)]


def _block(block: TextBlock | ImageBlock | ToolCallBlock | ToolResultBlock) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ImageBlock(mime_type, data):
            return {"type": "image", "mime_type": mime_type, "bytes": len(data)}
        case ToolCallBlock(id, name):
            return {"type": "tool_call", "id": id, "name": name, "args": block.parsed()}
        case ToolResultBlock(call_id, content, is_error):
            return {"type": "tool_result", "call_id": call_id, "is_error": is_error, "content": blocks(content)}
