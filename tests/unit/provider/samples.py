"""Short helpers for dialect tests."""

from __future__ import annotations

from typing import Any

import msgspec

from zot.provider.dialects.dialect import Decoder, Dialect, Endpoint
from zot.provider.http.sse import SseEvent
from zot.provider.messages import Block, Message, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request, StreamEvent, ToolSpec, UsageReported

MODEL = Model(id="m-1", provider="acme", max_output=64000)
THINKER = Model(id="t-1", provider="acme", max_output=64000, reasoning=True)
ENDPOINT = Endpoint(provider="acme", base_url="http://host", api_key="key-1")
TOOLS = (ToolSpec("write", "Writes.", {"type": "object"}), ToolSpec("bash", "Runs.", {"type": "object"}))


def user(*blocks: Block | str) -> Message:
    return _message("user", blocks)


def assistant(*blocks: Block | str) -> Message:
    return _message("assistant", blocks)


def results(*blocks: Block) -> Message:
    return _message("tool", blocks)


def _message(role: Any, blocks: tuple[Block | str, ...]) -> Message:
    return Message(role, tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), "2026-01-01T00:00:00.000Z")


def result(call_id: str, *blocks: Any, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(call_id, tuple(TextBlock(b) if isinstance(b, str) else b for b in blocks), is_error)


def tool_round() -> tuple[Message, ...]:
    """A prompt, a call and its result."""
    return user("hi"), assistant(ToolCallBlock("c1", "bash", '{"command":"ls"}')), results(result("c1", "a.txt"))


def body_of(dialect: Dialect, request: Request, endpoint: Endpoint = ENDPOINT) -> dict[str, Any]:
    return msgspec.json.decode(dialect.request(request, endpoint).body)


def headers_of(dialect: Dialect, endpoint: Endpoint = ENDPOINT) -> dict[str, str]:
    sent = dialect.request(Request(model=MODEL, messages=(user("hi"),)), endpoint).headers
    assert len({name for name, _ in sent}) == len(sent)
    return dict(sent)


def decoder_of(dialect: Dialect, model: Model = MODEL, endpoint: Endpoint = ENDPOINT) -> Decoder:
    return dialect.decoder(Request(model=model, messages=(user("hi"),)), endpoint)


def fed(decoder: Decoder, *payloads: dict[str, Any] | bytes) -> list[StreamEvent]:
    """Events of the decoder for all payloads, in one list."""
    return [event for payload in payloads for event in decoder.feed(SseEvent("", _data(payload)))]


def _data(payload: dict[str, Any] | bytes) -> bytes:
    return payload if isinstance(payload, bytes) else msgspec.json.encode(payload)


def finished(events: list[StreamEvent]) -> Finished:
    """The end of a stream, after checking that usage comes right before it and nothing behind it."""
    *before, usage, end = events
    assert isinstance(usage, UsageReported)
    assert isinstance(end, Finished)
    assert not any(isinstance(event, UsageReported | Finished) for event in before)
    return end


def usage_of(events: list[StreamEvent]) -> UsageReported:
    return next(event for event in events if isinstance(event, UsageReported))
