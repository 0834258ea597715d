"""Messages as extensions see and send them: role, content blocks, and the extension that wrote them.
Reasoning is never shown to an extension."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from zot.core.events import OF_EXTENSION
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    utc_now,
)

KIND = "extension_kind"  # in a message's ``meta``: the type that its extension gave it
VIEW = "extension_view"  # likewise: the View to draw, as JSON
DATA = "extension_data"  # likewise: data of the extension, as JSON


class WireMessage(msgspec.Struct, frozen=True):
    """A message that an extension sends; ``content`` is a text or blocks."""

    role: str = "user"
    content: Any = ""


def wire_message(message: Message, entry_id: str = "", *, images: bool = False) -> dict[str, Any]:
    """``images``: with their data."""
    found: dict[str, Any] = {"entry_id": entry_id} if entry_id else {}
    found |= {"role": message.role, "content": list(_blocks(message.content, images))}
    if extension := message.meta.get(OF_EXTENSION):
        found["extension"] = extension
    if kind := message.meta.get(KIND):
        found["kind"] = kind
    return found


def _blocks(blocks: Iterable[Block], images: bool) -> Iterable[dict[str, Any]]:
    for block in blocks:
        match block:
            case TextBlock(text):
                yield {"type": "text", "text": text}
            case ImageBlock(mime_type, data):
                encoded = {"data": base64.b64encode(data).decode()} if images else {}
                yield {"type": "image", "mime_type": mime_type, **encoded}
            case ToolCallBlock(id, name):
                yield {"type": "tool_call", "id": id, "name": name, "args": block.value}
            case ToolResultBlock(call_id, content, is_error):
                inner = list(_blocks(content, images))
                yield {"type": "tool_result", "call_id": call_id, "content": inner, "is_error": is_error}
            case ReasoningBlock():
                pass


def parse_content(value: Any) -> tuple[TextBlock | ImageBlock, ...]:
    """A text or blocks of text and images; ValueError names what is wrong."""
    if isinstance(value, str):
        return (TextBlock(value),) if value else ()
    if not isinstance(value, list):
        raise ValueError("content: expected a string or a list of blocks")
    return tuple(_content_block(item) for item in cast("list[Any]", value))


def _content_block(item: Any) -> TextBlock | ImageBlock:
    block = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    match block.get("type"):
        case "text" if isinstance(text := block.get("text"), str):
            return TextBlock(text)
        case "image" if isinstance(data := block.get("data"), str):
            try:
                raw = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise ValueError("content: an image whose data is not base64") from None
            return ImageBlock(str(block.get("mime_type") or "image/png"), raw)
        case other:
            raise ValueError(f"content: expected blocks of type text or image, not {str(other)[:40]!r}")


def parse_messages(values: Iterable[WireMessage], extension: str = "") -> tuple[Message, ...]:
    """Messages of the user and the model, marked with the extension; ValueError names what is wrong."""
    meta = {OF_EXTENSION: extension} if extension else {}
    return tuple(_parsed(value, meta) for value in values)


def _parsed(value: WireMessage, meta: dict[str, str]) -> Message:
    content = parse_content(value.content)
    if value.role not in ("user", "assistant"):
        raise ValueError(f"messages: role: expected user or assistant, not {value.role[:40]!r}")
    if not content:
        raise ValueError("messages: content: missing")
    if value.role == "assistant":
        if any(isinstance(block, ImageBlock) for block in content):
            raise ValueError("messages: an image of the assistant")
        return Message("assistant", content, utc_now(), meta)
    return Message("user", content, utc_now(), meta)
