"""Requests validated by the vendors' SDKs: no unknown field or type."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from tests.unit.provider.samples import assistant, body_of, result, results, tool_round, user
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, ToolCallBlock
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec

PNG = ImageBlock("image/png", b"\x89PNG\r\n\x1a\n")


def conversation(provider: str, model: str) -> tuple[Message, ...]:
    thought = ReasoningBlock("", "hm", "c2VhbA==", "thinking", provider, model)
    hidden = ReasoningBlock("", "", "c2VhbA==", "redacted_thinking", provider, model)
    placed = ReasoningBlock("call", "", "c2VhbA==", "thinking", provider, model)
    return (
        *tool_round(),
        user("look", PNG),
        assistant(thought, hidden, "ok", ToolCallBlock("c2", "read", '{"path":"a"}'), placed),
        results(result("c2", "seen", PNG, is_error=True)),
        assistant("half", ToolCallBlock("c3", "bash", "{broken")),
        user("never mind"),
    )


ODD = ToolSpec(
    "odd",
    "Everything at once.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "a": {"type": ["string", "null"], "format": "uri", "default": "x"},
            "b": {"$ref": "#/$defs/B"},
            "c": {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
            "d": {"type": "array", "prefixItems": [{"type": "integer"}], "uniqueItems": True},
            "e": {"oneOf": [{"const": "x"}, {"enum": [1, 2]}], "examples": ["x"]},
        },
        "required": ["a"],
        "$defs": {"B": {"type": "object", "properties": {"again": {"$ref": "#/$defs/B"}}}},
    },
)


@pytest.mark.parametrize("reasoning", ["", "high"])
@pytest.mark.parametrize("model_id", ["gemini-2.5-pro", "gemini-3.1-pro-preview"])
def test_google_sdk_accepts_every_field(model_id: str, reasoning: Any) -> None:
    from google.genai import types

    model = Model(id=model_id, provider="acme", max_output=100, reasoning=True)
    request = Request(
        model=model,
        system="s",
        messages=conversation("acme", model_id),
        tools=(ODD,),
        reasoning=reasoning,
        temperature=0.2,
    )
    body = body_of(GeminiDialect(), request)
    assert body.keys() == {"systemInstruction", "contents", "tools", "generationConfig"}
    assert types.Content.model_config.get("extra") == "forbid"
    for content in (*body["contents"], body["systemInstruction"]):
        types.Content.model_validate(content)
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(body["generationConfig"])


@pytest.mark.parametrize("reasoning", ["", "high"])
@pytest.mark.parametrize("model_id", ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-2-lite-v1:0", "x.y"])
def test_amazon_sdk_accepts_every_field(model_id: str, reasoning: Any) -> None:
    model = Model(id=model_id, provider="acme", max_output=100, reasoning=True)
    request = Request(
        model=model, system="s", messages=conversation("acme", model_id), tools=(ODD,), reasoning=reasoning
    )
    service = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    shape = service.operation_model("ConverseStream").input_shape
    report = ParamValidator().validate({"modelId": model_id, **body_of(BedrockDialect(), request)}, shape)
    assert not report.has_errors(), report.generate_report()
