"""Requests to the Messages API."""

from __future__ import annotations

import os
import stat
from pathlib import Path
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
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.dialect import Endpoint
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, ToolCallBlock
from zot.provider.model import Model, Reasoning
from zot.provider.model_call import Request, ToolSpec

DIALECT = AnthropicDialect()
OAUTH = msgspec.structs.replace(ENDPOINT, oauth=True, api_key="token-1")
MARKER = {"type": "ephemeral"}


def sent(*messages: Message, endpoint: Endpoint = ENDPOINT, **fields: Any) -> dict[str, Any]:
    request = Request(model=fields.pop("model", MODEL), messages=messages or (user("hi"),), **fields)
    return body_of(DIALECT, request, endpoint)


def content(*blocks: Any) -> list[dict[str, Any]]:
    """The wire content of one user message, without its cache marker."""
    parts = sent(user(*blocks))["messages"][0]["content"]
    parts[-1].pop("cache_control")
    return parts


@pytest.mark.parametrize("base", ["http://host", "http://host/", "http://host///", "http://host/v1"])
def test_the_address_is_v1_messages_behind_the_base(base: str) -> None:
    """engine-017: the request goes to `{base}/v1/messages`, whatever slashes the base URL ends in."""
    endpoint = msgspec.structs.replace(ENDPOINT, base_url=base)
    request = DIALECT.request(Request(model=MODEL), endpoint)
    assert (request.method, request.url) == ("POST", "http://host/v1/messages")


def test_an_api_key_travels_in_its_own_header() -> None:
    """engine-018: a key is sent as `x-api-key` beside `anthropic-version`, with no bearer token and no beta flag."""
    headers = headers_of(DIALECT)
    assert headers["x-api-key"] == "key-1"
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["accept"] == "text/event-stream"
    assert headers["content-type"] == "application/json"
    assert "authorization" not in headers
    assert "anthropic-beta" not in headers


def test_a_login_is_a_bearer_token_and_no_key() -> None:
    """engine-019, engine-020: a login is sent as a bearer token with the OAuth beta flag and without `x-api-key`."""
    headers = headers_of(DIALECT, OAUTH)
    assert headers["authorization"] == "Bearer token-1"
    assert "x-api-key" not in headers
    assert headers["anthropic-beta"] == "oauth-2025-04-20"


def test_headers_identify_zot() -> None:
    """engine-020: exactly these headers, none of another product."""
    headers = headers_of(DIALECT, OAUTH)
    assert headers["user-agent"] == f"zot/{__version__}"
    assert sorted(headers) == [
        "accept",
        "anthropic-beta",
        "anthropic-version",
        "authorization",
        "content-type",
        "user-agent",
    ]


def test_a_login_sends_the_same_system_prompt_as_a_key() -> None:
    """engine-021: the system array of a login equals that of a key; no identity line is added."""
    assert sent(system="Be brief.", endpoint=OAUTH)["system"] == sent(system="Be brief.")["system"]


def test_the_system_prompt_is_one_block_with_a_marker() -> None:
    """engine-022: the system prompt is sent as a single text block that carries a cache marker."""
    assert sent(system="Be brief.")["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARKER}]


def test_empty_prompt_sends_no_system_key() -> None:
    """engine-023: an empty prompt sends no `system` key at all."""
    assert "system" not in sent()


def test_only_the_last_tool_has_a_marker() -> None:
    """engine-024: of all tools only the last carries a cache marker."""
    tools = sent(tools=TOOLS)["tools"]
    assert [tool.get("cache_control") for tool in tools] == [None, MARKER]


def test_the_last_block_of_the_last_user_message_has_a_marker() -> None:
    """engine-025: results count as user messages."""
    messages = sent(*tool_round())["messages"]
    assert messages[-1]["content"][-1]["cache_control"] == MARKER


def test_second_cache_marker_is_at_previous_position() -> None:
    """engine-026: the provider looks back 20 blocks from a marker, and one step may add more than that."""
    conversation = (user("hi"), *tool_round(), user("meanwhile"))
    messages = sent(*conversation)["messages"]
    marked = [place for place, message in enumerate(messages) if "cache_control" in message["content"][-1]]
    asked_before = sent(*conversation[:2])["messages"]
    assert "cache_control" in asked_before[-1]["content"][-1]
    assert marked == [len(asked_before) - 1, len(messages) - 1]


def test_cache_marker_stays_on_user_content() -> None:
    messages = sent(user("hi", "there"), assistant("yes"))["messages"]
    assert [part.get("cache_control") for part in messages[0]["content"]] == [None, MARKER]
    assert "cache_control" not in messages[1]["content"][0]


def test_there_are_never_more_than_four_markers() -> None:
    """engine-026: a long conversation with tools and a system prompt stays below the limit of four cache markers."""
    body = DIALECT.request(
        Request(model=MODEL, system="s", tools=TOOLS, messages=tool_round() * 5 + (user("more"),)), ENDPOINT
    ).body
    assert body.count(b"cache_control") == 4


def test_tools_are_sorted_and_the_same_bytes_in_any_order() -> None:
    """engine-027: tools are sorted by name, so the request body is byte-identical however they were registered."""
    one = DIALECT.request(Request(model=MODEL, tools=TOOLS), ENDPOINT).body
    other = DIALECT.request(Request(model=MODEL, tools=TOOLS[::-1]), ENDPOINT).body
    assert one == other
    assert [tool["name"] for tool in msgspec.json.decode(one)["tools"]] == ["bash", "write"]


def test_a_tool_without_description_has_no_description() -> None:
    tool = sent(tools=(ToolSpec("t", "", {}),))["tools"][0]
    assert tool == {
        "name": "t",
        "input_schema": {"type": "object", "properties": {}},
        "cache_control": MARKER,
    }


def test_results_are_a_separate_user_message() -> None:
    """engine-028: tool results are sent as a `user` message of their own, not merged with the user's next message."""
    messages = sent(*tool_round(), user("and?"))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]


