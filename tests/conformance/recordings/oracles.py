"""Oracles: the vendors' SDKs read the same recorded bytes. They are imported lazily, because each import takes a
second.
"""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

from tests.conformance.recordings.cassettes import Kind
from tests.conformance.recordings.outcome import Counts, Outcome, parsed

if TYPE_CHECKING:
    import openai

_STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "tool_use": "tool_use",
    "refusal": "error",
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_use",
    "STOP": "end",
    "MAX_TOKENS": "length",
}
_HI: Any = [{"role": "user", "content": "hi"}]


async def stream_with_sdk(kind: Kind, base_url: str) -> Outcome:
    """The SDK's reading of the answer at ``base_url``."""
    read = {"messages": _messages, "chat": _chat, "responses": _responses, "gemini": _gemini, "bedrock": _bedrock}
    return await read[kind](base_url)


async def _messages(base_url: str) -> Outcome:
    import anthropic

    transport = anthropic.DefaultAsyncHttpxClient(trust_env=False, verify=False)
    async with (
        anthropic.AsyncAnthropic(
            base_url=base_url, api_key="not-a-key", max_retries=0, http_client=transport
        ) as client,
        client.beta.messages.stream(model="recorded", max_tokens=1024, messages=_HI) as stream,
    ):
        message: Any = await stream.get_final_message()
    usage = message.usage
    return Outcome(
        "".join(block.text for block in message.content if block.type == "text"),
        [(block.name, block.input) for block in message.content if block.type == "tool_use"],
        [thought for block in message.content if (thought := _thought(block))],
        Counts(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
        ),
        _STOPS[message.stop_reason or ""],
    )


def _thought(block: Any) -> tuple[str, str] | None:
    if block.type == "thinking":
        return block.thinking, block.signature
    return ("", block.data) if block.type == "redacted_thinking" else None


def _openai(base_url: str) -> openai.AsyncOpenAI:
    import openai

    transport = openai.DefaultAsyncHttpxClient(trust_env=False, verify=False)
    return openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="not-a-key", max_retries=0, http_client=transport)


async def _chat(base_url: str) -> Outcome:
    async with (
        _openai(base_url) as client,
        client.chat.completions.stream(model="recorded", messages=_HI) as stream,
    ):
        completion: Any = await stream.get_final_completion()
    choice = completion.choices[0]
    calls = _calls(choice.message.tool_calls)
    reasoning = getattr(choice.message, "reasoning", "")  # OpenRouter's; the SDK passes on what it does not know
    thoughts = [(reasoning, "")] if reasoning else []
    return _chat_outcome(choice.message.content or "", calls, thoughts, completion.usage, choice.finish_reason)


async def chat_from_chunks(base_url: str) -> Outcome:
    """The SDK's chunks without its assembling, for answers on which that fails; their calls come whole."""
    text, calls, usage, finish = "", list[tuple[str, Any]](), None, ""
    async with _openai(base_url) as client:
        stream: Any = await client.chat.completions.create(model="recorded", messages=_HI, stream=True)
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                calls += _calls(choice.delta.tool_calls)
                finish = choice.finish_reason or finish
    return _chat_outcome(text, calls, [], usage, finish)


def _calls(calls: list[Any] | None) -> list[tuple[str, Any]]:
    return [(call.function.name, parsed(call.function.arguments)) for call in calls or ()]


def _chat_outcome(
    text: str, calls: list[tuple[str, Any]], thoughts: list[tuple[str, str]], usage: Any, finish: str
) -> Outcome:
    """Some servers send ``stop`` after a forced call; zot reports tool calls."""
    details = usage and usage.prompt_tokens_details
    cached = (details and details.cached_tokens) or 0
    counts = Counts(usage.prompt_tokens - cached, usage.completion_tokens, cached, 0) if usage else Counts(0, 0, 0, 0)
    stop = "tool_use" if finish == "stop" and calls else _STOPS[finish]
    return Outcome(text, calls, thoughts, counts, stop)


