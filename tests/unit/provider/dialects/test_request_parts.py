"""What is remembered between requests changes nothing but the work: the bytes are those of a request made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.unit.provider.samples import ENDPOINT, MODEL, THINKER, assistant, result, results, tool_round, user
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.dialect import Dialect
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.request_parts import Sent
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


@pytest.mark.parametrize("make", [AnthropicDialect, OpenAIChatDialect])
def test_a_growing_transcript_is_sent_as_if_each_request_were_the_first(make: Callable[[], Dialect]) -> None:
    long_lived, messages = make(), conversation()
    for length in range(1, len(messages) + 1):
        request = Request(model=MODEL, system="s", messages=tuple(messages[:length]))
        assert long_lived.request(request, ENDPOINT).body == make().request(request, ENDPOINT).body


@pytest.mark.parametrize("make", [AnthropicDialect, OpenAIChatDialect])
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
