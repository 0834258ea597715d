"""One row of the model catalog."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
from typing import Literal

import msgspec

from zot.provider.messages import Usage

Reasoning = Literal["", "off", "minimum", "low", "medium", "high", "xhigh", "max"]
REASONING_LEVELS = ("off", "minimum", "low", "medium", "high", "xhigh", "max")
Source = Literal["catalog", "live", "cache", "user", "ollama", "script", "extension"]

# How a request sets how much a model reasons. "effort": a word; "budget": a number of tokens; "adaptive": the model
# decides within an effort; "switch": only on or off; "none": it does not reason; "": unknown.
ReasoningStyle = Literal["", "none", "effort", "budget", "adaptive", "switch"]


class LongPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """Prices of a call whose prompt has more than ``above`` tokens: of all tokens, not only those above."""

    above: int
    price_input: float
    price_output: float
    price_cache_read: float = 0.0
    price_cache_write: float = 0.0
    longer: "LongPrompt | None" = None  # of a still longer prompt


class BatchPrice(msgspec.Struct, frozen=True, kw_only=True):
    """Prices of the vendor's batch interface, for comparison: zot makes no batch requests."""

    price_input: float
    price_output: float
    price_cache_read: float = 0.0
    price_cache_write: float = 0.0


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A catalog row; prices in USD per million tokens, 0 if unknown. ``None`` and "" mean unknown."""

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
    batch: BatchPrice | None = None
    free: bool = False  # the user declared it free; without this, no price means unknown
    speculative: bool = False
    base_url: str = ""
    source: Source = "catalog"
    input: tuple[str, ...] = ("text", "image")
    tools: bool | None = None  # tool calling; None: unknown
    tool_calls: Literal["", "grammar"] = ""  # "grammar": constrained by a grammar, since it cannot call tools
    # zot level -> the model's word; an absent level becomes the nearest present one.
    reasoning_levels: dict[str, str] = {}
    reasoning_style: ReasoningStyle = ""
    can_skip_reasoning: bool | None = None  # False: it always reasons
    reasoning_format: str = ""  # an OpenAI-compatible server's own field for it: "deepseek", "together", "zai"
    structured_output: bool | None = None  # answers in a JSON schema
    strict_tools: bool | None = None  # tool arguments constrained to their schema
    parallel_calls: bool | None = None  # several tool calls in one answer
    temperature: bool | None = None  # False: rejects the parameter
    cache_ttls: tuple[int, ...] = ()  # lifetimes of the prompt cache in seconds, shortest first
    cutoff: str = ""  # end of its knowledge, YYYY-MM
    retires: str = ""  # date after which the vendor rejects it, YYYY-MM-DD
    successor: str = ""  # id of the model that replaces it
    guessed: str = ""  # id of the model of its family that its limits and reasoning come from

    @property
    def is_priced(self) -> bool:
        """True if its price is known, including free."""
        return self.free or self.price_input > 0 or self.price_output > 0

    def priced(self, usage: Usage) -> Usage:
        """The usage with its cost. Reasoning counts as output; cached tokens without a price cost as much as input."""
        price = self.price_for(usage.context_tokens)
        cost = (
            usage.input_tokens * price.price_input
            + usage.output_tokens * price.price_output
            + usage.cache_read_tokens * (price.price_cache_read or price.price_input)
            + usage.cache_write_tokens * (price.price_cache_write or price.price_input)
        ) / 1_000_000
        return msgspec.structs.replace(usage, cost_usd=cost)

    def price_for(self, tokens: int) -> "Model | LongPrompt":
        """The prices for a prompt of this many tokens."""
        price, longer = self, self.long_prompt
        while longer is not None and tokens > longer.above:
            price, longer = longer, longer.longer
        return price
