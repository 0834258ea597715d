"""Requests to chat-completions servers."""

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
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, ToolCallBlock
from zot.provider.model import Model
from zot.provider.model_call import Request

DIALECT = OpenAIChatDialect()
SHOT = ImageBlock("image/png", b"pixels")
SHOT_URL = "data:image/png;base64,cGl4ZWxz"


def sent(*messages: Message, **fields: Any) -> dict[str, Any]:
    request = Request(model=fields.pop("model", MODEL), messages=messages or (user("hi"),), **fields)
    return body_of(DIALECT, request)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://host", "http://host/v1/chat/completions"),
        ("http://host/", "http://host/v1/chat/completions"),
        ("http://host/v1", "http://host/v1/chat/completions"),
        ("http://host/api/v1/", "http://host/api/v1/chat/completions"),
        ("http://host/paas/v4", "http://host/paas/v4/chat/completions"),
        ("http://host/v1beta/openai", "http://host/v1beta/openai/chat/completions"),
        ("http://host/serv1", "http://host/serv1/v1/chat/completions"),
    ],
)
def test_the_version_is_added_unless_the_base_has_one(base: str, url: str) -> None:
    """engine-059: `/v1` is added to a base URL that lacks it and not repeated on one that ends in it."""
    assert DIALECT.request(Request(model=MODEL), msgspec.structs.replace(ENDPOINT, base_url=base)).url == url


def test_request_asks_for_stream_with_usage() -> None:
    """engine-060: the body requests a stream and usage in its last chunk."""
    body = sent()
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_the_output_limit_has_one_name_per_kind_of_model() -> None:
    """engine-061: a reasoning model gets `max_completion_tokens`, any other `max_tokens`, and none gets both."""
    plain, thinker = sent(max_tokens=5), sent(model=THINKER)
    assert (plain["max_tokens"], "max_completion_tokens" in plain) == (5, False)
    assert (thinker["max_completion_tokens"], "max_tokens" in thinker) == (64000, False)


def test_a_model_of_unknown_size_gets_no_limit() -> None:
    body = sent(model=Model(id="x", provider="acme"))
    assert not {"max_tokens", "max_completion_tokens"} & set(body)


def test_unknown_model_id_is_sent_with_its_row() -> None:
    """engine-075, the half of the dialect"""
    body = sent(model=Model(id="my/own:7b", provider="ollama", context_window=32768, max_output=8192, source="ollama"))
    assert (body["model"], body["max_tokens"]) == ("my/own:7b", 8192)


def test_effort_is_sent_to_reasoning_models_with_a_level() -> None:
    """engine-062: `reasoning_effort` is sent only to a reasoning model, and only with a level other than off."""
    assert sent(model=THINKER, reasoning="high")["reasoning_effort"] == "high"
    assert "reasoning_effort" not in sent(model=THINKER)
    assert "reasoning_effort" not in sent(model=THINKER, reasoning="off")
    assert "reasoning_effort" not in sent(reasoning="high")


def test_tool_choice_comes_with_tools_only() -> None:
    """engine-063: `tool_choice: "auto"` is sent when there are tools and left out with them when there are none."""
    assert sent(tools=TOOLS)["tool_choice"] == "auto"
    assert not {"tools", "tool_choice"} & set(sent())


def test_tools_are_functions_in_order_of_name() -> None:
    tools = sent(tools=TOOLS)["tools"]
    assert [tool["function"]["name"] for tool in tools] == ["bash", "write"]
    assert tools[0] == {
        "type": "function",
        "function": {"name": "bash", "description": "Runs.", "parameters": {"type": "object"}},
    }


def test_the_system_prompt_is_the_first_message() -> None:
    assert sent(system="Be brief.")["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent()["messages"][0]["role"] == "user"


def test_user_text_is_a_plain_string() -> None:
    """engine-064: user text without images is sent as one plain string."""
    assert sent(user("a", "b"))["messages"] == [{"role": "user", "content": "a\nb"}]


def test_a_user_image_is_a_data_url() -> None:
    """engine-065: an image from the user becomes an `image_url` part that holds a data URL."""
    assert sent(user("look", SHOT))["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": SHOT_URL}},
    ]


