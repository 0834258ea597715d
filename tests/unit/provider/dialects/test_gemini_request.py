"""Requests to Gemini."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.unit.provider.samples import (
    ENDPOINT,
    TOOLS,
    assistant,
    body_of,
    decoder_of,
    fed,
    finished,
    headers_of,
    result,
    results,
    tool_round,
    user,
)
from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, ToolCallBlock
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec

DIALECT = GeminiDialect()
OLD = Model(id="gemini-2.5-pro", provider="acme", max_output=64000, reasoning=True)
NEW = Model(id="gemini-3.1-pro-preview", provider="acme", max_output=64000, reasoning=True)
PNG = ImageBlock("image/png", b"\x89PNG\r\n\x1a\n")


def contents(*messages: Message, model: Model = NEW) -> list[dict[str, Any]]:
    return body_of(GeminiDialect(), Request(model=model, messages=messages))["contents"]


def test_address_and_key() -> None:
    sent = DIALECT.request(Request(model=NEW, messages=(user("hi"),)), ENDPOINT)
    assert sent.url == "http://host/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse"
    assert headers_of(DIALECT)["x-goog-api-key"] == "key-1"
    assert "authorization" not in headers_of(DIALECT)


def test_vertex_uses_bearer_and_version_inside_url() -> None:
    base = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google"
    endpoint = Endpoint(provider="vertex", base_url=base, api_key="ya29", key_header="authorization")
    sent = DIALECT.request(Request(model=OLD, messages=(user("hi"),)), endpoint)
    assert sent.url == f"{base}/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert headers_of(DIALECT, endpoint)["authorization"] == "Bearer ya29"


def test_the_whole_body() -> None:
    request = Request(
        model=OLD, system="Be brief.", messages=tool_round(), tools=TOOLS, temperature=0.5, reasoning="low"
    )
    assert body_of(GeminiDialect(), request) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "bash", "args": {"command": "ls"}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "a.txt"}}}],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "bash", "description": "Runs."},
                    {"name": "write", "description": "Writes."},
                ]
            }
        ],
        "generationConfig": {
            "maxOutputTokens": 64000,
            "temperature": 0.5,
            "thinkingConfig": {"thinkingBudget": 2048, "includeThoughts": True},
        },
    }


@pytest.mark.parametrize(
    ("model", "level", "config"),
    [
        (NEW, "high", {"thinkingLevel": "high", "includeThoughts": True}),
        (NEW, "minimum", {"thinkingLevel": "low", "includeThoughts": True}),
        (OLD, "high", {"thinkingBudget": 24576, "includeThoughts": True}),
        (
            msgspec.structs.replace(OLD, reasoning_levels={"off": "0"}),
            "off",
            {"thinkingBudget": 0, "includeThoughts": False},
        ),
        (
            msgspec.structs.replace(OLD, reasoning_levels={"low": "-1"}),
            "low",
            {"thinkingBudget": -1, "includeThoughts": True},
        ),
        (NEW, "", None),
        (NEW, "off", None),
    ],
)
def test_levels_are_words_for_new_models_tokens_for_old(model: Model, level: Any, config: Any) -> None:
    body = body_of(GeminiDialect(), Request(model=model, messages=(user("hi"),), reasoning=level))
    assert body["generationConfig"].get("thinkingConfig") == config


def test_an_id_of_our_own_making_does_not_go_out() -> None:
    said = contents(
        user("hi"), assistant(ToolCallBlock("call_1_0", "bash", "{}")), results(result("call_1_0", "ok")), model=OLD
    )
    assert said[1]["parts"] == [{"functionCall": {"name": "bash", "args": {}}}]
    assert said[2]["parts"] == [{"functionResponse": {"name": "bash", "response": {"output": "ok"}}}]


def test_a_failed_call_answers_with_an_error() -> None:
    said = contents(user("hi"), assistant(ToolCallBlock("c", "bash", "{}")), results(result("c", "no", is_error=True)))
    assert said[2]["parts"][0]["functionResponse"]["response"] == {"error": "no"}


def test_results_in_several_messages_are_one_turn_with_names() -> None:
    calls = assistant(ToolCallBlock("a", "read", "{}"), ToolCallBlock("b", "bash", "{}"))
    said = contents(user("hi"), calls, results(result("a", "1")), results(result("b", "2")), user("go on"))
    assert [content["role"] for content in said] == ["user", "model", "user", "user"]
    assert [part["functionResponse"]["name"] for part in said[2]["parts"]] == ["read", "bash"]


def test_images_are_inside_results_for_new_models_only() -> None:
    turns = user("hi"), assistant(ToolCallBlock("c", "read", "{}")), results(result("c", "seen", PNG))
    inline = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    assert contents(*turns)[2]["parts"][0]["functionResponse"]["parts"] == [inline]
    earlier = contents(*turns, model=OLD)
    assert "parts" not in earlier[2]["parts"][0]["functionResponse"]
    assert earlier[3] == {"role": "user", "parts": [{"text": "Images from the tool results above:"}, inline]}
    assert contents(user(PNG))[0]["parts"] == [inline]


def test_signatures_go_back_to_the_part_they_came_with() -> None:
    """The sending half: the request contains what the stream produced."""
    decoder = decoder_of(DIALECT, NEW)
    streamed: list[dict[str, Any]] = [
        {"text": "plan", "thought": True},
        {"text": "Let me "},
        {"text": "look", "thoughtSignature": "S1"},
        {"text": " closely."},
        {"functionCall": {"name": "read", "args": {"path": "a"}, "id": "x"}, "thoughtSignature": "S2"},
        {"functionCall": {"name": "read", "args": {"path": "b"}, "id": "y"}},
        {"text": "", "thoughtSignature": "S3"},
    ]
    chunks = [{"candidates": [{"content": {"parts": [part]}}]} for part in streamed]
    fed(decoder, *chunks, {"candidates": [{"finishReason": "STOP"}]})
    message = finished(decoder.end_of_input()).message
    assert message.text() == "Let me look closely."
    said = contents(user("hi"), message, results(result("x", "1"), result("y", "2")))
    assert said[1]["parts"] == streamed[1:]


def test_several_signatures_in_one_text_keep_their_places() -> None:
    decoder = decoder_of(DIALECT, NEW)
    streamed = [
        {"text": "a", "thoughtSignature": "1"},
        {"text": "bc"},
        {"text": "d", "thoughtSignature": "2"},
        {"text": "", "thoughtSignature": "3"},
    ]
    fed(decoder, *({"candidates": [{"content": {"parts": [part]}}]} for part in streamed))
    fed(decoder, {"candidates": [{"finishReason": "STOP"}]})
    message = finished(decoder.end_of_input()).message
    assert message.text() == "abcd"
    assert contents(user("hi"), message)[1]["parts"] == streamed


def test_only_signed_thoughts_are_sent_back() -> None:
    decoder = decoder_of(DIALECT, NEW)
    parts = [{"text": "hm", "thought": True, "thoughtSignature": "T"}, {"text": "so", "thought": True}, {"text": "ok"}]
    fed(decoder, {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    message = finished(decoder.end_of_input()).message
    assert contents(user("hi"), message)[1]["parts"] == [parts[0], parts[2]]


def test_foreign_signatures_are_dropped_and_calls_marked() -> None:
    seal = ReasoningBlock("call", "", "SECRET", "thinking", "acme", "gemini-9-other")
    turns = user("hi"), assistant(ToolCallBlock("c", "bash", "{}"), seal), results(result("c", "ok"))
    call = {"functionCall": {"id": "c", "name": "bash", "args": {}}}
    assert contents(*turns)[1]["parts"] == [call | {"thoughtSignature": "skip_thought_signature_validator"}]
    assert contents(*turns, model=OLD)[1]["parts"] == [call]


@pytest.mark.parametrize("place", ["", "text", "text:x-y", "text:99-3", "text:5-99", "call", "nonsense", "text:-1-2"])
def test_invalid_position_does_not_lose_the_text(place: str) -> None:
    seal = ReasoningBlock(place, "", "S", "thinking", "acme", NEW.id)
    parts = contents(user("hi"), assistant("hello", seal))[1]["parts"]
    assert "".join(part["text"] for part in parts) == "hello"


def test_answer_with_only_thoughts_is_not_a_turn() -> None:
    thought = ReasoningBlock("", "hm", "", "thinking", "acme", NEW.id)
    assert [content["role"] for content in contents(user("hi"), assistant(thought), user("well?"))] == ["user", "user"]


# -- schemas


def parameters(schema: dict[str, Any]) -> Any:
    request = Request(model=NEW, messages=(user("hi"),), tools=(ToolSpec("t", "d", schema),))
    (tool,) = body_of(GeminiDialect(), request)["tools"][0]["functionDeclarations"]
    return tool.get("parameters")


def one(schema: Any, **root: Any) -> Any:
    return parameters({"type": "object", "properties": {"x": schema}, **root})["properties"]["x"]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_without_arguments_has_no_parameters(schema: dict[str, Any]) -> None:
    assert parameters(schema) is None


def test_schema_keywords_gemini_rejects_are_omitted() -> None:
    assert parameters(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": False,
            "properties": {"x": {"type": "string", "format": "uri", "examples": ["a"], "pattern": "^a", "default": 1}},
            "required": ["x", "gone"],
        }
    ) == {"type": "object", "properties": {"x": {"type": "string", "pattern": "^a"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": "integer", "nullable": True}),
        (
            {"oneOf": [{"type": "integer"}, {"type": "string"}], "description": "d"},
            {"description": "d", "anyOf": [{"type": "integer"}, {"type": "string"}]},
        ),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", "", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "integer", "format": "int64"}, {"type": "integer", "format": "int64"}),
        ({"type": "integer", "exclusiveMinimum": 0, "minimum": 1}, {"type": "integer", "minimum": 1}),
        ({"allOf": [{"type": "string"}, {"minLength": 2}]}, {"type": "string", "minLength": 2}),
        ({"properties": {"y": {"type": "boolean"}}}, {"type": "object", "properties": {"y": {"type": "boolean"}}}),
        (True, {"type": "string"}),
        ({"type": "no-such-type"}, {"type": "string"}),
        ({"$ref": "#/nowhere"}, {"type": "string"}),
        ({"$ref": "https://elsewhere/x"}, {"type": "string"}),
    ],
)
def test_schema_keywords_with_a_counterpart_are_translated(schema: Any, sent: Any) -> None:
    assert one(schema) == sent


def test_references_are_put_in_place() -> None:
    defs = {"$defs": {"P/Q": {"type": "string", "description": "p"}}}
    assert one({"$ref": "#/$defs/P~1Q", "description": "mine"}, **defs) == {"type": "string", "description": "mine"}


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree = {"type": "object", "properties": {"l": {"$ref": "#/$defs/T"}, "r": {"$ref": "#/$defs/T"}}}
    sent = one({"$ref": "#/$defs/T"}, **{"$defs": {"T": tree, "loop": {"$ref": "#/$defs/loop"}}})
    assert len(msgspec.json.encode(sent)) < 500_000
    assert one({"$ref": "#/$defs/loop"}, **{"$defs": {"loop": {"$ref": "#/$defs/loop"}}}) == {"type": "string"}
