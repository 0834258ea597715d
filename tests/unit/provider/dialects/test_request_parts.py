"""Request caching: the bytes equal those of a request encoded from scratch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from zot.provider.dialects.request_parts import MISSING_RESULT, TranscriptRepair, WireMessageCache, address, repaired
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
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
def test_growing_transcript_equals_fresh_encoding(make: Callable[[], Dialect]) -> None:
    long_lived, messages = make(), conversation()
    for length in range(1, len(messages) + 1):
        request = Request(model=MODEL, system="s", messages=tuple(messages[:length]))
        assert long_lived.request(request, ENDPOINT).body == make().request(request, ENDPOINT).body


@pytest.mark.parametrize("make", [AnthropicDialect, OpenAIChatDialect, GeminiDialect, BedrockDialect])
def test_model_change_or_compaction_equals_fresh_encoding(make: Callable[[], Dialect]) -> None:
    """Reasoning is sent to its own model only, images to models that support them."""
    long_lived, messages = make(), conversation()
    blind = msgspec.structs.replace(THINKER, input=("text",))
    whole, tail = tuple(messages), (user("a summary"), *messages[-2:])
    for model, said in ((MODEL, whole), (THINKER, whole), (blind, whole), (MODEL, tail), (MODEL, whole)):
        request = Request(model=model, messages=said)
        assert long_lived.request(request, ENDPOINT).body == make().request(request, ENDPOINT).body


def test_message_is_encoded_once_and_evicted_with_transcript() -> None:
    made: list[str] = []

    def wire(message: Message) -> list[dict[str, Any]]:
        made.append(message.text())
        return [{"text": message.text()}]

    sent, a, b, c = WireMessageCache(), user("a"), user("b"), user("c")
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
def test_path_is_joined_to_the_base_url(base: str, url: str) -> None:
    assert address(base, "chat/completions") == url


def test_a_query_of_the_base_and_one_of_the_path_are_joined() -> None:
    assert address("http://host?x=1", "models?limit=5") == "http://host/v1/models?x=1&limit=5"


def test_key_is_sent_in_the_endpoint_header() -> None:
    """Azure's header for a key, and a bearer header for a token."""
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


# Transcripts with holes, made acceptable.


def calls(*ids: str) -> Message:
    return assistant(*(ToolCallBlock(id, "bash") for id in ids))


def stub(id: str) -> ToolResultBlock:
    return ToolResultBlock(id, (TextBlock(MISSING_RESULT),), is_error=True)


def test_valid_transcript_is_returned_as_the_same_objects() -> None:
    messages = (*tool_round(), assistant("done"), user("more"))
    fixed = repaired(messages)
    assert len(fixed) == len(messages)
    assert all(new is old for new, old in zip(fixed, messages, strict=True))


def test_an_empty_transcript_stays_empty() -> None:
    assert repaired(()) == ()


def test_a_result_without_its_call_is_dropped() -> None:
    """engine-160: a tool result whose call is gone is removed, and its neighbours stay."""
    kept = result("c1", "ok")
    fixed = repaired((user("a"), calls("c1"), results(kept, result("gone", "x"))))
    assert fixed[2].content == (kept,)


def test_a_message_left_without_blocks_is_dropped() -> None:
    """engine-160: a message that the repair leaves without blocks is removed."""
    assert repaired((user("a"), results(result("gone", "x")), user(), assistant())) == (user("a"),)


def test_call_without_result_gets_stub_in_existing_message() -> None:
    fixed = repaired((calls("c1", "c2", "c3"), results(result("c2", "ok"))))
    assert fixed[1].content == (result("c2", "ok"), stub("c1"), stub("c3"))


def test_call_without_any_results_gets_new_message_with_time() -> None:
    first = Message("assistant", (ToolCallBlock("c1", "bash"),), "then")
    fixed = repaired((user("a"), first, user("b")))
    assert fixed[2] == Message("tool", (stub("c1"),), "then")
    assert fixed[3] == user("b")


def test_a_call_at_the_very_end_gets_a_stub() -> None:
    assert repaired((calls("c1"),))[1].content == (stub("c1"),)


def test_result_too_far_from_its_call_is_ignored() -> None:
    fixed = repaired((calls("c1"), user("steer"), results(result("c1", "late"))))
    assert [message.role for message in fixed] == ["assistant", "tool", "user"]
    assert fixed[1].content == (stub("c1"),)


def test_a_second_result_for_one_call_is_dropped() -> None:
    fixed = repaired((calls("c1"), results(result("c1", "one"), result("c1", "two"))))
    assert fixed[1].content == (result("c1", "one"),)


def test_results_may_come_in_several_messages() -> None:
    messages = (calls("c1", "c2"), results(result("c1")), results(result("c2")))
    assert repaired(messages) == messages


def test_servers_that_repeat_ids_are_understood() -> None:
    """Every turn of some local servers begins again with the same id."""
    turn = (calls("call_0", "call_0"), results(result("call_0", "a"), result("call_0", "b")))
    assert repaired(turn * 3) == turn * 3


def test_the_originals_are_not_changed() -> None:
    messages = (calls("c1", "c2"), results(result("gone"), result("c1")))
    copies = tuple(Message(m.role, m.content, m.time) for m in messages)
    repaired(messages)
    assert messages == copies


def test_a_long_transcript_takes_time_in_proportion() -> None:
    """20,000 messages, each round with a hole: quadratic work would take minutes."""
    turns = tuple(m for n in range(10_000) for m in (calls(f"a{n}", f"b{n}"), results(result(f"a{n}"))))
    assert len(repaired(turns)) == 20_000


_PIECES = st.sampled_from(
    [
        *(user("a"), user(), assistant("b"), calls("c1"), calls("c1", "c2"), results(result("c1", "ok"))),
        *(results(result("c2", "ok"), result("c1", "ok")), results(result("gone", "x"))),
    ]
)


@given(st.lists(st.tuples(st.integers(0, 6), st.lists(_PIECES, max_size=5)), max_size=8))
def test_repair_is_independent_of_earlier_requests(changes: list[tuple[int, list[Message]]]) -> None:
    """Requests grow, lose their end or start over; each is repaired as if it were the first."""
    repair, messages = TranscriptRepair(), list[Message]()
    for dropped, added in changes:
        messages = [*messages[: max(len(messages) - dropped, 0)], *added]
        assert repair(messages) == repaired(messages)


def test_thousands_of_answers_in_own_messages_are_repaired_in_linear_time() -> None:
    def seconds(count: int) -> float:
        calls = assistant(*(ToolCallBlock(f"c{number}", "read", "{}") for number in range(count)))
        answers = [results(result(f"c{number}", "x")) for number in range(count - 1)]
        begin = time.process_time()
        made = repaired([user("go"), calls, *answers])
        spent = time.process_time() - begin
        assert [block.call_id for message in made[2:] for block in message.tool_results()][-1] == f"c{count - 1}"
        return spent

    assert seconds(6000) < 0.5
