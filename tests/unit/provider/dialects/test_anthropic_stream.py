"""Decoding a Messages stream."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.replay_server import replayed
from tests.unit.provider.samples import MODEL, decoder_of, fed, finished, usage_of, user
from zot.errors import AuthFailed, BadRequest, Overloaded, ProviderError, TransportFailed
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.dialect import Endpoint
from zot.provider.http_client import HttpClient
from zot.provider.messages import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from zot.provider.model import Model
from zot.provider.model_call import Request, TextDelta, ThinkingDelta, ToolArgs, ToolEnded, ToolStarted

DIALECT = AnthropicDialect()
START = {
    "type": "message_start",
    "message": {
        "usage": {
            "input_tokens": 10,
            "output_tokens": 1,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 3,
        }
    },
}
STOP = {"type": "message_stop"}


def opened(index: int, type: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": type, **fields}}


def said(text: str, index: int = 0) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}


def delta(index: int, type: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": type, **fields}}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ending(reason: str = "end_turn", **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def tool(index: int, id: str, *pieces: str) -> list[dict[str, Any]]:
    deltas = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [opened(index, "tool_use", id=id, name="bash", input={}), *deltas, closed(index)]


def test_a_short_answer() -> None:
    """engine-041: the shortest complete stream yields the text `hi` and stops with `end`."""
    events = fed(decoder_of(DIALECT), START, opened(0, "text", text=""), said("hi"), closed(0), ending(), STOP)
    end = finished(events)
    assert events[0] == TextDelta("hi")
    assert (end.stop, end.error, end.message.content) == ("end", None, (TextBlock("hi"),))
    assert end.message.role == "assistant"
    assert end.message.time


def test_usage_is_assigned_not_summed() -> None:
    """engine-042: the counters of message_delta replace those of message_start; they are not added up."""
    events = fed(decoder_of(DIALECT), START, ending(output_tokens=7, input_tokens=12), STOP)
    assert usage_of(events).usage == Usage(12, 7, 5, 3)


def test_a_zero_counter_does_not_overwrite() -> None:
    """engine-043: a counter of zero in message_delta leaves the earlier value standing."""
    events = fed(decoder_of(DIALECT), START, ending(output_tokens=0, cache_read_input_tokens=0), STOP)
    assert usage_of(events).usage == Usage(10, 1, 5, 3)


def test_usage_carries_its_cost() -> None:
    priced = Model(id="m", provider="acme", price_input=1, price_output=2, price_cache_read=3, price_cache_write=4)
    events = fed(decoder_of(DIALECT, priced), START, STOP)
    assert usage_of(events).usage.cost_usd == pytest.approx((10 + 2 + 15 + 12) / 1e6)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("pause_turn", "end"),
        ("something_new", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_use"),
    ],
)
def test_stop_reason_is_mapped(reason: str, stop: str) -> None:
    """engine-044: each `stop_reason` of the wire maps to ours: `max_tokens` to length, `stop_sequence` to end, and so
    on.
    """
    assert finished(fed(decoder_of(DIALECT), ending(reason), STOP)).stop == stop


def test_a_refusal_is_an_error_with_its_explanation() -> None:
    """engine-258: its text is preserved."""
    refusal = {"stop_reason": "refusal", "stop_details": {"explanation": "too risky"}}
    end = finished(fed(decoder_of(DIALECT), said("I"), {"type": "message_delta", "delta": refusal}, STOP))
    assert end.stop == "error"
    assert isinstance(end.error, BadRequest)
    assert (str(end.error), end.error.code) == ("acme refusal: too risky", "refusal")
    assert end.message.text() == "I"


def test_an_error_event_ends_the_stream_with_type_and_message() -> None:
    """engine-045: an `error` event ends the stream with stop `error` and an exception that carries its type and
    message.
    """
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    decoder = decoder_of(DIALECT)
    end = finished(fed(decoder, said("par"), error))
    assert end.stop == "error"
    assert isinstance(end.error, Overloaded)
    assert (str(end.error), end.error.code, end.error.retryable) == (
        "acme overloaded_error: Overloaded",
        "overloaded_error",
        True,
    )
    assert end.message.text() == "par"
    assert fed(decoder, said("more"), STOP) == []


def test_an_error_in_another_vendors_shape_is_still_an_error() -> None:
    end = finished(fed(decoder_of(DIALECT), b'{"error":{"code":500,"message":"boom"}}'))
    assert (end.stop, str(end.error)) == ("error", "acme error: boom")


def test_text_and_calls_keep_their_order() -> None:
    """engine-046: interleaved text and tool calls preserve the order in which they first appeared."""
    payloads = [opened(0, "text"), said("a"), *tool(1, "c1", '{"x":', "1}"), opened(2, "text"), said("b", 2)]
    end = finished(fed(decoder_of(DIALECT), *payloads, ending("tool_use"), STOP))
    assert end.message.content == (TextBlock("a"), ToolCallBlock("c1", "bash", '{"x":1}'), TextBlock("b"))


def test_blocks_that_grow_at_the_same_time_stay_apart() -> None:
    payloads = [opened(0, "text"), opened(1, "text"), said("a", 0), said("b", 1), said("c", 0)]
    end = finished(fed(decoder_of(DIALECT), *payloads, STOP))
    assert end.message.content == (TextBlock("ac"), TextBlock("b"))


def test_call_is_emitted_as_it_arrives() -> None:
    assert fed(decoder_of(DIALECT), *tool(0, "c1", "", '{"x":', "1}")) == [
        ToolStarted("c1", "bash"),
        ToolArgs("c1", '{"x":'),
        ToolArgs("c1", "1}"),
        ToolEnded("c1"),
    ]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    """engine-047: a tool call that arrives without argument deltas gets the arguments `{}`."""
    end = finished(fed(decoder_of(DIALECT), *tool(0, "c1"), ending("tool_use"), STOP))
    assert end.message.content == (ToolCallBlock("c1", "bash", "{}"),)


def test_whole_arguments_are_emitted_before_the_end() -> None:
    events = fed(decoder_of(DIALECT), opened(0, "tool_use", id="c1", name="bash", input={"x": 1}), closed(0))
    assert events == [ToolStarted("c1", "bash"), ToolArgs("c1", '{"x":1}'), ToolEnded("c1")]


def test_arguments_that_are_not_json_stay_unchanged() -> None:
    end = finished(fed(decoder_of(DIALECT), *tool(0, "c1", '{"x": oops}'), ending("tool_use"), STOP))
    (call,) = end.message.tool_calls()
    assert (call.arguments, call.value) == ('{"x": oops}', None)


async def test_a_401_is_raised_before_any_event() -> None:
    """engine-048: over a real socket, a 401 is raised before any event."""
    async with replayed(b'{"error":{"message":"bad key"}}', status=401, content_type="application/json") as base:
        client = HttpClient("anthropic", DIALECT, Endpoint(provider="anthropic", base_url=base, api_key="k"))
        with pytest.raises(AuthFailed, match="401"):
            async for event in client.stream(Request(model=MODEL, messages=(user("hi"),))):
                pytest.fail(f"an event came: {event}")
        await client.aclose()


def test_abort_keeps_partial_message() -> None:
    """engine-049: cancelling in mid-stream gives stop `aborted` and the part of the message that had arrived."""
    decoder = decoder_of(DIALECT)
    fed(decoder, START, said("half"))
    end = finished(decoder.abort(None))
    assert (end.stop, end.error, end.message.text()) == ("aborted", None, "half")
    assert decoder.abort(None) == decoder.end_of_input() == []


def test_an_abort_for_a_reason_is_an_error() -> None:
    reason = ProviderError("acme: silent")
    end = finished(decoder_of(DIALECT).abort(reason))
    assert (end.stop, end.error) == ("error", reason)


def test_stream_cut_before_message_stop_is_an_error() -> None:
    """engine-050: a stream that ends before message_stop is reported as an error, even when a stop reason had come."""
    decoder = decoder_of(DIALECT)
    fed(decoder, START, *tool(0, "c1", "{}"), ending("tool_use"))
    end = finished(decoder.end_of_input())
    assert end.stop == "error"
    assert isinstance(end.error, TransportFailed)
    assert end.error.retryable


def test_thinking_is_stored_with_signature_and_model() -> None:
    """engine-051, the half that stores."""
    payloads = [
        opened(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hm "),
        delta(0, "thinking_delta", thinking="so"),
        delta(0, "signature_delta", signature="sig"),
        closed(0),
        opened(1, "redacted_thinking", data="blob"),
        *tool(2, "c1", "{}"),
    ]
    decoder = decoder_of(DIALECT)
    said = fed(decoder, *payloads[:6])
    assert said == [ThinkingDelta(""), ThinkingDelta("hm "), ThinkingDelta("so"), ThinkingDelta("")]
    assert not decoder.has_content
    end = finished(fed(decoder, *payloads[6:], ending("tool_use"), STOP))
    assert end.message.content == (
        ReasoningBlock("", "hm so", "sig", "thinking", "acme", "m-1"),
        ReasoningBlock("", "", "blob", "redacted_thinking", "acme", "m-1"),
        ToolCallBlock("c1", "bash", "{}"),
    )


def test_a_thought_that_follows_another_begins_a_paragraph() -> None:
    first = [opened(0, "thinking", thinking=""), delta(0, "thinking_delta", thinking="a"), closed(0)]
    second = [opened(1, "thinking", thinking=""), delta(1, "thinking_delta", thinking="b")]
    said = fed(decoder_of(DIALECT), *first, *second, delta(1, "thinking_delta", thinking="c"))
    assert "".join(event.text for event in said if isinstance(event, ThinkingDelta)) == "a\n\nbc"


def test_unknown_blocks_are_skipped() -> None:
    payloads = [
        opened(0, "server_tool_use", id="s1", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"q":1}'),
        closed(0),
        opened(1, "web_search_tool_result", content=[]),
        delta(2, "citations_delta", citation={}),
        {"type": "ping"},
        {"type": "something_new"},
    ]
    assert fed(decoder_of(DIALECT), *payloads) == []


@pytest.mark.parametrize("garbage", [b"", b"{", b"[1]", b'"x"', b"\xff", b'{"type":5}', b"[" * 5000, b'{"index":"x"}'])
def test_garbage_is_skipped_and_stream_continues(garbage: bytes) -> None:
    """engine-007, the half of the decoder"""
    end = finished(fed(decoder_of(DIALECT), said("a"), garbage, said("b"), ending(), STOP))
    assert (end.stop, end.message.text()) == ("end", "ab")


def test_content_is_the_returned_block_not_the_opened_one() -> None:
    decoder = decoder_of(DIALECT)
    fed(decoder, START, opened(0, "text", text=""), said(""))
    assert not decoder.has_content
    fed(decoder, said("x"))
    assert decoder.has_content
    assert decoder.partial().text() == "x"
