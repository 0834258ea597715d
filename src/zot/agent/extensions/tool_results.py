"""What a child answered to a tool call, turned into what the model reads. Nothing it sends can break the turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zot.core.tool import ToolResult
from zot.provider.messages import ImageBlock, ResultBlock, TextBlock
from zot.wire import frames


def converted(extension: str, tool: str, answer: frames.ToolResult) -> ToolResult:
    """Blocks that cannot be used become text saying so; an image that cannot be decoded makes it an error."""
    blocks: list[ResultBlock] = []
    formats: list[str] = []
    broken = False
    for content in answer.content:
        block = _block(extension, tool, content)
        if block is None:
            continue
        broken = broken or (content.type == "image" and isinstance(block, TextBlock))
        blocks.append(block)
        formats.append("markdown" if content.format == "markdown" else "")
    if not blocks:
        blocks.append(TextBlock(f"(extension {extension}/{tool} returned no content)"))
    details = {**about(extension, tool), **_extras(answer, formats)}
    return ToolResult(tuple(blocks), answer.is_error or broken, details)


def failed(extension: str, tool: str, reason: str, *, timed_out: bool = False) -> ToolResult:
    details: dict[str, Any] = about(extension, tool)
    if timed_out:
        details["timed_out"] = True
    return ToolResult((TextBlock(f"extension {extension}/{tool} failed: {reason}"),), True, details)


def about(extension: str, tool: str) -> dict[str, Any]:
    """For screens, observers and the session file; never for the model."""
    return {"extension": extension, "tool": tool}


def _extras(answer: frames.ToolResult, formats: Iterable[str]) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if any(formats):
        extras["formats"] = list(formats)  # one for each block of the content
    if answer.structured_content is not None:
        extras["structured_content"] = answer.structured_content
    return extras


def _block(extension: str, tool: str, content: frames.Content) -> ResultBlock | None:
    match content.type:
        case "text":
            return TextBlock(content.text) if content.text else None
        case "image":
            return _image(extension, tool, content)
        case other:
            return TextBlock(f"(extension {extension}/{tool} returned a block of unknown type {other[:40]!r})")


def _image(extension: str, tool: str, content: frames.Content) -> ResultBlock:
    from base64 import b64decode  # only for images
    from binascii import Error

    try:
        data = b64decode(content.data, validate=True)
    except (Error, ValueError):
        data = b""
    if not data:
        return TextBlock(f"(extension {extension}/{tool} returned an image that cannot be decoded)")
    return ImageBlock(content.mime_type or "image/png", data)
