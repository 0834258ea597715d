"""One row of the model catalogue. Data only: where rows come from is ``catalog``'s business."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
from typing import Literal

import msgspec

from zot.provider.messages import Usage

Reasoning = Literal["", "off", "minimum", "low", "medium", "high", "xhigh", "max"]
REASONING_LEVELS = ("off", "minimum", "low", "medium", "high", "xhigh", "max")
Source = Literal["catalog", "live", "cache", "user", "ollama", "script"]


class LongPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a call costs whose prompt has more than ``above`` tokens: all of it, not only what is above."""

    above: int
    price_input: float
    price_output: float
    price_cache_read: float = 0.0
    price_cache_write: float = 0.0


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model as zot knows it; prices in USD per million tokens, 0 when unknown."""

    id: str
    provider: str
    name: str = ""
    context_window: int = 0
    max_output: int = 0
    reasoning: bool = False
    price_input: float = 0.0
    price_output: float = 0.0
    price_cache_read: float = 0.0
    price_cache_write: float = 0.0
    long_prompt: LongPrompt | None = None
    speculative: bool = False
    base_url: str = ""
    source: Source = "catalog"
    input: tuple[str, ...] = ("text", "image")
    # zot level -> what this model calls it; a level that is absent is clamped to the nearest present one.
    reasoning_levels: dict[str, str] = {}

    def priced(self, usage: Usage) -> Usage:
        """The same usage with its cost filled in."""
        long = self.long_prompt
        price = long if long is not None and usage.context_tokens > long.above else self
        cost = (
            usage.input_tokens * price.price_input
            + usage.output_tokens * price.price_output
            + usage.cache_read_tokens * price.price_cache_read
            + usage.cache_write_tokens * price.price_cache_write
        ) / 1_000_000
        return msgspec.structs.replace(usage, cost_usd=cost)
