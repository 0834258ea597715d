"""Handles ops of the conversation itself; others are handled by the feature whose row names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zot.agent.session_change import clear
from zot.errors import AgentBusy, UsageError
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock
from zot.wire import ops
from zot.wire.ops import Op as Op

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

# Recordings store prompts, answers and aborts as inputs of the agent, and these as commands.
_RECORDED = frozenset(("compact", "rewind", "clear", "set_model", "set_reasoning", "set_permission_mode"))
# Denied while a prompt is running.
_NEED_IDLE = frozenset(("clear", "set_reasoning"))


def handle(conversation: Conversation, op: Op) -> Any:
    tag = str(type(op).__struct_config__.tag)
    if tag in _RECORDED:
        record_op(conversation, op)
    if tag in _NEED_IDLE and conversation.busy:
        raise AgentBusy("agent is busy")
    if own := _OWN.get(tag):
        return own(conversation, op)
    if feature := conversation.features.join_for_op(conversation, tag):
        return feature.submit(op)
    raise UsageError(f"unsupported op {tag}")


def record_op(conversation: Conversation, op: Op) -> None:
    """Record it, without ids and defaults."""
    fields = {name: value for name in op.__struct_fields__ if name != "id" and (value := getattr(op, name))}
    conversation.record_command(str(type(op).__struct_config__.tag), **fields)


def image_blocks(op: ops.Prompt | ops.Steer) -> tuple[ImageBlock, ...]:
    """UsageError names an image that cannot be read."""
    blocks: list[ImageBlock] = []
    for number, image in enumerate(op.images):
        if not (mime_type := sniff(image.data)):
            raise UsageError(f"images[{number}] is no PNG, JPEG, GIF or WebP image")
        blocks.append(ImageBlock(mime_type, image.data))
    return tuple(blocks)


_OWN: dict[str, Callable[[Conversation, Any], Any]] = {
    "prompt": lambda conversation, op: conversation.prompt(op.message, image_blocks(op)),
    "steer": lambda conversation, op: conversation.steer(op.message, image_blocks(op)),
    "continue": lambda conversation, op: conversation.continue_run(),
    "abort": lambda conversation, op: conversation.abort(),
    "compact": lambda conversation, op: conversation.compact(op.focus),
    "clear": lambda conversation, op: clear(conversation),
    "set_model": lambda conversation, op: conversation.set_model(op.model, op.provider),
    "set_reasoning": lambda conversation, op: conversation.set_reasoning(op.reasoning),
    "set_permission_mode": lambda conversation, op: conversation.set_permission_mode(op.permission_mode),
}
