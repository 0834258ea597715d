"""Decoding a chat-completions stream."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.provider.samples import decoder_of, fed, finished, usage_of
from zot.errors import BadRequest, ContextTooLong, ProviderError, RateLimited, TransportFailed
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.messages import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from zot.provider.model_call import TextDelta, ThinkingDelta, ToolArgs, ToolEnded, ToolStarted

DIALECT = OpenAIChatDialect()
DONE = b"[DONE]"


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}


def call(index: int | None, id: str | None = None, name: str | None = None, arguments: str = "") -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def called(*pieces: dict[str, Any]) -> dict[str, Any]:
    return chunk(tool_calls=list(pieces))


def counted(**usage: Any) -> dict[str, Any]:
    return {"choices": [], "usage": usage}


def test_a_short_answer() -> None:
    """engine-070: the shortest complete stream yields `hello`, stop `end`, 8 tokens in and 2 out."""
    events = fed(
        decoder_of(DIALECT),
        chunk(role="assistant", content=None),
        chunk(content="hel"),
        chunk(content="lo"),
        chunk("stop"),
        counted(prompt_tokens=8, completion_tokens=2),
        DONE,
    )
    end = finished(events)
    assert events[:2] == [TextDelta("hel"), TextDelta("lo")]
    assert (end.stop, end.error, end.message.content) == ("end", None, (TextBlock("hello"),))
    assert usage_of(events).usage == Usage(8, 2)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(6, 0, 4)),
        ({"prompt_tokens": 10, "cached_tokens": 4}, Usage(6, 0, 4)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(3, 0, 4)),
        ({"prompt_tokens": 3.0, "completion_tokens": None, "prompt_tokens_details": None}, Usage(3)),
        (
            {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}},
            Usage(0, 9, reasoning_tokens=7),
        ),
    ],
)
def test_cached_tokens_are_taken_out_of_the_input(usage: dict[str, Any], expected: Usage) -> None:
    """engine-071: cached prompt tokens are subtracted from the input and reported as cache reads."""
    assert usage_of(fed(decoder_of(DIALECT), counted(**usage), chunk("stop"), DONE)).usage == expected


def test_usage_inside_a_choice_counts() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    assert usage_of(fed(decoder_of(DIALECT), {"choices": [choice]}, DONE)).usage == Usage(5, 1)


def test_a_call_in_pieces_is_one_call() -> None:
    """engine-072: id, name and arguments in three chunks, arguments first held back."""
    events = fed(
        decoder_of(DIALECT),
        called(call(0, id="c1", arguments='{"x"')),
        called(call(0, name="bash")),
        called(call(0, arguments=":1}")),
        chunk("tool_calls"),
        DONE,
    )
    assert events[:4] == [ToolStarted("c1", "bash"), ToolArgs("c1", '{"x"'), ToolArgs("c1", ":1}"), ToolEnded("c1")]
    end = finished(events)
    assert (end.stop, end.message.content) == ("tool_use", (ToolCallBlock("c1", "bash", '{"x":1}'),))


def test_parallel_calls_stay_apart() -> None:
    """engine-073: two parallel tool calls with interleaved deltas are separated by their index."""
    end = finished(
        fed(
            decoder_of(DIALECT),
            called(call(0, "c1", "a"), call(1, "c2", "b")),
            called(call(1, arguments='{"n":2}')),
            called(call(0, arguments='{"n":1}')),
            chunk("tool_calls"),
            DONE,
        )
    )
    assert end.message.content == (ToolCallBlock("c1", "a", '{"n":1}'), ToolCallBlock("c2", "b", '{"n":2}'))


def test_parallel_calls_without_index_stay_apart() -> None:
    whole = called(call(None, "c1", "a", '{"n":1}'), call(None, "c2", "b", '{"n":2}'))
    end = finished(fed(decoder_of(DIALECT), whole, chunk("tool_calls"), DONE))
    assert [(c.id, c.arguments) for c in end.message.tool_calls()] == [("c1", '{"n":1}'), ("c2", '{"n":2}')]


def test_parallel_calls_with_equal_index_stay_separate() -> None:
    pieces = called(call(0, "c1", "a", "{}")), called(call(0, "c2", "a", "{}"))
    end = finished(fed(decoder_of(DIALECT), *pieces, chunk("tool_calls"), DONE))
    assert [c.id for c in end.message.tool_calls()] == ["c1", "c2"]


def test_a_new_id_with_every_piece_does_not_split_a_call() -> None:
    pieces = called(call(0, "c1", "a", '{"n"')), called(call(0, "c9", None, ":1}"))
    end = finished(fed(decoder_of(DIALECT), *pieces, chunk("tool_calls"), DONE))
    assert end.message.content == (ToolCallBlock("c1", "a", '{"n":1}'),)


def test_text_behind_a_call_is_a_new_block() -> None:
    """engine-074: text that follows a tool call begins a new text block."""
    payloads = chunk(content="a"), called(call(0, "c1", "x", "{}")), chunk(content="b"), chunk(content="c")
    end = finished(fed(decoder_of(DIALECT), *payloads, chunk("tool_calls"), DONE))
    assert end.message.content == (TextBlock("a"), ToolCallBlock("c1", "x", "{}"), TextBlock("bc"))


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ({"message": "boom"}, ProviderError, "acme: boom"),
        ("boom", ProviderError, "acme: boom"),
        ({"message": "slow", "code": 429}, RateLimited, "acme: slow"),
        ({"message": "x", "code": "context_length_exceeded"}, ContextTooLong, "acme: x"),
        ({"type": "invalid_request_error"}, BadRequest, "acme: invalid_request_error"),
    ],
)
def test_an_error_in_the_stream_ends_it(error: Any, kind: type[ProviderError], text: str) -> None:
    """engine-076: the text begins with the provider's own name."""
    end = finished(fed(decoder_of(DIALECT), chunk(content="par"), {"error": error}))
    assert (end.stop, type(end.error), str(end.error)) == ("error", kind, text)
    assert end.message.text() == "par"