async def _responses(base_url: str) -> Outcome:
    """Signatures are taken from the finished items: the last event encrypts them again."""
    response: Any = None
    thoughts: list[tuple[str, str]] = []
    async with _openai(base_url) as client:
        stream: Any = await client.responses.create(model="recorded", input="hi", stream=True)
        async for event in stream:
            if event.type in ("response.completed", "response.incomplete"):
                response = event.response
            elif event.type == "response.output_item.done" and event.item.type == "reasoning":
                thoughts.append(_sealed(event.item))
    calls = [(item.name, parsed(item.arguments)) for item in response.output if item.type == "function_call"]
    usage = response.usage
    cached = usage.input_tokens_details.cached_tokens
    return Outcome(
        response.output_text,
        calls,
        thoughts,
        Counts(usage.input_tokens - cached, usage.output_tokens, cached, 0),
        "length" if response.status == "incomplete" else "tool_use" if calls else "end",
    )


def _sealed(item: Any) -> tuple[str, str]:
    return "\n\n".join(part.text for part in item.summary), item.encrypted_content or ""


async def _gemini(base_url: str) -> Outcome:
    """Its SDK assembles nothing: its chunks are added up. A signature is compared by its bytes."""
    from google import genai  # slow to load

    client = genai.Client(api_key="not-a-key", http_options=genai.types.HttpOptions(base_url=base_url))
    text, thought, usage, finish = "", "", None, ""
    calls: list[tuple[str, Any]] = []
    seals: list[tuple[str, str]] = []
    stream: Any = await client.aio.models.generate_content_stream(model="recorded", contents="hi")
    async for chunk in stream:
        usage = chunk.usage_metadata or usage
        for candidate in (chunk.candidates or [])[:1]:
            finish = candidate.finish_reason.name if candidate.finish_reason else finish
            for part in (candidate.content and candidate.content.parts) or ():
                text += "" if part.thought else part.text or ""
                thought += (part.text or "") if part.thought else ""
                calls += [(part.function_call.name, part.function_call.args)] if part.function_call else []
                if part.thought_signature:
                    seals.append(("", base64.b64encode(part.thought_signature).decode()))
    cached = usage.cached_content_token_count or 0
    counts = Counts(
        (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0) - cached,
        (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
        cached,
        0,
    )
    stop = "tool_use" if finish == "STOP" and calls else _STOPS[finish]
    return Outcome(text, calls, [*([(thought, "")] if thought else []), *seals], counts, stop)


async def _bedrock(base_url: str) -> Outcome:
    return await asyncio.to_thread(_converse, base_url)


def _converse(base_url: str) -> Outcome:
    """The SDK's events, block by block; the bytes of a redacted thought are compared as base64."""
    from botocore.config import Config  # slow to load
    from botocore.session import get_session

    client: Any = get_session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=base_url,
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="not-a-secret",
        config=Config(retries={"max_attempts": 0}, proxies={}),
    )
    blocks: dict[int, dict[str, str]] = {}
    usage, stop = dict[str, int](), ""
    for event in client.converse_stream(modelId="recorded", messages=[{"role": "user", "content": [{"text": "hi"}]}])[
        "stream"
    ]:
        ((name, value),) = event.items()
        block = blocks.setdefault(value.get("contentBlockIndex", -1), {})
        if name == "contentBlockStart":
            block["name"] = value["start"]["toolUse"]["name"]
        elif name == "contentBlockDelta":
            _add_up(block, value["delta"])
        stop, usage = value.get("stopReason", stop), value.get("usage", usage)
    ordered = [blocks[index] for index in sorted(blocks)]
    return Outcome(
        "".join(block.get("text", "") for block in ordered),
        [(block["name"], parsed(block.get("input", ""))) for block in ordered if "name" in block],
        [(b.get("thought", ""), b.get("seal", "")) for b in ordered if "thought" in b or "seal" in b],
        Counts(*(usage.get(f"{name}Tokens", 0) for name in ("input", "output", "cacheReadInput", "cacheWriteInput"))),
        _STOPS[stop],
    )


def _add_up(block: dict[str, str], delta: dict[str, Any]) -> None:
    thought = delta.get("reasoningContent", {})
    redacted = base64.b64encode(thought.get("redactedContent", b"")).decode()
    pieces = {
        "text": delta.get("text", ""),
        "input": delta.get("toolUse", {}).get("input", ""),
        "thought": thought.get("text", ""),
        "seal": thought.get("signature", "") + redacted,
    }
    for key, piece in pieces.items():
        if piece:
            block[key] = block.get(key, "") + piece
