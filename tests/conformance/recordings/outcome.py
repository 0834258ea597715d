"""The outcome of an answer in a form that zot and the vendors' SDKs can both produce."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from tests.conformance.recordings.cassettes import Kind
from zot.errors import ProviderError
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.dialect import Dialect, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.http_client import HttpClient
from zot.provider.messages import ReasoningBlock, TextBlock, ToolCallBlock, Usage, user_message
from zot.provider.model import Model
from zot.provider.model_call import Finished, Request, StreamEvent, TextDelta, ToolArgs, ToolStarted, UsageReported

DIALECTS: dict[Kind, tuple[str, Dialect]] = {
    "messages": ("anthropic", AnthropicDialect()),
    "chat": ("openai", OpenAIChatDialect()),
    "responses": ("openai", OpenAIResponsesDialect()),
    "gemini": ("google", GeminiDialect()),
    "bedrock": ("bedrock", BedrockDialect()),
}


class Counts(NamedTuple):
    """Tokens; ``input`` excludes cached tokens."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class Outcome(NamedTuple):
    """``calls`` are names with parsed arguments, in order; ``thoughts`` are reasoning texts with their seals."""

    text: str
    calls: list[tuple[str, Any]]
    thoughts: list[tuple[str, str]]
    counts: Counts
    stop: str


class Streamed(NamedTuple):
    """The final outcome, and the sum of the deltas."""

    outcome: Outcome
    delta_text: str
    delta_calls: list[tuple[str, Any]]
    error: ProviderError | None


async def stream_with_zot(kind: Kind, base_url: str) -> Streamed:
    """Our client's reading of the answer at ``base_url``."""
    provider, dialect = DIALECTS[kind]
    client = HttpClient(provider, dialect, Endpoint(provider=provider, base_url=base_url, api_key="not-a-key"))
    try:
        return _streamed([event async for event in client.stream(_request(provider))])
    finally:
        await client.aclose()


def decoded(kind: Kind, body: bytes) -> Streamed:
    """Our decoder's reading of bytes that end where they end."""
    provider, dialect = DIALECTS[kind]
    decoder = dialect.decoder(_request(provider), Endpoint(provider=provider, base_url=""))
    parser = dialect.frames()
    events = [event for sse in (*parser.feed(body), *parser.close()) for event in decoder.feed(sse)]
    return _streamed(events + decoder.end_of_input())


def _request(provider: str) -> Request:
    model = Model(id="recorded", provider=provider, max_output=1024)
    return Request(model=model, messages=(user_message("hi"),))


def _streamed(events: list[StreamEvent]) -> Streamed:
    usage, finished = events[-2:]
    assert isinstance(usage, UsageReported)
    assert isinstance(finished, Finished)
    content = finished.message.content
    outcome = Outcome(
        "".join(block.text for block in content if isinstance(block, TextBlock)),
        [(call.name, call.value) for call in finished.message.tool_calls()],
        [(block.summary, block.encrypted_content) for block in content if isinstance(block, ReasoningBlock)],
        _counts(usage.usage),
        finished.stop,
    )
    delta_text = "".join(event.text for event in events if isinstance(event, TextDelta))
    return Streamed(outcome, delta_text, _delta_calls(events), finished.error)


def _counts(usage: Usage) -> Counts:
    return Counts(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)


def _delta_calls(events: list[StreamEvent]) -> list[tuple[str, Any]]:
    names: dict[str, str] = {}
    pieces: dict[str, str] = {}
    for event in events:
        if isinstance(event, ToolStarted):
            names[event.id], pieces[event.id] = event.name, ""
        elif isinstance(event, ToolArgs):
            pieces[event.id] += event.delta
    return [(name, ToolCallBlock(id, name, pieces[id] or "{}").value) for id, name in names.items()]


def parsed(arguments: str) -> Any:
    """Arguments of a vendor's SDK as JSON; None when they are not."""
    try:
        return msgspec.json.decode(arguments or "{}")
    except msgspec.DecodeError:
        return None
