"""Decoding a Gemini stream."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.replay_server import replayed
from tests.unit.provider.samples import MODEL, decoder_of, fed, finished, usage_of, user
from zot.errors import AuthFailed, BadRequest, Overloaded, ProviderError, RateLimited, TransportFailed
from zot.provider.dialects.dialect import Decoder, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.http_client import HttpClient
from zot.provider.messages import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from zot.provider.model import LongPrompt, Model
from zot.provider.model_call import Request, StreamEvent, TextDelta, ThinkingDelta, ToolArgs, ToolEnded, ToolStarted

DIALECT = GeminiDialect()


def chunk(*parts: dict[str, Any], finish: str = "", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


def ended(decoder: Decoder, *payloads: dict[str, Any] | bytes) -> list[StreamEvent]:
    return fed(decoder, *payloads) + decoder.end_of_input()


def call(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **({"args": args} if args is not None else {}), **more}}


def test_a_short_answer() -> None:
    events = ended(decoder_of(DIALECT), chunk({"text": "he"}), chunk({"text": "llo"}, finish="STOP"))
    end = finished(events)
    assert events[:2] == [TextDelta("he"), TextDelta("llo")]
    assert (end.stop, end.error, end.message.content) == ("end", None, (TextBlock("hello"),))


def test_usage_counts_the_cache_apart_and_thoughts_as_output() -> None:
    counts = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
        "toolUsePromptTokenCount": 3,
    }
    events = ended(decoder_of(DIALECT), chunk({"text": "x"}, finish="STOP", usageMetadata=counts))
    assert usage_of(events).usage == Usage(43, 12, 60, 0, reasoning_tokens=7)


def test_the_last_usage_counts_also_behind_the_end() -> None:
    first, last = {"usageMetadata": {"promptTokenCount": 1}}, {"usageMetadata": {"promptTokenCount": 9}}
    events = ended(decoder_of(DIALECT), chunk({"text": "x"}, finish="STOP", **first), last)
    assert usage_of(events).usage.input_tokens == 9


@pytest.mark.parametrize(("prompt", "cost"), [(200_000, 0.25 + 0.01), (200_001, 0.5000025 + 0.015)])
def test_a_long_prompt_is_priced_as_one(prompt: int, cost: float) -> None:
    long = LongPrompt(above=200_000, price_input=2.5, price_output=15, price_cache_read=0.25)
    model = Model(id="m", provider="acme", price_input=1.25, price_output=10, long_prompt=long)
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": 1000}
    events = ended(decoder_of(DIALECT, model), chunk({"text": "x"}, finish="STOP", usageMetadata=counts))
    assert usage_of(events).usage.cost_usd == pytest.approx(cost)


def test_a_call_comes_whole() -> None:
    decoder = decoder_of(DIALECT)
    events = fed(
        decoder, chunk({"text": "Look:"}, call("bash", {"command": "ls"}, id="g1")), chunk({"text": ""}, finish="STOP")
    )
    assert events == [
        TextDelta("Look:"),
        ToolStarted("g1", "bash"),
        ToolArgs("g1", '{"command":"ls"}'),
        ToolEnded("g1"),
    ]
    end = finished(decoder.end_of_input())
    assert end.stop == "tool_use"
    assert end.message.content == (TextBlock("Look:"), ToolCallBlock("g1", "bash", '{"command":"ls"}'))


def test_calls_without_ids_get_the_same_ones_each_time() -> None:
    def ids() -> list[str]:
        events = ended(decoder_of(DIALECT), chunk(call("a"), call("b", {})), chunk(call("c", None), finish="STOP"))
        return [one.id for one in finished(events).message.tool_calls()]

    assert ids() == ids() == ["call_1_0", "call_1_1", "call_1_2"]


def test_thoughts_are_emitted_and_signatures_stored() -> None:
    decoder = decoder_of(DIALECT)
    events = fed(
        decoder,
        chunk({"text": "hm ", "thought": True}),
        chunk({"text": "so", "thought": True}),
    )
    assert events == [ThinkingDelta("hm "), ThinkingDelta("so")]
    assert not decoder.has_content
    end = finished(ended(decoder, chunk(call("bash", {}, id="x") | {"thoughtSignature": "S"}, finish="STOP")))
    assert end.message.content == (
        ReasoningBlock("", "hm so", "", "thinking", "acme", "m-1"),
        ToolCallBlock("x", "bash", "{}"),
        ReasoningBlock("call", "", "S", "thinking", "acme", "m-1"),
    )


@pytest.mark.parametrize(
    ("finish", "kind", "retryable"),
    [
        ("SAFETY", BadRequest, False),
        ("RECITATION", BadRequest, False),
        ("PROHIBITED_CONTENT", BadRequest, False),
        ("SOMETHING_NEW", BadRequest, False),
        ("MALFORMED_FUNCTION_CALL", Overloaded, True),
        ("UNEXPECTED_TOOL_CALL", BadRequest, False),
        ("OTHER", Overloaded, True),
    ],
)
def test_endings_that_are_failures(finish: str, kind: type[ProviderError], retryable: bool) -> None:
    end = finished(ended(decoder_of(DIALECT), chunk(finish=finish)))
    assert end.stop == "error" and type(end.error) is kind and end.error.retryable is retryable
    assert finish in str(end.error)


def test_text_before_a_filter_stays() -> None:
    end = finished(ended(decoder_of(DIALECT), chunk({"text": "I "}), chunk(finish="SAFETY")))
    assert (end.stop, end.message.text()) == ("error", "I ")


@pytest.mark.parametrize(("finish", "stop"), [("STOP", "end"), ("MAX_TOKENS", "length")])
def test_stop_reason_is_mapped(finish: str, stop: str) -> None:
    assert finished(ended(decoder_of(DIALECT), chunk({"text": "x"}, finish=finish))).stop == stop


def test_a_call_at_the_token_limit_never_runs() -> None:
    end = finished(ended(decoder_of(DIALECT), chunk(call("bash", {"command": "rm"}), finish="MAX_TOKENS")))
    assert end.stop == "length"


def test_a_refused_prompt_is_an_error() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
    events = ended(decoder_of(DIALECT), blocked)
    assert isinstance(finished(events).error, BadRequest)
    assert "PROHIBITED_CONTENT" in str(finished(events).error)
    assert usage_of(events).usage.input_tokens == 4


@pytest.mark.parametrize(
    ("code", "status", "kind", "retryable"),
    [
        (503, "UNAVAILABLE", Overloaded, True),
        (429, "RESOURCE_EXHAUSTED", RateLimited, True),
        (400, "INVALID_ARGUMENT", BadRequest, False),
        (401, "UNAUTHENTICATED", AuthFailed, False),
    ],
)
def test_an_error_inside_the_stream(code: int, status: str, kind: type[ProviderError], retryable: bool) -> None:
    error = {"error": {"code": code, "message": "told", "status": status}}
    decoder = decoder_of(DIALECT)
    end = finished(fed(decoder, chunk({"text": "half"}), error))
    assert type(end.error) is kind and end.error.retryable is retryable
    assert (str(end.error), end.message.text()) == (f"acme {status}: told", "half")
    assert fed(decoder, chunk({"text": "more"}, finish="STOP")) == decoder.end_of_input() == []


def test_stream_cut_before_finish_reason_is_an_error() -> None:
    end = finished(ended(decoder_of(DIALECT), chunk(call("bash", {}))))
    assert end.stop == "error" and isinstance(end.error, TransportFailed) and end.error.retryable


def test_abort_keeps_partial_message() -> None:
    decoder = decoder_of(DIALECT)
    fed(decoder, chunk({"text": "half"}))
    end = finished(decoder.abort(None))
    assert (end.stop, end.error, end.message.text()) == ("aborted", None, "half")


@pytest.mark.parametrize(
    "garbage", [b"", b"{", b"[1]", b'"x"', b"\xff", b'{"candidates":5}', b"[" * 5000, b"[DONE]", b'{"candidates":[]}']
)
def test_garbage_is_skipped_and_stream_continues(garbage: bytes) -> None:
    events = ended(decoder_of(DIALECT), chunk({"text": "a"}), garbage, chunk({"text": "b"}, finish="STOP"))
    assert (finished(events).stop, finished(events).message.text()) == ("end", "ab")


def test_unknown_parts_and_other_candidates_are_skipped() -> None:
    extra = {"candidates": [*chunk({"text": "a"})["candidates"], *chunk({"text": "NO"})["candidates"]]}
    code = chunk({"executableCode": {"code": "x"}}, {"inlineData": {"data": "aa"}}, finish="STOP")
    assert finished(ended(decoder_of(DIALECT), extra, code)).message.text() == "a"


REFUSALS = [
    (
        400,
        b'{"error":{"code":400,"message":"API key not valid. Please pass one.","status":"INVALID_ARGUMENT"}}',
        AuthFailed,
    ),
    (403, b'{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}', AuthFailed),
    (400, b'{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}', BadRequest),
]


@pytest.mark.parametrize(("status", "body", "kind"), REFUSALS)
async def test_a_refusal_is_raised_before_any_event(status: int, body: bytes, kind: type[ProviderError]) -> None:
    async with replayed(body, status=status, content_type="application/json") as base:
        client = HttpClient("google", DIALECT, Endpoint(provider="google", base_url=base, api_key="k"))
        with pytest.raises(kind, match=f"google: http {status}: "):
            async for event in client.stream(Request(model=MODEL, messages=(user("hi"),))):
                pytest.fail(f"an event came: {event}")
        await client.aclose()
