"""A tool's result as an extension sees it: wire blocks, cut to a budget. The model's own result is never shortened."""

from __future__ import annotations

from collections.abc import Sequence

from zot.provider.messages import ImageBlock, ResultBlock, TextBlock
from zot.wire import limits
from zot.wire.frames import Content


def wire_blocks(
    content: Sequence[ResultBlock], budget: int = limits.OBSERVED_RESULT, most: int = limits.OBSERVED_BLOCKS
) -> tuple[tuple[Content, ...], bool]:
    """The blocks that fit, and whether anything was cut."""
    kept: list[Content] = []
    cut = len(content) > most
    for block in content[:most]:
        wire, whole = _fit(block, budget)
        cut = cut or not whole
        if wire is not None:
            kept.append(wire)
            budget -= _size(wire)
    return tuple(kept), cut


def _fit(block: ResultBlock, room: int) -> tuple[Content | None, bool]:
    match block:
        case TextBlock(text):
            data = text.encode("utf-8", "replace")
            if len(data) <= room:
                return Content(type="text", text=text), True
            return Content(type="text", text=data[: max(0, room)].decode("utf-8", "ignore")), False
        case ImageBlock(mime_type, data):
            if len(data) * 4 // 3 + 4 + len(mime_type) > room:
                return None, False
            from base64 import b64encode  # only for images

            return Content(type="image", mime_type=mime_type, data=b64encode(data).decode()), True


def _size(block: Content) -> int:
    return len(block.text.encode("utf-8", "replace")) + len(block.data) + len(block.mime_type)
