"""Decoding a Responses stream."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.provider.samples import MODEL, decoder_of, fed, finished, usage_of
from zot.errors import BadRequest, ContextTooLong, ProviderError, RateLimited, TransportFailed
from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.messages import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from zot.provider.model_call import TextDelta, ThinkingDelta, ToolArgs, ToolEnded, ToolStarted

DIALECT = OpenAIResponsesDialect()
CODEX = Endpoint(provider="openai", base_url="http://host/codex/responses", oauth=True)


def added(index: int, type: str, **fields: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": {"type": type, **fields}}


def done(index: int, type: str, **fields: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": {"type": type, **fields}}


def piece(kind: str, text: str, index: int = 0) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text}


def ended(type: str = "response.completed", **response: Any) -> dict[str, Any]:
    return {"type": type, "response": response}


CALL = added(0, "function_call", id="fc_1", call_id="c1", name="bash", arguments="")
CALLED = done(0, "function_call", id="fc_1", call_id="c1", name="bash", arguments='{"x":1}')


def test_a_short_answer() -> None:
    events = fed(decoder_of(DIALECT), added(0, "message"), piece("output_text", "hi"), done(0, "message"), ended())
    end = finished(events)
    assert events[0] == TextDelta("hi")
    assert (end.stop, end.error, end.message.content) == ("end", None, (TextBlock("hi"),))


def test_call_is_emitted_as_it_arrives_and_sets_stop_reason() -> None:
    """engine-088: a function call is emitted as tool start, arguments and end, in that order, and stops with
    `tool_use`.
    """
    events = fed(
        decoder_of(DIALECT),
        CALL,
        piece("function_call_arguments", '{"x":'),
        piece("function_call_arguments", "1}"),
        {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"x":1}'},
        CALLED,
        ended(),
    )
    assert events[:4] == [
        ToolStarted("c1", "bash"),
        ToolArgs("c1", '{"x":'),
        ToolArgs("c1", "1}"),
        ToolEnded("c1"),
    ]
    end = finished(events)
    assert (end.stop, end.message.content) == ("tool_use", (ToolCallBlock("c1", "bash", '{"x":1}'),))


def test_arguments_without_deltas_are_read_from_the_item() -> None:
    events = fed(decoder_of(DIALECT), CALLED)
    assert events == [ToolStarted("c1", "bash"), ToolArgs("c1", '{"x":1}'), ToolEnded("c1")]


def test_text_without_deltas_is_read_from_the_item() -> None:
    item = done(0, "message", content=[{"type": "output_text", "text": "hi"}])
    assert fed(decoder_of(DIALECT), added(0, "message"), item) == [TextDelta("hi")]


def test_summary_received_twice_is_stored_once() -> None:
    """engine-089: a summary that arrives both in deltas and whole is shown once."""
    events = fed(
        decoder_of(DIALECT),
        added(0, "reasoning", id="rs_1", encrypted_content="early", summary=[]),
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        piece("reasoning_summary_text", "first"),
        {"type": "response.reasoning_summary_text.done", "output_index": 0, "text": "first"},
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        piece("reasoning_summary_text", "second"),
        done(0, "reasoning", id="rs_1", encrypted_content="seal", summary=[{"text": "first"}, {"text": "second"}]),
        ended(),
    )
    assert finished(events).message.content == (
        ReasoningBlock("rs_1", "first\n\nsecond", "seal", "reasoning", "acme", "m-1"),
    )
    assert events[:-2] == [ThinkingDelta(text) for text in ("", "first", "\n\n", "second")]


def test_summary_without_deltas_is_read_from_the_item() -> None:
    whole = done(0, "reasoning", id="rs_1", summary=[{"text": "a"}, {"text": "b"}])
    events = fed(decoder_of(DIALECT), added(0, "reasoning"), whole, ended())
    (block,) = finished(events).message.content
    assert events[:-2] == [ThinkingDelta(""), ThinkingDelta("a\n\nb")]
    assert block == ReasoningBlock("rs_1", "a\n\nb", "", "reasoning", "acme", "m-1")


def test_open_model_thoughts_are_emitted_but_not_sent_back() -> None:
    events = fed(decoder_of(DIALECT), added(0, "reasoning", id="rs_1"), piece("reasoning_text", "hm"), ended())
    assert events[:-2] == [ThinkingDelta(""), ThinkingDelta("hm")]
    assert finished(events).message.content == (ReasoningBlock("rs_1", "", "", "reasoning", "acme", "m-1"),)


def test_reasoning_is_before_its_call() -> None:
    decoder = decoder_of(DIALECT)
    fed(decoder, added(0, "reasoning", id="rs_1"), {**CALL, "output_index": 1}, {**CALLED, "output_index": 1})
    content = finished(fed(decoder, ended())).message.content
    assert [type(block) for block in content] == [ReasoningBlock, ToolCallBlock]


@pytest.mark.parametrize("event", ["response.incomplete", "response.completed"])
def test_answer_cut_at_its_limit_has_stop_length(event: str) -> None:
    """engine-090: `response.incomplete` at the output limit is reported as `length`, not as a clean end."""
    cut = ended(
        event,
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
        usage={"input_tokens": 3, "output_tokens": 2},
    )
    events = fed(decoder_of(DIALECT), added(0, "message"), piece("output_text", "par"), cut)
    assert (finished(events).stop, finished(events).message.text()) == ("length", "par")
    assert usage_of(events).usage == Usage(3, 2)


def test_an_answer_incomplete_for_another_reason_is_an_error() -> None:
    """engine-090: `response.incomplete` for any other reason, such as a content filter, is an error that names it."""
    end = finished(
        fed(decoder_of(DIALECT), ended("response.incomplete", incomplete_details={"reason": "content_filter"}))
    )
    assert (end.stop, type(end.error)) == ("error", BadRequest)
    assert "content_filter" in str(end.error)
    assert finished(fed(decoder_of(DIALECT), ended("response.incomplete"))).stop == "error"


@pytest.mark.parametrize(
    ("payload", "text", "kind"),
    [
        (ended("response.failed", error={"code": "server_error", "message": "boom"}), "codex: boom", ProviderError),
        (ended("response.failed", error={"code": "rate_limit_exceeded"}), "codex: rate_limit_exceeded", RateLimited),
        ({"type": "error", "code": "context_length_exceeded", "message": "long"}, "codex error: long", ContextTooLong),
        ({"type": "error", "code": "odd"}, "codex error: odd", ProviderError),
        ({"type": "error", "error": {"type": "odd", "message": "in"}}, "codex error: in", ProviderError),
    ],
)
def test_failures_in_the_stream_end_it(payload: dict[str, Any], text: str, kind: type[ProviderError]) -> None:
    """engine-091: `response.failed` and `error` events end the stream with stop `error` and their text."""
    end = finished(fed(decoder_of(DIALECT, MODEL, CODEX), payload))
    assert (end.stop, str(end.error)) == ("error", text)
    assert isinstance(end.error, kind)


def test_failure_with_a_key_has_the_provider_name() -> None:
    end = finished(fed(decoder_of(DIALECT), ended("response.failed", error={"message": "boom"})))
    assert str(end.error) == "acme: boom"


def test_cached_tokens_are_taken_out_of_the_input() -> None:
    """engine-092: cached tokens are subtracted from the input and reported as cache reads."""
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 7},
    }
    assert usage_of(fed(decoder_of(DIALECT), ended(usage=usage))).usage == Usage(6, 9, 4, reasoning_tokens=7)
    odd = {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 4}}
    assert usage_of(fed(decoder_of(DIALECT), ended("response.done", usage=odd))).usage == Usage(3, 0, 4)


def test_a_refusal_reaches_the_user() -> None:
    """engine-258: refusal deltas are shown and stored like any other text."""
    events = fed(decoder_of(DIALECT), added(0, "message"), piece("refusal", "I cannot."), ended())
    assert events[0] == TextDelta("I cannot.")
    assert finished(events).message.text() == "I cannot."


def test_refusal_without_deltas_is_read_from_the_item() -> None:
    """engine-258: a refusal that comes without deltas is read from the finished item."""
    item = done(0, "message", content=[{"type": "refusal", "refusal": "No."}])
    assert fed(decoder_of(DIALECT), added(0, "message"), item) == [TextDelta("No.")]


def test_unknown_items_are_skipped() -> None:
    payloads = [
        {"type": "response.created", "response": {"status": "in_progress"}},
        added(0, "web_search_call", id="ws"),
        piece("output_text", "lost"),
        added(1, "custom_tool_call", call_id="x", name="y"),
        piece("custom_tool_call_input", "lost", 1),
        done(2, "tool_search_call", arguments={"not": "text"}),
        {"type": "response.something.new"},
    ]
    decoder = decoder_of(DIALECT)
    assert fed(decoder, *payloads) == []
    assert finished(fed(decoder, ended())).message.content == ()


def test_cut_stream_is_an_error() -> None:
    """engine-050 for this dialect"""
    decoder = decoder_of(DIALECT)
    fed(decoder, CALL, CALLED)
    end = finished(decoder.end_of_input())
    assert (end.stop, type(end.error)) == ("error", TransportFailed)
    assert fed(decoder, ended()) == decoder.end_of_input() == []


@pytest.mark.parametrize("garbage", [b"", b"[DONE]", b"{", b"[1]", b"\xff", b'{"delta":{"an":"object"}}'])
def test_garbage_is_skipped_and_stream_continues(garbage: bytes) -> None:
    payloads = [added(0, "message"), piece("output_text", "a"), garbage, piece("output_text", "b"), ended()]
    assert finished(fed(decoder_of(DIALECT), *payloads)).message.text() == "ab"
