"""Decoding a ConverseStream."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.fakes.replay_server import replayed
from tests.unit.provider.samples import MODEL, decoder_of, finished, usage_of, user
from zot.errors import AuthFailed, BadRequest, ContextTooLong, Overloaded, ProviderError, RateLimited, TransportFailed
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.dialect import Decoder, Endpoint
from zot.provider.http.sse import SseEvent
from zot.provider.http_client import HttpClient
from zot.provider.messages import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from zot.provider.model_call import Request, StreamEvent, TextDelta, ThinkingDelta, ToolArgs, ToolEnded, ToolStarted

DIALECT = BedrockDialect()
Payload = tuple[str, dict[str, Any] | bytes]


def fed(decoder: Decoder, *payloads: Payload) -> list[StreamEvent]:
    return [
        event
        for name, payload in payloads
        for event in decoder.feed(
            SseEvent(name, payload if isinstance(payload, bytes) else msgspec.json.encode(payload))
        )
    ]


def delta(index: int, **fields: Any) -> Payload:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": fields}


def said(text: str, index: int = 0) -> Payload:
    return delta(index, text=text)


def tool(index: int, id: str, *pieces: str) -> list[Payload]:
    start = {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": id, "name": "bash"}}}
    deltas = [delta(index, toolUse={"input": piece}) for piece in pieces]
    return [("contentBlockStart", start), *deltas, ("contentBlockStop", {"contentBlockIndex": index})]


def stopped(reason: str = "end_turn") -> Payload:
    return "messageStop", {"stopReason": reason}


def counted(**usage: int) -> Payload:
    return "metadata", {"usage": usage, "metrics": {"latencyMs": 5}}


END = [stopped(), counted(inputTokens=10, outputTokens=2)]


def test_a_short_answer_with_its_usage() -> None:
    usage = counted(inputTokens=10, outputTokens=2, cacheReadInputTokens=5, cacheWriteInputTokens=3)
    events = fed(decoder_of(DIALECT), ("messageStart", {"role": "assistant"}), said("hi"), stopped(), usage)
    end = finished(events)
    assert events[0] == TextDelta("hi")
    assert (end.stop, end.error, end.message.content) == ("end", None, (TextBlock("hi"),))
    assert usage_of(events).usage == Usage(10, 2, 5, 3)


def test_call_is_emitted_as_it_arrives() -> None:
    events = fed(decoder_of(DIALECT), *tool(0, "c1", "", '{"x":', "1}"), stopped("tool_use"), END[1])
    assert events[:4] == [ToolStarted("c1", "bash"), ToolArgs("c1", '{"x":'), ToolArgs("c1", "1}"), ToolEnded("c1")]
    assert finished(events).stop == "tool_use"
    assert finished(events).message.content == (ToolCallBlock("c1", "bash", '{"x":1}'),)


def test_text_and_calls_keep_their_order() -> None:
    end = finished(fed(decoder_of(DIALECT), said("a"), *tool(1, "c1"), said("b", 2), *END))
    assert end.message.content == (TextBlock("a"), ToolCallBlock("c1", "bash", "{}"), TextBlock("b"))
    assert end.stop == "tool_use"


def test_thinking_is_stored_with_signature() -> None:
    decoder = decoder_of(DIALECT)
    thoughts = [delta(0, reasoningContent={"text": piece}) for piece in ("hm ", "so")]
    seal = delta(0, reasoningContent={"signature": "sig"})
    hidden = delta(1, reasoningContent={"redactedContent": "YmxvYg=="})
    assert fed(decoder, *thoughts, seal, hidden) == [ThinkingDelta("hm "), ThinkingDelta("so")]
    assert not decoder.has_content
    end = finished(fed(decoder, said("ok", 2), *END))
    assert end.message.content == (
        ReasoningBlock("", "hm so", "sig", "thinking", "acme", "m-1"),
        ReasoningBlock("", "", "YmxvYg==", "redacted_thinking", "acme", "m-1"),
        TextBlock("ok"),
    )


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("something_new", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_use"),
    ],
)
def test_stop_reason_is_mapped(reason: str, stop: str) -> None:
    assert finished(fed(decoder_of(DIALECT), said("x"), stopped(reason), END[1])).stop == stop


@pytest.mark.parametrize(
    ("reason", "kind", "retryable"),
    [
        ("content_filtered", BadRequest, False),
        ("guardrail_intervened", BadRequest, False),
        ("refusal", BadRequest, False),
        ("malformed_model_output", Overloaded, True),
        ("malformed_tool_use", Overloaded, True),
    ],
)
def test_endings_that_are_failures(reason: str, kind: type[ProviderError], retryable: bool) -> None:
    end = finished(fed(decoder_of(DIALECT), said("I "), stopped(reason), END[1]))
    assert end.stop == "error" and type(end.error) is kind and end.error.retryable is retryable
    assert end.message.text() == "I "


@pytest.mark.parametrize(
    ("name", "message", "kind", "retryable"),
    [
        ("exception:throttlingException", "Too many", RateLimited, True),
        ("exception:serviceUnavailableException", "busy", Overloaded, True),
        ("exception:internalServerException", "oops", Overloaded, True),
        ("exception:modelStreamErrorException", "oops", Overloaded, True),
        ("exception:validationException", "bad", BadRequest, False),
        ("exception:validationException", "Input is too long for requested model.", ContextTooLong, False),
        ("exception:accessDeniedException", "no", AuthFailed, False),
        ("error:InternalError", "oops", ProviderError, False),
    ],
)
def test_an_exception_ends_the_stream(name: str, message: str, kind: type[ProviderError], retryable: bool) -> None:
    decoder = decoder_of(DIALECT)
    end = finished(fed(decoder, said("half"), (name, {"message": message})))
    assert type(end.error) is kind and end.error.retryable is retryable
    assert str(end.error) == f"acme {name.partition(':')[2]}: {message}"
    assert (end.stop, end.message.text()) == ("error", "half")
    assert fed(decoder, said("more"), *END) == decoder.end_of_input() == []


def test_an_exception_without_a_readable_payload_is_one_still() -> None:
    end = finished(fed(decoder_of(DIALECT), ("exception:throttlingException", b"\xff{")))
    assert isinstance(end.error, RateLimited)


def test_stream_cut_before_its_end_is_an_error() -> None:
    decoder = decoder_of(DIALECT)
    fed(decoder, *tool(0, "c1", "{}"))
    end = finished(decoder.end_of_input())
    assert end.stop == "error" and isinstance(end.error, TransportFailed) and end.error.retryable


def test_a_stream_cut_between_its_end_and_its_usage_is_complete() -> None:
    decoder = decoder_of(DIALECT)
    assert fed(decoder, said("x"), stopped()) == [TextDelta("x")]
    assert finished(decoder.end_of_input()).stop == "end"


@pytest.mark.parametrize("garbage", [b"", b"{", b"[1]", b'"x"', b"\xff", b'{"contentBlockIndex":"x"}', b"[" * 5000])
@pytest.mark.parametrize("name", ["contentBlockDelta", "metadata", "messageStop", "something", ""])
def test_garbage_is_skipped_and_stream_continues(name: str, garbage: bytes) -> None:
    events = fed(decoder_of(DIALECT), said("a"), (name, garbage), said("b"), *END)
    assert (finished(events).stop, finished(events).message.text()) == ("end", "ab")


async def test_a_refusal_is_raised_before_any_event() -> None:
    body = b'{"message":"The security token included in the request is invalid."}'
    async with replayed(body, status=403, content_type="application/json") as base:
        client = HttpClient("bedrock", DIALECT, Endpoint(provider="bedrock", base_url=base, api_key="k"))
        with pytest.raises(AuthFailed, match="bedrock: http 403: The security token"):
            async for event in client.stream(Request(model=MODEL, messages=(user("hi"),))):
                pytest.fail(f"an event came: {event}")
        await client.aclose()
