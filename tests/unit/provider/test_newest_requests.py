"""issue 30: a request for each vendor's newest models carries the right thinking, effort and limit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.provider.samples import TOOLS, user
from tests.unit.provider.test_models_data import NEWEST, row
from zot.provider.dialects import dialect_for
from zot.provider.dialects.dialect import Endpoint
from zot.provider.model import Model
from zot.provider.model_call import Request
from zot.provider.providers import builtin_providers

IDS = [(str(expected[0]), str(expected[1])) for expected in NEWEST]


def body(model: Model, reasoning: Any = "", text: str = "hi") -> dict[str, Any]:
    import json

    provider = builtin_providers()[model.provider]
    endpoint = Endpoint(provider=provider.id, base_url="https://host/v1", api_key="key")
    request = Request(model=model, messages=(user(text),), tools=TOOLS, reasoning=reasoning, temperature=0.5)
    return json.loads(dialect_for(provider.own_api or provider.api).request(request, endpoint).body)


def effort_of(sent: dict[str, Any]) -> str:
    """The word for the effort, wherever the vendor wants it."""
    fields = sent.get("additionalModelRequestFields", sent)
    places = (
        fields.get("output_config", {}).get("effort"),
        sent.get("reasoning_effort"),
        sent.get("reasoning", {}).get("effort"),
        sent.get("generationConfig", {}).get("thinkingConfig", {}).get("thinkingLevel"),
    )
    return next((str(place) for place in places if place), "")


def limit_of(sent: dict[str, Any]) -> int:
    config = {**sent, **sent.get("generationConfig", {}), **sent.get("inferenceConfig", {})}
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens")
    return next(config[name] for name in names if name in config)


@pytest.mark.parametrize(("provider", "model_id"), IDS)
def test_effort_is_the_vendors_word_for_the_level(provider: str, model_id: str) -> None:
    model = row(provider, model_id)
    sent = body(model, "high")
    if model.reasoning_style == "switch":
        assert sent["reasoning"] == {"enabled": True} and "reasoning_effort" not in sent
        return
    assert effort_of(sent) == (model.reasoning_levels or {"high": "high"})["high"]
    if model.reasoning_style == "adaptive":
        thinking = sent.get("additionalModelRequestFields", sent)["thinking"]
        assert thinking == {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(("provider", "model_id"), IDS)
def test_off_is_never_a_deeper_thought(provider: str, model_id: str) -> None:
    """A model that always reasons gets its least; one that can skip it gets its own word or field."""
    model = row(provider, model_id)
    sent, levels = body(model, "off"), model.reasoning_levels or {"low": "low"}
    if model.can_skip_reasoning is False:
        assert effort_of(sent) == next(word for level, word in levels.items() if level != "off")
    elif model.reasoning_style == "adaptive":
        assert sent.get("additionalModelRequestFields", sent)["thinking"] == {"type": "disabled"}
    else:
        assert effort_of(sent) in ("", "none", levels.get("off"))


@pytest.mark.parametrize(("provider", "model_id"), IDS)
def test_output_fits_into_the_window(provider: str, model_id: str) -> None:
    model = row(provider, model_id)
    assert 0 < limit_of(body(model)) <= model.max_output
    assert model.temperature is not False or "temperature" not in str(body(model))
    sent = body(model, text="word " * (model.context_window // 3))  # about half of the window
    if builtin_providers()[provider].api == "openai" and not builtin_providers()[provider].own_api:
        assert limit_of(sent) + model.context_window // 2 <= model.context_window * 1.1
