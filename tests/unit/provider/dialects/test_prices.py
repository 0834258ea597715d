"""The cost of a call by dialect: usage as the vendors' streams report it, and the price of each kind of token.

The bodies of ``usage`` are those the vendors document and send; prices are in USD per million tokens.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.unit.provider.samples import ENDPOINT
from zot.provider.dialects import dialect_for
from zot.provider.http.sse import SseEvent
from zot.provider.messages import Usage
from zot.provider.model import LongPrompt, Model
from zot.provider.model_call import Request, UsageReported

MILLION = 1_000_000
LONG = LongPrompt(above=200_000, price_input=6, price_output=22.5, price_cache_read=0.6, price_cache_write=7.5)
SONNET = Model(
    id="m",
    provider="p",
    price_input=3,
    price_output=15,
    price_cache_read=0.3,
    price_cache_write=3.75,
    long_prompt=LONG,
)
GPT = Model(id="m", provider="p", price_input=1.25, price_output=10, price_cache_read=0.125)


def messages(start: dict[str, Any], delta: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": {"usage": start}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": delta},
        {"type": "message_stop"},
    ]


def chat(usage: dict[str, Any]) -> list[Any]:
    return [{"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}, {"usage": usage}, "[DONE]"]


def responses(usage: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "response.completed", "response": {"status": "completed", "usage": usage}}]


CASES: list[tuple[str, str, Model, list[Any], Usage, float]] = [
    (
        "messages: cache read and written for five minutes",
        "anthropic",
        SONNET,
        messages(
            {
                "input_tokens": 4,
                "cache_creation_input_tokens": 1000,
                "cache_read_input_tokens": 20_000,
                "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 0},
                "output_tokens": 1,
                "service_tier": "standard",
            },
            {"output_tokens": 500},
        ),
        Usage(4, 500, 20_000, 1000),
        (4 * 3 + 500 * 15 + 20_000 * 0.3 + 1000 * 3.75) / MILLION,
    ),
    (
        "messages: written for an hour costs twice the input",
        "anthropic",
        SONNET,
        messages(
            {
                "input_tokens": 4,
                "cache_creation_input_tokens": 1500,
                "cache_read_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 1000},
                "output_tokens": 1,
            },
            {"output_tokens": 10},
        ),
        Usage(4, 10, 0, 1500),
        (4 * 3 + 10 * 15 + 500 * 3.75 + 1000 * 6) / MILLION,
    ),
    (
        "messages: counters come again with the end, and are not added",
        "anthropic",
        SONNET,
        messages(
            {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1},
            {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 20},
        ),
        Usage(10, 20, 100),
        (10 * 3 + 20 * 15 + 100 * 0.3) / MILLION,
    ),
    (
        "messages: a long prompt costs more, all of it, cached tokens counted in",
        "anthropic",
        SONNET,
        messages(
            {"input_tokens": 1, "cache_read_input_tokens": 199_000, "cache_creation_input_tokens": 1000},
            {"output_tokens": 100},
        ),
        Usage(1, 100, 199_000, 1000),
        (1 * 6 + 100 * 22.5 + 199_000 * 0.6 + 1000 * 7.5) / MILLION,
    ),
    (
        "messages: up to the limit it does not",
        "anthropic",
        SONNET,
        messages({"input_tokens": 200_000}, {"output_tokens": 100}),
        Usage(200_000, 100),
        (200_000 * 3 + 100 * 15) / MILLION,
    ),
    (
        "chat: cached tokens are part of the prompt, thoughts part of the output",
        "openai",
        GPT,
        chat(
            {
                "prompt_tokens": 2006,
                "completion_tokens": 300,
                "total_tokens": 2306,
                "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 192, "audio_tokens": 0},
            }
        ),
        Usage(86, 300, 1920, 0, 0.0, 192),
        (86 * 1.25 + 300 * 10 + 1920 * 0.125) / MILLION,
    ),
    (
        "chat: Moonshot counts cached tokens elsewhere",
        "openai",
        GPT,
        chat({"prompt_tokens": 1000, "completion_tokens": 10, "cached_tokens": 900}),
        Usage(100, 10, 900),
        (100 * 1.25 + 10 * 10 + 900 * 0.125) / MILLION,
    ),
    (
        "responses: the same under other names",
        "openai-responses",
        GPT,
        responses(
            {
                "input_tokens": 3000,
                "input_tokens_details": {"cached_tokens": 2816},
                "output_tokens": 700,
                "output_tokens_details": {"reasoning_tokens": 640},
                "total_tokens": 3700,
            }
        ),
        Usage(184, 700, 2816, 0, 0.0, 640),
        (184 * 1.25 + 700 * 10 + 2816 * 0.125) / MILLION,
    ),
]


@pytest.mark.parametrize(("api", "model", "stream", "usage", "cost"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_each_kind_of_token_has_its_price(api: str, model: Model, stream: list[Any], usage: Usage, cost: float) -> None:
    decoder = dialect_for(api).decoder(Request(model=model), ENDPOINT)  # pyright: ignore[reportArgumentType]
    heard: list[Any] = []
    for data in stream:
        text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
        heard += decoder.feed(SseEvent(data.get("type", "") if isinstance(data, dict) else "", text))
    heard += decoder.end_of_input()
    (told,) = [event.usage for event in heard if isinstance(event, UsageReported)]
    assert msgspec.structs.replace(told, cost_usd=0.0) == usage
    assert told.cost_usd == pytest.approx(cost, rel=1e-12)


def test_cached_tokens_without_price_cost_as_input() -> None:
    """Where a user gives a model two prices only, a limit must not take cached tokens for a present."""
    model = Model(id="m", provider="p", price_input=2, price_output=8)
    assert model.priced(Usage(0, 0, 500_000, 500_000)).cost_usd == 2
