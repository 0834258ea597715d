"""A transcript in the wire's shape, as the agent keeps it: what seeds a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from zot.errors import UsageError
from zot.provider.messages import Block, Message, ResultBlock, TextBlock, ToolCallBlock, ToolResultBlock
from zot.wire import rpc_frames


def transcript_of(messages: Sequence[rpc_frames.Message]) -> list[Message]:
    """UsageError for an image: the wire carries only its size, so it cannot be brought back."""
    return [Message(message.role, tuple(map(_block, message.content)), message.time) for message in messages]


def _block(block: rpc_frames.Content) -> Block:
    match block:
        case rpc_frames.ToolCallContent():
            arguments = "" if block.args is None else msgspec.json.encode(block.args).decode()
            return ToolCallBlock(block.id, block.name, arguments)
        case rpc_frames.ToolResultContent():
            return ToolResultBlock(block.call_id, tuple(_results(block.content)), block.is_error)
        case _:
            return _plain(block)


def _results(blocks: Iterable[rpc_frames.TextContent | rpc_frames.ImageContent]) -> Iterable[ResultBlock]:
    return (_plain(block) for block in blocks)


def _plain(block: rpc_frames.TextContent | rpc_frames.ImageContent) -> TextBlock:
    if isinstance(block, rpc_frames.ImageContent):
        raise UsageError(
            "a message with an image cannot be set: only the image's size is known; keep a session instead"
        )
    return TextBlock(block.text)
