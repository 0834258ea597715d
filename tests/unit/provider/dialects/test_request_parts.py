"""What is remembered between requests changes nothing but the work: the bytes are those of a request made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.unit.provider.samples import (
    ENDPOINT,
    MODEL,
    THINKER,
    assistant,
    headers_of,
    result,
    results,
    tool_round,
    user,
)
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.dialect import Dialect, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.request_parts import Sent, address
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, ToolCallBlock
from zot.provider.model_call import Request

THOUGHT = ReasoningBlock(summary="hm", encrypted_content="s", kind="thinking", provider="acme", model="m-1")
PICTURE = ImageBlock("image/png", b"\x89PNG\r\n\x1a\n")


def conversation() -> list[Message]:
    """Every kind of block, an unanswered call and a half surrogate among them."""
    return [
        *tool_round(),
        assistant(THOUGHT, "done", ToolCallBlock("c2", "read", "{broken")),
        results(result("c2", "x", PICTURE, is_error=True)),
        assistant("and \ud83d"),
        user("more", PICTURE),
        assistant(ToolCallBlock("c3", "bash", "{}")),
        user("never mind"),
    ]


@pytest.mark.parametrize("make", [AnthropicDialect, OpenAIChatDialect, GeminiDialect, BedrockDialect])
def test_a_growing_transcript_is_sent_as_if_each_request_were_the_first(make: Callable[[], Dialect]) -> None:
    long_lived, messages = make(), conversation()
    for length in range(1, len(messages) + 1):
        request = Request(model=MODEL, system="s", messages=tuple(messages[:length]))
        assert long_lived.request(request, ENDPOINT).body == make().request(request, ENDPOINT).body


@pytest.mark.parametrize("make", [AnthropicDialect, OpenAIChatDialect, GeminiDialect, BedrockDialect])
def test_another_model_or_a_compaction_is_sent_as_if_it_were_the_first(make: Callable[[], Dialect]) -> None:
    """Reasoning goes back to the model that made it, pictures to one that sees, whoever was asked before."""
    long_lived, messages = make(), conversation()
    blind = msgspec.structs.replace(THINKER, input=("text",))
    whole, tail = tuple(messages), (user("a summary"), *messages[-2:])
    for model, said in ((MODEL, whole), (THINKER, whole), (blind, whole), (MODEL, tail), (MODEL, whole)):
        request = Request(model=model, messages=said)
        assert long_lived.request(request, ENDPOINT).body == make().request(request, ENDPOINT).body


def test_a_message_is_encoded_once_and_forgotten_when_it_leaves_the_transcript() -> None:
    made: list[str] = []

    def wire(message: Message) -> list[dict[str, Any]]:
        made.append(message.text())
        return [{"text": message.text()}]

    sent, a, b, c = Sent(), user("a"), user("b"), user("c")
    for messages in ([a], [a, b], [a, b, c], [b, c], [b, b, c], [a, b, c]):
        items = sent.items(messages, "whom", wire)
        assert [msgspec.json.decode(item)["text"] for item in items] == [message.text() for message in messages]
    assert made == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://host", "http://host/v1/chat/completions"),
        ("http://host/v1/", "http://host/v1/chat/completions"),
        ("http://host/v1beta/openai", "http://host/v1beta/openai/chat/completions"),
        ("https://r.openai.azure.com/openai/v1", "https://r.openai.azure.com/openai/v1/chat/completions"),
        (
            "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
        ("http://host?x=1", "http://host/v1/chat/completions?x=1"),
    ],
)
def test_where_a_path_goes(base: str, url: str) -> None:
    assert address(base, "chat/completions") == url


def test_a_query_of_the_base_and_one_of_the_path_are_joined() -> None:
    assert address("http://host?x=1", "models?limit=5") == "http://host/v1/models?x=1&limit=5"


def test_a_key_goes_where_the_endpoint_wants_it() -> None:
    """Azure's header for a key, and a bearer for what is a token."""
    azure = Endpoint(provider="azure", base_url="http://host", api_key="k", key_header="api-key")
    assert headers_of(OpenAIChatDialect(), azure)["api-key"] == "k"
    assert "authorization" not in headers_of(OpenAIChatDialect(), azure)
    token = msgspec.structs.replace(azure, oauth=True)
    assert headers_of(OpenAIChatDialect(), token)["authorization"] == "Bearer k"


def test_claude_at_vertex_has_its_model_in_the_address() -> None:
    base = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic"
    endpoint = Endpoint(provider="vertex-anthropic", base_url=base, api_key="ya29", key_header="authorization")
    sent = AnthropicDialect().request(Request(model=MODEL, messages=(user("hi"),)), endpoint)
    body = msgspec.json.decode(sent.body)
    assert sent.url == f"{base}/models/m-1:streamRawPredict"
    assert body["anthropic_version"] == "vertex-2023-10-16" and "model" not in body and body["stream"] is True
    assert headers_of(AnthropicDialect(), endpoint)["authorization"] == "Bearer ya29"