def test_each_result_is_a_separate_message() -> None:
    """engine-066: every tool result becomes a separate `tool` message."""
    calls = assistant(ToolCallBlock("c1", "bash"), ToolCallBlock("c2", "bash"))
    messages = sent(user("hi"), calls, results(result("c1", "one", "more"), result("c2")))["messages"]
    assert messages[2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "one\nmore"},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
    ]


def test_error_result_is_marked() -> None:
    """engine-067: the text of a failed tool result ends in ` [error]`."""
    messages = sent(*tool_round()[:2], results(result("c1", "no such file", is_error=True)))["messages"]
    assert messages[2]["content"] == "no such file [error]"


def test_calls_go_back_with_their_arguments_as_text() -> None:
    messages = sent(user("hi"), assistant("on it", " ", ToolCallBlock("c1", "bash", "{oops")), results(result("c1")))
    assert messages["messages"][1] == {
        "role": "assistant",
        "content": "on it",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
    }


def reasoned(**fields: Any) -> ReasoningBlock:
    return msgspec.structs.replace(ReasoningBlock(summary="hm", provider="acme", model="another"), **fields)


def test_an_assistant_message_of_reasoning_alone_is_skipped() -> None:
    """engine-068: an assistant message that holds only reasoning is left out of the request."""
    messages = sent(user("a"), assistant(reasoned()), user("b"))["messages"]
    assert [message["content"] for message in messages] == ["a", "b"]


def test_reasoning_is_sent_back_with_tool_calls_only() -> None:
    """engine-069: to the same provider, whichever of its models."""
    call, done = ToolCallBlock("c1", "bash"), results(result("c1", "x"))
    assert sent(user("a"), assistant(reasoned(), call), done)["messages"][1]["reasoning_content"] == "hm"
    assert "reasoning_content" not in sent(user("a"), assistant(reasoned(), "text"))["messages"][1]


@pytest.mark.parametrize(
    "foreign", [reasoned(provider="other"), reasoned(reasoning_id="rs"), reasoned(encrypted_content="e")]
)
def test_reasoning_of_others_stays_here(foreign: ReasoningBlock) -> None:
    messages = sent(user("a"), assistant(foreign, ToolCallBlock("c1", "bash")), results(result("c1")))["messages"]
    assert "reasoning_content" not in messages[1]


def test_key_is_a_bearer_token_and_headers_identify_zot() -> None:
    """engine-078: exactly these headers, for kimi as for all others."""
    assert headers_of(DIALECT, msgspec.structs.replace(ENDPOINT, provider="kimi")) == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "user-agent": f"zot/{__version__}",
        "authorization": "Bearer key-1",
    }


def test_a_server_without_key_gets_no_authorization() -> None:
    """engine-077, the half of the dialect"""
    assert "authorization" not in headers_of(DIALECT, msgspec.structs.replace(ENDPOINT, api_key=""))


def test_a_text_result_adds_no_message() -> None:
    """engine-158: a tool result of text alone is followed by no extra user message."""
    assert [message["role"] for message in sent(*tool_round())["messages"]] == ["user", "assistant", "tool"]


def test_an_image_in_a_result_reaches_the_model_as_user_content() -> None:
    """engine-159: an image in a tool result is sent again as user content, behind all results of that turn."""
    calls = assistant(ToolCallBlock("c1", "read"), ToolCallBlock("c2", "read"))
    done = results(result("c1", "a picture", SHOT), result("c2", "text"))
    messages = sent(user("hi"), calls, done, user("next"))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert messages[2]["content"] == "a picture\n[1 image: see the next user message]"
    assert messages[4]["content"] == [
        {"type": "text", "text": "Images from the tool results above:"},
        {"type": "image_url", "image_url": {"url": SHOT_URL}},
    ]


def test_orphan_results_never_appear() -> None:
    """engine-160: a tool result whose call is gone never reaches the request."""
    assert [m["role"] for m in sent(user("a"), results(result("gone", "x")))["messages"]] == ["user"]


def test_the_temperature_is_sent_only_when_set() -> None:
    assert "temperature" not in sent()
    assert sent(temperature=0.0)["temperature"] == 0.0
