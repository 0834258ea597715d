"""One row of the model catalog."""

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
    free: bool = False  # the user's word that it costs nothing, where no price would mean that none is known
    speculative: bool = False
    base_url: str = ""
    source: Source = "catalog"
    input: tuple[str, ...] = ("text", "image")
    tools: bool | None = None  # whether it can call tools; None: nobody said
    tool_calls: Literal["", "grammar"] = ""  # "grammar": a grammar holds it to actions; it cannot call tools by itself
    # zot level -> what this model calls it; a level that is absent is clamped to the nearest present one.
    reasoning_levels: dict[str, str] = {}

    @property
    def is_priced(self) -> bool:
        """Whether it is known what it costs, be it nothing."""
        return self.free or self.price_input > 0 or self.price_output > 0

    def priced(self, usage: Usage) -> Usage:
        """The usage with its cost. Reasoning counts as output; cached tokens without a price cost as much as plain
        ones."""
        price = self.price_for(usage.context_tokens)
        cost = (
            usage.input_tokens * price.price_input
            + usage.output_tokens * price.price_output
            + usage.cache_read_tokens * (price.price_cache_read or price.price_input)
            + usage.cache_write_tokens * (price.price_cache_write or price.price_input)
        ) / 1_000_000
        return msgspec.structs.replace(usage, cost_usd=cost)

    def price_for(self, tokens: int) -> "Model | LongPrompt":
        """Whose prices hold for a prompt of so many tokens."""
        return self.long_prompt if self.long_prompt is not None and tokens > self.long_prompt.above else self
