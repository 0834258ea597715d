"""Numbers for models nobody gave numbers for: a request never says ``max_tokens: 0``.

A known family keeps its family's limits; anything else gets what its kind of provider can bear.
"""

from __future__ import annotations

import msgspec

from zot.provider.model import Model
from zot.provider.providers import Provider

# prefix, context window, output limit, reasoning; the first match counts.
_FAMILIES: tuple[tuple[str, int, int, bool], ...] = (
    ("claude-3-7", 200_000, 64_000, True),
    ("claude-3-5", 200_000, 8_192, False),
    ("claude-3", 200_000, 4_096, False),
    ("claude-", 200_000, 32_000, True),
    ("gpt-5", 272_000, 128_000, True),
    ("gpt-4.1", 1_047_576, 32_768, False),
    ("gpt-4o", 128_000, 16_384, False),
    ("chatgpt-4o", 128_000, 16_384, False),
    ("gpt-4-turbo", 128_000, 4_096, False),
    ("gpt-4", 8_192, 4_096, False),
    ("gpt-3.5", 16_385, 4_096, False),
    ("gpt-oss", 131_072, 32_768, True),
    ("o1", 200_000, 100_000, True),
    ("o3", 200_000, 100_000, True),
    ("o4", 200_000, 100_000, True),
    ("o5", 200_000, 100_000, True),
    ("gpt-", 128_000, 16_384, False),
    ("kimi-", 262_144, 32_000, True),
)


def with_limits(model: Model, provider: Provider | None) -> Model:
    """The same row with window and output limit filled in where they were unknown."""
    if model.context_window > 0 and model.max_output > 0:
        return model
    window, output, reasoning = _family(model.id) or (*_by_kind(provider), model.reasoning)
    window = model.context_window or window
    return msgspec.structs.replace(
        model,
        context_window=window,
        max_output=model.max_output or min(output, max(1, window // 2)),
        reasoning=model.reasoning or (reasoning and model.source != "user"),
    )


def _family(model_id: str) -> tuple[int, int, bool] | None:
    name = model_id.rsplit("/", 1)[-1].lower()  # gateways prefix the vendor
    return next(((row[1], row[2], row[3]) for row in _FAMILIES if name.startswith(row[0])), None)


def _by_kind(provider: Provider | None) -> tuple[int, int]:
    if provider is not None and provider.id == "ollama":
        return 32_768, 8_192
    if provider is not None and (provider.local or provider.discover):
        return 32_768, 4_096
    return 128_000, 16_384
