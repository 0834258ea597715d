"""issue 30.4: web search that the provider runs: offered on request, kept in the transcript, priced."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.provider.samples import ENDPOINT, TOOLS, assistant, body_of, decoder_of, fed, finished, usage_of, user
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.dialect import Decoder, Dialect, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.messages import ReasoningBlock, TextBlock
from zot.provider.model import Model
from zot.provider.model_call import Request, ThinkingDelta

GEMINI = Model(id="gemini-4-argon", provider="acme", max_output=100)
MODEL = Model(id="m-1", provider="acme", max_output=100)
BOTH = ("web_search", "web_fetch")
OPENROUTER = Endpoint(provider="openrouter", base_url="http://host", api_key="k")


def tools_of(dialect: Dialect, model: Model, endpoint: Endpoint = ENDPOINT, **fields: Any) -> list[dict[str, Any]]:
    request = Request(model=model, messages=(user("hi"),), tools=TOOLS, server_tools=BOTH, **fields)
    return body_of(dialect, request, endpoint)["tools"]


def test_each_dialect_offers_the_search_beside_own_tools() -> None:
    claude = tools_of(AnthropicDialect(), MODEL)
    assert [tool["name"] for tool in claude] == ["web_search", "web_fetch", "bash", "write"]
    assert claude[0] == {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    assert "cache_control" in claude[-1]
    gpt = tools_of(OpenAIResponsesDialect(), MODEL)
    assert [tool["type"] for tool in gpt] == ["web_search", "function", "function"]
    declared, *hosted = tools_of(GeminiDialect(), GEMINI)
    assert len(declared["functionDeclarations"]) == 2 and hosted == [{"googleSearch": {}}, {"urlContext": {}}]
    router = tools_of(OpenAIChatDialect(), MODEL, OPENROUTER)
    assert router[-1] == {"type": "openrouter:web_search"}
    assert len(tools_of(OpenAIChatDialect(), MODEL)) == 2


@pytest.mark.parametrize("dialect", [AnthropicDialect(), OpenAIResponsesDialect(), GeminiDialect()])
def test_unrequested_search_is_not_offered(dialect: Dialect) -> None:
    request = Request(model=GEMINI, messages=(user("hi"),))
    assert "tools" not in body_of(dialect, request)


RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": "srv_1",
    "content": [{"type": "web_search_result", "url": "https://e.org", "title": "E", "encrypted_content": "abc"}],
}


def block(index: int, content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def end(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def claude_searches(stop: str = "end_turn") -> tuple[dict[str, Any], ...]:
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta"}}
    return (
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        block(0, {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}),
        piece | {"delta": {"type": "input_json_delta", "partial_json": '{"query": "zot'}},
        piece | {"delta": {"type": "input_json_delta", "partial_json": ' agent"}'}},
        end(0),
        block(1, RESULT),
        end(1),
        block(2, {"type": "text", "text": ""}),
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "found"}},
        end(2),
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop},
            "usage": {"output_tokens": 5, "server_tool_use": {"web_search_requests": 2}},
        },
        {"type": "message_stop"},
    )


def claude() -> Decoder:
    return AnthropicDialect().decoder(Request(model=MODEL, messages=(user("hi"),), server_tools=BOTH), ENDPOINT)


def test_claude_search_is_shown_priced_and_sent_back() -> None:
    events = fed(claude(), *claude_searches())
    assert ThinkingDelta("web_search: zot agent\n") in events
    answer = finished(events)
    call, found, text = answer.message.content
    assert isinstance(call, ReasoningBlock) and isinstance(found, ReasoningBlock) and text == TextBlock("found")
    assert usage_of(events).usage.cost_usd == pytest.approx(0.02)
    request = Request(model=MODEL, messages=(user("hi"), answer.message, user("more")))
    sent = body_of(AnthropicDialect(), request)["messages"][1]["content"]
    assert sent[0] == {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "zot agent"}}
    assert sent[1] == RESULT
    other = Request(model=Model(id="m-2", provider="acme", max_output=9), messages=request.messages)
    assert [part["type"] for part in body_of(AnthropicDialect(), other)["messages"][1]["content"]] == ["text"]


def test_claude_that_pauses_while_searching_is_not_complete() -> None:
    assert finished(fed(claude(), *claude_searches("pause_turn"))).stop == "length"


def test_claude_search_cut_off_in_its_arguments_is_dropped() -> None:
    decoder = claude()
    fed(decoder, *claude_searches()[:3])
    assert finished(decoder.end_of_input()).message.content == ()


def test_openai_search_is_shown_priced_and_sent_back() -> None:
    item = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "zot"},
    }
    events = fed(
        OpenAIResponsesDialect().decoder(Request(model=MODEL, messages=(user("hi"),), server_tools=BOTH), ENDPOINT),
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message"}},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "found"},
        {"type": "response.completed", "response": {"usage": {"input_tokens": 1, "output_tokens": 1}}},
    )
    assert ThinkingDelta("web_search: zot\n") in events
    answer = finished(events).message
    assert usage_of(events).usage.cost_usd == pytest.approx(0.01)
    sent = body_of(OpenAIResponsesDialect(), Request(model=MODEL, messages=(user("hi"), answer, user("more"))))
    assert sent["input"][1] == item and sent["input"][2]["role"] == "assistant"


def test_gemini_search_is_shown_and_sent_back_as_it_came() -> None:
    call = {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["zot"]}}}
    call |= {"thoughtSignature": "c2VhbA=="}
    back = {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"x": [1]}}}
    chunk = {"candidates": [{"content": {"parts": [call, back, {"text": "found"}]}, "finishReason": "STOP"}]}
    decoder = decoder_of(GeminiDialect(), GEMINI)
    events = fed(decoder, chunk) + decoder.end_of_input()
    assert ThinkingDelta("GOOGLE_SEARCH_WEB: zot\n") in events
    answer = finished(events).message
    sent = body_of(GeminiDialect(), Request(model=GEMINI, messages=(user("hi"), answer, user("more"))))
    assert sent["contents"][1]["parts"] == [call, back, {"text": "found"}]


def test_damaged_search_of_a_session_is_not_sent() -> None:
    damaged = ReasoningBlock("", "", "{broken", "server_tool", "acme", "m-1")
    for dialect in (AnthropicDialect(), OpenAIResponsesDialect(), GeminiDialect()):
        request = Request(model=MODEL, messages=(user("hi"), assistant(damaged, "text"), user("more")))
        assert "broken" not in json.dumps(body_of(dialect, request))


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_each_dialect_sends_the_schema_of_the_answer() -> None:
    request = Request(model=MODEL, messages=(user("hi"),), output_schema=SCHEMA)
    assert body_of(AnthropicDialect(), request)["output_config"] == {
        "format": {"type": "json_schema", "schema": SCHEMA}
    }
    named = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert body_of(OpenAIResponsesDialect(), request)["text"] == {"format": {"type": "json_schema", **named}}
    assert body_of(OpenAIChatDialect(), request)["response_format"] == {"type": "json_schema", "json_schema": named}
    google = body_of(GeminiDialect(), request)["generationConfig"]
    assert (google["responseMimeType"], google["responseJsonSchema"]) == ("application/json", SCHEMA)


def test_schema_with_optional_properties_is_not_strict() -> None:
    loose = {"type": "object", "properties": {"n": {"type": "integer"}}}
    request = Request(model=MODEL, messages=(user("hi"),), output_schema=loose)
    assert body_of(OpenAIChatDialect(), request)["response_format"]["json_schema"]["strict"] is False