@pytest.mark.parametrize(
    ("reason", "stop"), [("stop", "end"), ("length", "length"), ("function_call", "tool_use"), ("odd", "end")]
)
def test_stop_reason_is_mapped(reason: str, stop: str) -> None:
    assert finished(fed(decoder_of(DIALECT), chunk(content="x"), chunk(reason), DONE)).stop == stop


def test_a_filtered_answer_is_an_error() -> None:
    end = finished(fed(decoder_of(DIALECT), chunk(content="x"), chunk("content_filter"), DONE))
    assert (end.stop, type(end.error)) == ("error", BadRequest)


def test_calls_behind_a_stop_are_there_to_be_run() -> None:
    events = fed(decoder_of(DIALECT), called(call(0, "c1", "a", "{}")), chunk("stop"), DONE)
    assert ToolEnded("c1") in events
    assert finished(events).stop == "tool_use"


def test_call_without_id_gets_a_reproducible_one() -> None:
    def run() -> Any:
        return fed(decoder_of(DIALECT), called(call(0, None, "a", '{"n":1}')), chunk("tool_calls"), DONE)

    assert run()[:3] == [ToolStarted("call_1_0", "a"), ToolArgs("call_1_0", '{"n":1}'), ToolEnded("call_1_0")]
    assert [c.id for c in finished(run()).message.tool_calls()] == ["call_1_0"]


@pytest.mark.parametrize("arguments", ["", "{oops", "[1]"])
def test_final_arguments_that_are_not_an_object_become_empty(arguments: str) -> None:
    end = finished(fed(decoder_of(DIALECT), called(call(0, "c1", "a", arguments)), chunk("tool_calls"), DONE))
    assert end.message.content == (ToolCallBlock("c1", "a", "{}"),)


def test_a_call_cut_at_the_limit_keeps_its_broken_arguments() -> None:
    """It must not look like a call without arguments."""
    events = fed(decoder_of(DIALECT), called(call(0, "c1", "a", '{"n"')), chunk("length"), DONE)
    assert ToolEnded("c1") not in events
    assert finished(events).stop == "length"
    assert finished(events).message.tool_calls()[0].arguments == '{"n"'


def test_arguments_that_come_as_an_object_are_text_for_us() -> None:
    piece = {"index": 0, "id": "c1", "function": {"name": "a", "arguments": {"n": 1}}}
    end = finished(fed(decoder_of(DIALECT), called(piece), chunk("tool_calls"), DONE))
    assert end.message.content == (ToolCallBlock("c1", "a", '{"n":1}'),)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_streamed_and_stored_last(field: str) -> None:
    decoder = decoder_of(DIALECT)
    assert fed(decoder, chunk(**{field: "h"}), chunk(**{field: "m"})) == [ThinkingDelta("h"), ThinkingDelta("m")]
    assert not decoder.has_content
    end = finished(fed(decoder, chunk(content="x"), chunk("stop"), DONE))
    assert end.message.content == (TextBlock("x"), ReasoningBlock("", "hm", "", "reasoning", "acme", "m-1"))


def test_a_refusal_reaches_the_user() -> None:
    """engine-258: text in `delta.refusal` is shown and stored like any other text."""
    events = fed(decoder_of(DIALECT), chunk(refusal="I can"), chunk(refusal="not."), chunk("stop"), DONE)
    assert events[:2] == [TextDelta("I can"), TextDelta("not.")]
    assert finished(events).message.text() == "I cannot."


def test_content_in_parts_is_text() -> None:
    parts: list[Any] = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "x"}]
    assert fed(decoder_of(DIALECT), chunk(content=parts)) == [TextDelta("x")]


def test_connection_closed_after_finish_reason_is_a_clean_end() -> None:
    decoder = decoder_of(DIALECT)
    fed(decoder, chunk(content="x"), chunk("stop"))
    assert finished(decoder.end_of_input()).stop == "end"
    assert decoder.end_of_input() == []


def test_a_connection_that_ends_before_it_is_a_cut() -> None:
    """engine-050 for this dialect"""
    decoder = decoder_of(DIALECT)
    fed(decoder, called(call(0, "c1", "a", "{}")))
    end = finished(decoder.end_of_input())
    assert (end.stop, type(end.error)) == ("error", TransportFailed)


def test_nothing_follows_the_end() -> None:
    decoder = decoder_of(DIALECT)
    fed(decoder, chunk("stop"), DONE)
    assert fed(decoder, chunk(content="x"), DONE) == decoder.abort(None) == []


@pytest.mark.parametrize("garbage", [b"", b"{", b"[1]", b"\xff", b'{"choices":5}'])
def test_garbage_is_skipped_and_stream_continues(garbage: bytes) -> None:
    end = finished(fed(decoder_of(DIALECT), chunk(content="a"), garbage, chunk(content="b"), chunk("stop"), DONE))
    assert (end.stop, end.message.text()) == ("end", "ab")
