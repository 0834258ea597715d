"""Requests to the Responses API, with a key and with a subscription."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.unit.provider.samples import (
    ENDPOINT,
    MODEL,
    THINKER,
    TOOLS,
    assistant,
    body_of,
    headers_of,
    result,
    results,
    tool_round,
    user,
)
from zot import __version__
from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, ToolCallBlock
from zot.provider.model_call import Request, ToolSpec

DIALECT = OpenAIResponsesDialect()
CODEX = Endpoint(provider="acme", base_url="http://host/codex/responses", api_key="token", oauth=True, account_id="acc")


def sent(*messages: Message, endpoint: Endpoint = CODEX, **fields: Any) -> dict[str, Any]:
    request = Request(model=fields.pop("model", MODEL), messages=messages or (user("hi"),), **fields)
    return body_of(DIALECT, request, endpoint)


def test_subscription_is_posted_to_its_exact_url() -> None:
    """engine-081: a subscription posts to the codex URL exactly, with its account id, beta and originator headers."""
    assert DIALECT.request(Request(model=MODEL), CODEX).url == "http://host/codex/responses"
    assert headers_of(DIALECT, CODEX) == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "user-agent": f"zot/{__version__}",
        "authorization": "Bearer token",
        "chatgpt-account-id": "acc",
        "openai-beta": "responses=experimental",
        "originator": "zot",
    }


def test_a_key_is_posted_to_v1_responses() -> None:
    for base in ("http://host", "http://host/v1/"):
        endpoint = msgspec.structs.replace(ENDPOINT, base_url=base)
        assert DIALECT.request(Request(model=MODEL), endpoint).url == "http://host/v1/responses"
    assert not {"chatgpt-account-id", "originator", "openai-beta"} & set(headers_of(DIALECT))


def test_nothing_is_stored_and_reasoning_is_encrypted() -> None:
    """engine-082: the body has `store: false`, allows parallel calls and requests encrypted reasoning content."""
    body = sent()
    assert (body["store"], body["stream"], body["parallel_tool_calls"]) == (False, True, True)
    assert body["include"] == ["reasoning.encrypted_content"]


def test_non_reasoning_model_gets_no_reasoning_request() -> None:
    assert "include" not in sent(endpoint=ENDPOINT)
    assert "include" in sent(endpoint=ENDPOINT, model=THINKER)


def test_the_system_prompt_travels_as_instructions() -> None:
    """engine-083: the system prompt is sent as `instructions`, and left out when it is empty."""
    assert sent(system="Be brief.")["instructions"] == "Be brief."
    assert "instructions" not in sent()


def test_assistant_texts_are_numbered_output_messages() -> None:
    """engine-084: the texts of the assistant become output messages with the ids `msg_1`, `msg_2` and so on."""
    items = sent(user("a"), assistant("one", " ", "two"), user("b"), assistant("three"))["input"]
    said = [item for item in items if item.get("role") == "assistant"]
    assert [item["id"] for item in said] == ["msg_1", "msg_2", "msg_3"]
    assert said[0] == {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "id": "msg_1",
        "content": [{"type": "output_text", "text": "one", "annotations": []}],
    }


def sealed(**fields: Any) -> ReasoningBlock:
    block = ReasoningBlock("rs_1", encrypted_content="seal", provider="acme", model="m-1")
    return msgspec.structs.replace(block, **fields)


def test_reasoning_is_sent_back_with_a_summary_even_if_empty() -> None:
    """engine-085: a reasoning item is replayed with a `summary` list even if that list is empty."""
    items = sent(user("a"), assistant(sealed(), sealed(summary="hm"), ToolCallBlock("c1", "bash")))["input"]
    assert items[1] == {"type": "reasoning", "id": "rs_1", "encrypted_content": "seal", "summary": []}
    assert items[2]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert items[3]["type"] == "function_call"


@pytest.mark.parametrize(
    "foreign",
    [
        sealed(provider="other"),
        sealed(model="other"),
        sealed(kind="thinking"),
        sealed(reasoning_id="", encrypted_content="", summary="plain"),
    ],
)
def test_reasoning_of_others_stays_here(foreign: ReasoningBlock) -> None:
    assert [item["role"] for item in sent(user("a"), assistant(foreign), user("b"))["input"]] == ["user", "user"]


def test_a_call_id_of_two_parts_is_sent_as_the_first() -> None:
    """engine-086: a call id of the form `a|b` is sent as `a`, in the call and in its result."""
    items = sent(user("a"), assistant(ToolCallBlock("a|b", "bash", '{"x":1}')), results(result("a|b", "ok")))["input"]
    assert items[1] == {"type": "function_call", "call_id": "a", "name": "bash", "arguments": '{"x":1}'}
    assert items[2] == {"type": "function_call_output", "call_id": "a", "output": "ok"}


def test_an_empty_schema_becomes_an_object_schema() -> None:
    """engine-087: a tool with an empty schema is sent with an object schema that has no properties."""
    body = sent(tools=(ToolSpec("t", "d", {}),))
    assert body["tools"] == [
        {
            "type": "function",
            "name": "t",
            "description": "d",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]
    assert body["tool_choice"] == "auto"


def test_tools_are_sorted_by_name_and_absent_if_empty() -> None:
    assert [tool["name"] for tool in sent(tools=TOOLS)["tools"]] == ["bash", "write"]
    assert not {"tools", "tool_choice"} & set(sent())


def test_a_reasoning_level_changes_the_request() -> None:
    """engine-093: a reasoning level is sent as `reasoning.effort`; without one the key is absent."""
    assert sent(model=THINKER, reasoning="high")["reasoning"] == {"effort": "high", "summary": "auto"}
    assert "reasoning" not in sent(model=THINKER)


def test_the_session_is_the_key_of_the_prompt_cache() -> None:
    assert sent(session_id="s-1")["prompt_cache_key"] == "s-1"
    assert "prompt_cache_key" not in sent()


def test_a_subscription_takes_no_limits() -> None:
    limits = {"max_output_tokens", "temperature"}
    assert not limits & set(sent(max_tokens=5, temperature=0.0))
    assert limits <= set(sent(max_tokens=5, temperature=0.0, endpoint=ENDPOINT))
    assert sent(endpoint=ENDPOINT)["max_output_tokens"] == 64000


def test_user_content_is_text_and_images() -> None:
    items = sent(user("look", "", ImageBlock("image/png", b"pixels")), user(""))["input"]
    assert items == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,cGl4ZWxz"},
            ],
        }
    ]


def test_error_result_is_marked() -> None:
    items = sent(*tool_round()[:2], results(result("c1", "no", "way", is_error=True)))["input"]
    assert items[2]["output"] == "[error] no\nway"


def test_a_text_result_adds_no_message() -> None:
    """engine-158: a tool result of text alone is followed by no extra user message."""
    assert [item["type"] for item in sent(*tool_round())["input"][1:]] == ["function_call", "function_call_output"]


def test_an_image_in_a_result_reaches_the_model_as_user_content() -> None:
    """engine-159: an image in a tool result is sent as user content, and the result points to it."""
    items = sent(*tool_round()[:2], results(result("c1", ImageBlock("image/png", b"pixels"))))["input"]
    assert items[2]["output"] == "[1 image: see the next user message]"
    assert [part["type"] for part in items[3]["content"]] == ["input_text", "input_image"]


def test_orphan_results_never_appear() -> None:
    """engine-160: a tool result whose call is gone never reaches the request."""
    assert len(sent(user("a"), results(result("gone", "x")))["input"]) == 1


# --- a ChatGPT plan at the public address

PLAN = Endpoint(provider="openai", base_url="https://api.openai.com/v1", api_key="token", oauth=True)


def test_plan_is_posted_to_the_public_address_without_codex_headers() -> None:
    assert DIALECT.request(Request(model=MODEL), PLAN).url == "https://api.openai.com/v1/responses"
    assert headers_of(DIALECT, PLAN) == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "user-agent": f"zot/{__version__}",
        "authorization": "Bearer token",
    }


def test_plan_groups_functions_in_a_namespace() -> None:
    body = sent(endpoint=PLAN, tools=TOOLS, max_tokens=100, temperature=0.5)
    (group,) = body["tools"]
    assert (group["type"], group["name"]) == ("namespace", "zot")
    assert [tool["name"] for tool in group["tools"]] == sorted(tool.name for tool in TOOLS)
    assert not {"max_output_tokens", "temperature"} & set(body)
    assert [tool["type"] for tool in sent(tools=TOOLS)["tools"]] == ["function"] * len(TOOLS)


def test_plan_names_the_namespace_of_earlier_calls() -> None:
    calls = [item for item in sent(*tool_round(), endpoint=PLAN)["input"] if item.get("type") == "function_call"]
    assert calls
    assert {call["namespace"] for call in calls} == {"zot"}
    assert not any("namespace" in item for item in sent(*tool_round())["input"])
