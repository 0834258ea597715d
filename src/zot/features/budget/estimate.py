"""About what a request costs at least: its input, most of which may be in the provider's cache since the last one."""

from __future__ import annotations

import time

from zot.core.compaction import CHARS_PER_TOKEN
from zot.core.compaction_prompt import length_of
from zot.provider.messages import ImageBlock, ToolResultBlock
from zot.provider.model_call import Request, StreamEvent, UsageReported

_CACHE_LIFE_S = 300.0
_IMAGE_TOKENS = 1_500


class Estimate:
    """Hears what each request turned out to be, to know what the next one finds cached."""

    def __init__(self) -> None:
        self._last: tuple[str, int, float] = ("", 0, 0.0)  # what the last request sent: model, tokens, when

    def least(self, request: Request) -> float:
        """In USD: what the last request sent is cached, the rest is new."""
        model, tokens = request.model, tokens_of(request)
        last, sent, when = self._last
        warm = last == model.id and model.price_cache_read and time.monotonic() - when < _CACHE_LIFE_S
        cached = min(sent, tokens) if warm else 0
        price = model.price_for(tokens)
        return (cached * price.price_cache_read + (tokens - cached) * price.price_input) / 1_000_000

    def hear(self, request: Request, event: StreamEvent) -> None:
        if isinstance(event, UsageReported) and event.usage.context_tokens:
            self._last = (request.model.id, event.usage.context_tokens, time.monotonic())


def tokens_of(request: Request) -> int:
    """About how many tokens a request sends."""
    tools = sum(len(tool.name) + len(tool.description) + len(str(tool.schema)) for tool in request.tools)
    characters = len(request.system) + tools + length_of(request.messages)
    return characters // CHARS_PER_TOKEN + _images_in(request) * _IMAGE_TOKENS


def _images_in(request: Request) -> int:
    blocks = [block for message in request.messages for block in message.content]
    inner = [part for block in blocks if isinstance(block, ToolResultBlock) for part in block.content]
    return sum(isinstance(block, ImageBlock) for block in (*blocks, *inner))