def test_earlier_messages_are_unchanged_except_marker() -> None:
    """engine-029: the messages of one turn are repeated unchanged in the next, except for the cache marker that moved
    on.
    """
    before = sent(*tool_round())["messages"]
    after = sent(*tool_round(), assistant("done"), user("next"))["messages"]
    for message in (*before, *after):
        message["content"][-1].pop("cache_control", None)
    assert after[: len(before)] == before


def test_empty_and_blank_texts_are_omitted() -> None:
    """engine-030: text blocks that are empty or only white space are omitted."""
    assert content("", "a", " \n") == [{"type": "text", "text": "a"}]


@pytest.mark.parametrize("arguments", ["", "{", "[1]", '"x"', "null", "[" * 5000])
def test_arguments_that_are_not_an_object_are_sent_empty(arguments: str) -> None:
    """engine-031: a tool call whose arguments are not a JSON object is sent with `input: {}`."""
    messages = sent(user("a"), assistant(ToolCallBlock("c1", "bash", arguments)), results(result("c1")))["messages"]
    assert messages[1]["content"][0] == {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}


def test_arguments_are_sent_back_unchanged() -> None:
    call = ToolCallBlock("c1", "bash", '{"b": 1.50,  "a": 2}')
    body = DIALECT.request(Request(model=MODEL, messages=(assistant(call), results(result("c1")))), ENDPOINT).body
    assert b'"input":{"b": 1.50,  "a": 2}' in body


def test_a_result_of_text_is_one_string() -> None:
    """engine-032: a tool result of text alone is sent as one string, its blocks joined by a newline."""
    wire = sent(*tool_round()[:2], results(result("c1", "one", "two")))["messages"][2]["content"][0]
    assert wire == {"type": "tool_result", "tool_use_id": "c1", "content": "one\ntwo", "cache_control": MARKER}


def test_an_empty_result_is_an_empty_string() -> None:
    assert sent(*tool_round()[:2], results(result("c1")))["messages"][2]["content"][0]["content"] == ""


def test_a_result_with_an_image_is_a_list_with_a_base64_source() -> None:
    """engine-033: a tool result with an image is sent as an array whose image has a base64 source."""
    shot = ImageBlock("image/png", b"not really")
    wire = sent(*tool_round()[:2], results(result("c1", "seen", "", shot)))["messages"][2]["content"][0]
    source = {"type": "base64", "media_type": "image/png", "data": "bm90IHJlYWxseQ=="}
    assert wire["content"] == [{"type": "text", "text": "seen"}, {"type": "image", "source": source}]


def test_is_error_is_there_only_when_true() -> None:
    """engine-034: `is_error` is sent for a failed result and left out for a good one."""
    calls = assistant(ToolCallBlock("c1", "bash"), ToolCallBlock("c2", "bash"))
    wire = sent(calls, results(result("c1", "bad", is_error=True), result("c2", "ok")))["messages"][1]["content"]
    assert wire[0]["is_error"] is True
    assert "is_error" not in wire[1]


@pytest.mark.parametrize("endpoint", [ENDPOINT, OAUTH], ids=["key", "login"])
def test_tool_names_are_not_changed(endpoint: Endpoint) -> None:
    """engine-035, engine-036: tools have their registered names, for a login as for a key."""
    body = sent(*tool_round(), tools=TOOLS, endpoint=endpoint)
    assert [tool["name"] for tool in body["tools"]] == ["bash", "write"]
    assert body["messages"][1]["content"][0]["name"] == "bash"


def test_max_tokens_is_model_limit_unless_requested() -> None:
    """engine-037: `max_tokens` is the model's maximum output unless the request sets less."""
    assert sent()["max_tokens"] == 64000
    assert sent(max_tokens=100)["max_tokens"] == 100


def test_a_model_of_unknown_size_gets_a_limit_that_is_not_zero() -> None:
    assert sent(model=Model(id="x", provider="acme"))["max_tokens"] == 8192


