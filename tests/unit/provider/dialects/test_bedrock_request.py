"""Requests to Bedrock."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.provider.samples import (
    ENDPOINT,
    TOOLS,
    assistant,
    body_of,
    headers_of,
    result,
    results,
    tool_round,
    user,
)
from zot.provider.dialects.bedrock import BedrockDialect, region_of
from zot.provider.dialects.dialect import Endpoint
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, ToolCallBlock
from zot.provider.model import Model
from zot.provider.model_call import Request

DIALECT = BedrockDialect()
CLAUDE = Model(id="global.anthropic.claude-sonnet-4-5-20250929-v1:0", provider="acme", max_output=64000, reasoning=True)
NOVA = Model(id="amazon.nova-2-lite-v1:0", provider="acme", max_output=10000, reasoning=True)
OTHER = Model(id="openai.gpt-oss-120b-1:0", provider="acme", max_output=10000, reasoning=True, input=("text",))
PNG = ImageBlock("image/png", b"\x89PNG\r\n\x1a\n")
POINT = {"cachePoint": {"type": "default"}}


def messages(*turns: Message, model: Model = OTHER) -> list[dict[str, Any]]:
    return body_of(BedrockDialect(), Request(model=model, messages=turns))["messages"]


def test_the_model_is_part_of_the_address_and_quoted() -> None:
    sent = DIALECT.request(Request(model=CLAUDE, messages=(user("hi"),)), ENDPOINT)
    quoted = "global.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
    assert sent.url == f"http://host/model/{quoted}/converse-stream"
    arn = Model(id="arn:aws:bedrock:us-east-1:1:application-inference-profile/a", provider="acme")
    assert "application-inference-profile%2Fa/converse-stream" in DIALECT.request(Request(model=arn), ENDPOINT).url


def test_a_bearer_key_is_a_bearer() -> None:
    headers = headers_of(DIALECT)
    assert headers["authorization"] == "Bearer key-1"
    assert headers["accept"] == "application/vnd.amazon.eventstream"
    assert "x-amz-date" not in headers


def test_an_access_key_signs_and_is_not_sent() -> None:
    endpoint = Endpoint(
        provider="bedrock",
        base_url="https://bedrock-runtime.eu-west-1.amazonaws.com",
        api_key="AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY:session-token",
    )
    for request in (
        DIALECT.request(Request(model=CLAUDE, messages=(user("hi"),)), endpoint),
        DIALECT.list_request(endpoint, ""),
    ):
        headers = dict(request.headers)
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/")
        assert "/eu-west-1/bedrock/aws4_request, SignedHeaders=" in headers["authorization"]
        assert headers["x-amz-security-token"] == "session-token"
        assert "wJalrXUtnFEMI" not in str(request)


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://bedrock-runtime.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("https://vpce-1.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com/x", "ap-southeast-2"),
        ("http://localhost:8080", "sa-east-1"),
    ],
)
def test_the_region_is_that_of_the_host(url: str, region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "sa-east-1")
    assert region_of(url) == region


def test_the_whole_body() -> None:
    request = Request(model=CLAUDE, system="Be brief.", messages=tool_round(), tools=TOOLS, temperature=0.5)
    assert body_of(BedrockDialect(), request) == {
        "system": [{"text": "Be brief."}, POINT],
        "messages": [
            {"role": "user", "content": [{"text": "hi"}, POINT]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "c1", "name": "bash", "input": {"command": "ls"}}}],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "a.txt"}]}}, POINT]},
        ],
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "bash", "description": "Runs.", "inputSchema": {"json": {"type": "object"}}}},
                {"toolSpec": {"name": "write", "description": "Writes.", "inputSchema": {"json": {"type": "object"}}}},
                POINT,
            ]
        },
        "inferenceConfig": {"maxTokens": 64000, "temperature": 0.5},
    }


@pytest.mark.parametrize(
    ("model", "marked"),
    [
        (CLAUDE, True),
        (NOVA, True),
        (OTHER, False),
        (Model(id="anthropic.claude-3-sonnet-20240229-v1:0", provider="acme"), False),
        (Model(id="anthropic.claude-3-5-sonnet-20240620-v1:0", provider="acme"), False),
        (Model(id="us.anthropic.claude-3-7-sonnet-20250219-v1:0", provider="acme"), True),
        (Model(id="us.anthropic.claude-sonnet-5", provider="acme"), True),
    ],
)
def test_only_models_that_cache_get_cache_points(model: Model, marked: bool) -> None:
    body = body_of(BedrockDialect(), Request(model=model, system="s", messages=tool_round(), tools=TOOLS))
    assert (POINT in body["system"], POINT in body["messages"][-1]["content"]) == (marked, marked)
    assert (POINT in body["toolConfig"]["tools"]) == (marked and "nova" not in model.id)


def test_cache_marks_are_at_newest_and_previous_newest_content() -> None:
    """With those of the system prompt and the tools these are the four a request may have."""
    turns = [*tool_round(), *tool_round()[1:], *tool_round()[1:]]
    marked = [POINT in message["content"] for message in messages(*turns, model=CLAUDE)]
    assert marked == [False, False, False, False, True, False, True]


def test_earlier_content_is_sent_unchanged() -> None:
    dialect = BedrockDialect()
    first = dialect.request(Request(model=CLAUDE, messages=tool_round()[:1]), ENDPOINT).body
    longer = dialect.request(Request(model=CLAUDE, messages=(*tool_round(), user("more"))), ENDPOINT).body
    prefix = first[: first.index(b',{"cachePoint"')]
    assert longer.startswith(prefix)


def test_user_and_assistant_take_turns() -> None:
    said = messages(user("a"), user("b"), assistant("c"), assistant("d"), *tool_round(), user("and now?"))
    assert [message["role"] for message in said] == ["user", "assistant", "user", "assistant", "user"]
    assert said[0]["content"] == [{"text": "a"}, {"text": "b"}]
    assert said[-1]["content"][-1] == {"text": "and now?"}


def test_blank_text_and_empty_messages_are_omitted() -> None:
    said = messages(user("a"), assistant(" \n"), user("b"), assistant("c", ""))
    assert said == [
        {"role": "user", "content": [{"text": "a"}, {"text": "b"}]},
        {"role": "assistant", "content": [{"text": "c"}]},
    ]


def test_tools_are_declared_if_history_has_calls() -> None:
    body = body_of(BedrockDialect(), Request(model=CLAUDE, messages=(*tool_round(), user("sum up"))))
    assert body["toolConfig"]["tools"][0]["toolSpec"]["name"] == "bash"
    assert "toolConfig" not in body_of(BedrockDialect(), Request(model=CLAUDE, messages=(user("hi"),)))


def test_ids_of_other_vendors_are_made_acceptable_on_both_sides() -> None:
    id = "call|with.dots" + "x" * 80
    said = messages(user("hi"), assistant(ToolCallBlock(id, "bash", "{}")), results(result(id, "ok")))
    sent = said[1]["content"][0]["toolUse"]["toolUseId"]
    assert sent == said[2]["content"][0]["toolResult"]["toolUseId"] == ("call_with_dots" + "x" * 80)[:64]


def test_results_with_an_error_an_image_or_nothing() -> None:
    calls = assistant(*(ToolCallBlock(id, "read", "{}") for id in "abc"))
    answers = results(result("a", "no", is_error=True), result("b", "seen", PNG), result("c"))
    image = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
    claude = messages(user("hi"), calls, answers, model=CLAUDE)[2]["content"]
    assert claude[:3] == [
        {"toolResult": {"toolUseId": "a", "content": [{"text": "no"}], "status": "error"}},
        {"toolResult": {"toolUseId": "b", "content": [{"text": "seen"}, image]}},
        {"toolResult": {"toolUseId": "c", "content": [{"text": "(no output)"}]}},
    ]
    other = messages(user("hi"), calls, answers)[2]["content"]
    assert other[0] == {"toolResult": {"toolUseId": "a", "content": [{"text": "no [error]"}]}}
    assert "accepts no images" in other[1]["toolResult"]["content"][1]["text"]


def test_thoughts_go_back_to_their_maker_with_their_seal() -> None:
    def thought(kind: Any, provider: str = "acme", seal: str = "S") -> ReasoningBlock:
        return ReasoningBlock("", "hm", seal, kind, provider, CLAUDE.id)

    said = messages(
        user("hi"),
        assistant(
            thought("thinking"),
            thought("redacted_thinking"),
            thought("thinking", "other"),
            thought("thinking", seal=""),
            "ok",
        ),
        model=CLAUDE,
    )
    assert said[1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "S"}}},
        {"reasoningContent": {"redactedContent": "S"}},
        {"text": "ok"},
    ]


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (CLAUDE, {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        (NOVA, {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}}),
        (OTHER, {"reasoning_effort": "medium"}),
        (Model(id="amazon.nova-pro-v1:0", provider="acme"), None),
    ],
)
def test_each_family_has_its_own_thinking_parameter(model: Model, fields: Any) -> None:
    request = Request(model=model, messages=(user("hi"),), reasoning="medium", temperature=1.0, max_tokens=100)
    body = body_of(BedrockDialect(), request)
    assert body.get("additionalModelRequestFields") == fields
    assert ("temperature" in body["inferenceConfig"]) == (model is not CLAUDE)
    assert body["inferenceConfig"]["maxTokens"] == (8192 + 4096 if model is CLAUDE else 100)
