"""Converts results of MCP calls for the model: limited text, images, notes about the rest. ``structuredContent`` is
used if there is nothing else."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from zot.core.tool import ToolResult
from zot.features.mcp.protocol import fields, text_of
from zot.provider.messages import ImageBlock, ResultBlock, TextBlock

MOST_TEXT = 100_000  # characters of all blocks together
MOST_BLOCKS = 200
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def to_content_blocks(server: str, tool: str, raw: msgspec.Raw) -> ToolResult:
    answer = fields(raw)
    content: Any = answer.get("content")
    listed = cast("list[Any]", content) if isinstance(content, list) else []
    blocks = [block for part in listed[:MOST_BLOCKS] for block in _block(part)]
    details: dict[str, Any] = {"mcp": server, "tool": tool}
    if (structured := answer.get("structuredContent")) is not None:
        details["structured_content"] = structured
        if not blocks:
            blocks.append(TextBlock(msgspec.json.encode(structured).decode()))
    if not blocks:
        nothing = "returned an invalid result" if "content" not in answer else "returned nothing"
        blocks.append(TextBlock(f"({server} {nothing})"))
    if len(listed) > MOST_BLOCKS:
        blocks.append(TextBlock(f"({len(listed) - MOST_BLOCKS} more blocks of {server} omitted)"))
    return ToolResult(tuple(truncate_blocks(blocks)), answer.get("isError") is True or "content" not in answer, details)


def truncate_blocks(blocks: list[ResultBlock]) -> list[ResultBlock]:
    """The blocks, truncated to ``MOST_TEXT`` characters of text with a note."""
    kept: list[ResultBlock] = []
    room = MOST_TEXT
    for block in blocks:
        if not isinstance(block, TextBlock) or len(block.text) <= room:
            kept.append(block)
            room -= len(block.text) if isinstance(block, TextBlock) else 0
            continue
        kept.append(TextBlock(f"{block.text[:room]}\n… [{len(block.text) - room:,} more characters omitted]"))
        room = 0
    return [block for block in kept if not isinstance(block, TextBlock) or block.text]


def _block(part: Any) -> list[ResultBlock]:
    if not isinstance(part, dict):
        return []
    block = cast("dict[str, Any]", part)
    match block.get("type"):
        case "text":
            return [TextBlock(text)] if (text := text_of(block.get("text"))) else []
        case "image":
            return [_picture(block)]
        case "audio":
            return [TextBlock(f"(audio, {text_of(block.get('mimeType'))[:60]}, not supported)")]
        case "resource":
            return of_resource(block.get("resource"))
        case "resource_link":
            words = (text_of(block.get(key))[:500] for key in ("uri", "name", "description"))
            return [TextBlock(f"(resource: {' · '.join(filter(None, words))})")]
        case other:
            return [TextBlock(f"(a block of unknown type {str(other)[:40]!r})")]


def of_resource(resource: Any) -> list[ResultBlock]:
    """The content of a resource; binary data other than pictures is only named."""
    if not isinstance(resource, dict):
        return []
    held = cast("dict[str, Any]", resource)
    uri, kind = text_of(held.get("uri"))[:500], text_of(held.get("mimeType"))[:60]
    if text := text_of(held.get("text")):
        return [TextBlock(f"{uri}:\n{text}" if uri else text)]
    blob = text_of(held.get("blob"))
    if kind in _PICTURES:
        return [_picture({"data": blob, "mimeType": kind})]
    return [TextBlock(f"({uri}: {kind or 'data'}, {len(blob) * 3 // 4:,} bytes)")]


def _picture(block: dict[str, Any]) -> ResultBlock:
    from base64 import b64decode  # only for pictures
    from binascii import Error

    kind = text_of(block.get("mimeType")) or "image/png"
    try:
        data = b64decode(text_of(block.get("data")), validate=True)
    except (Error, ValueError):
        data = b""
    if not data:
        return TextBlock("(a picture that cannot be decoded)")
    if kind not in _PICTURES:
        return TextBlock(f"(a picture of unsupported type {kind[:60]!r})")
    return ImageBlock(kind, data)