@pytest.mark.parametrize(
    ("level", "tokens"),
    [
        ("minimum", 1024),
        ("low", 2048),
        ("medium", 8192),
        ("high", 16384),
        ("xhigh", 32768),
        ("max", 64000 - 4096),
    ],
)
def test_a_level_is_a_budget(level: Reasoning, tokens: int) -> None:
    """engine-038: the levels low, medium and high become thinking budgets of 2048, 8192 and 16384 tokens."""
    assert sent(model=THINKER, reasoning=level)["thinking"] == {"type": "enabled", "budget_tokens": tokens}


def test_a_budget_leaves_room_for_the_answer() -> None:
    small = msgspec.structs.replace(THINKER, max_output=8192)
    assert sent(model=small, reasoning="high")["thinking"]["budget_tokens"] == 4096
    assert "thinking" not in sent(model=msgspec.structs.replace(THINKER, max_output=4096), reasoning="low")


def test_max_tokens_grows_when_the_budget_would_eat_it() -> None:
    """engine-039: a thinking budget that reaches `max_tokens` raises it to the budget plus 4096."""
    assert sent(model=THINKER, reasoning="medium", max_tokens=8192)["max_tokens"] == 8192 + 4096
    assert sent(model=THINKER, reasoning="medium", max_tokens=8193)["max_tokens"] == 8193


def test_thinking_is_sent_only_to_reasoning_models() -> None:
    """engine-040: `thinking` is sent only to a reasoning model, and only with a level other than off."""
    assert "thinking" not in sent(reasoning="high")
    assert "thinking" not in sent(model=THINKER)
    assert "thinking" not in sent(model=THINKER, reasoning="off")


def test_model_with_named_levels_gets_no_budget() -> None:
    adaptive = msgspec.structs.replace(THINKER, reasoning_levels={"low": "low", "high": "high"})
    body = sent(model=adaptive, reasoning="max")
    assert (body["thinking"], body["output_config"]) == (
        {"type": "adaptive", "display": "summarized"},
        {"effort": "high"},
    )


def test_temperature_is_sent_only_if_set_and_without_thinking() -> None:
    assert "temperature" not in sent()
    assert sent(temperature=0.0)["temperature"] == 0.0
    assert "temperature" not in sent(model=THINKER, reasoning="low", temperature=0.5)


THOUGHT = ReasoningBlock("", "hm", "sig", "thinking", "acme", "m-1")


def thought(**fields: Any) -> ReasoningBlock:
    return msgspec.structs.replace(THOUGHT, **fields)


def test_thinking_is_sent_back_before_its_call() -> None:
    """engine-051: signed and redacted thinking is replayed in front of the tool call that followed it."""
    redacted = thought(kind="redacted_thinking", summary="", encrypted_content="blob")
    turn = assistant(thought(), redacted, ToolCallBlock("c1", "bash"))
    assert sent(user("hi"), turn, results(result("c1")))["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "tool_use", "id": "c1", "name": "bash", "input": {}},
    ]


@pytest.mark.parametrize(
    "foreign",
    [thought(provider="other"), thought(model="other"), thought(encrypted_content=""), thought(kind="reasoning")],
)
def test_thinking_of_another_model_is_dropped(foreign: ReasoningBlock) -> None:
    content = sent(user("hi"), assistant(foreign, "said"), user("more"))["messages"][1]["content"]
    assert content == [{"type": "text", "text": "said"}]


def test_message_with_only_foreign_reasoning_is_dropped() -> None:
    """engine-052: an assistant message that holds only another provider's reasoning is dropped, not sent empty."""
    messages = sent(user("a"), assistant(thought(provider="kimi")), user("b"))["messages"]
    assert [message["role"] for message in messages] == ["user", "user"]


def test_orphan_results_never_appear() -> None:
    """engine-160: a tool result whose call is gone never reaches the request."""
    messages = sent(user("a"), results(result("gone", "x")), user("b"))["messages"]
    assert [message["content"][0]["text"] for message in messages] == ["a", "b"]


def test_image_for_text_model_is_replaced_by_text() -> None:
    blind = msgspec.structs.replace(MODEL, input=("text",))
    part = sent(user(ImageBlock("image/png", b"x")), model=blind)["messages"][0]["content"][0]
    assert part["text"] == "[image omitted: m-1 accepts no images]"


def test_half_a_surrogate_does_not_end_the_session() -> None:
    assert content("a\udc80b") == [{"type": "text", "text": "a\ufffd\ufffd\ufffdb"}]


def test_headers_of_the_endpoint_come_last_and_win() -> None:
    endpoint = msgspec.structs.replace(ENDPOINT, headers={"X-Api-Key": "mine", "X-Team": "7"})
    sent_headers = DIALECT.request(Request(model=MODEL), endpoint).headers
    assert sent_headers[-2:] == [("x-api-key", "mine"), ("x-team", "7")]
    assert dict(sent_headers)["x-api-key"] == "mine"


def test_request_bodies_are_copied_to_the_debug_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "bodies"
    monkeypatch.setenv("ZOT_DEBUG_ANTHROPIC", str(log))
    bodies = [DIALECT.request(Request(model=MODEL, messages=(user(text),)), ENDPOINT).body for text in "ab"]
    assert log.read_bytes().splitlines() == bodies
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o600
