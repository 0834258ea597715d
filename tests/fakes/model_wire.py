"""Turns as the bytes of the wire dialects, each event its own bytes object.

The shapes follow the vendors' documentation closely enough for their own SDKs to read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from tests.fakes.event_frames import event_frame, exception_frame
from tests.fakes.model_turns import CallTools, Say, Stop, StreamError

WireDialect = Literal["anthropic", "chat", "responses", "gemini", "bedrock"]
Scripted = Say | CallTools | Stop | StreamError

_encode = msgspec.json.encode


def dialect_of(path: str) -> WireDialect | None:
    """Which dialect a path speaks."""
    path = path.partition("?")[0]
    if path.endswith("/messages"):
        return "anthropic"
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith(":streamGenerateContent"):
        return "gemini"
    if path.endswith("/converse-stream"):
        return "bedrock"
    return "responses" if path.endswith("/responses") else None


def content_type(dialect: WireDialect) -> str:
    return "application/vnd.amazon.eventstream" if dialect == "bedrock" else "text/event-stream"


def events(dialect: WireDialect, turn: Scripted, model: str) -> list[bytes]:
    """The events of one answer."""
    match dialect:
        case "anthropic":
            return list(_anthropic(turn, model))
        case "chat":
            return list(_chat(turn, model))
        case "responses":
            return list(_responses(turn, model))
        case "gemini":
            return list(_gemini(turn, model))
        case "bedrock":
            return list(_bedrock(turn))


def _parts(turn: Scripted) -> tuple[Say | CallTools, str, StreamError | None]:
    """The content, the reason to stop, and the error to end with."""
    match turn:
        case Stop():
            return turn.turn, turn.reason, None
        case StreamError():
            return turn.after or Say(), "", turn
        case _:
            return turn, "", None


def _deltas(turn: Say | CallTools) -> Sequence[str]:
    if isinstance(turn, Say) and turn.deltas is not None:
        return turn.deltas
    return re.findall(r"\s*\S+|\s+$", turn.text)


def _calls(turn: Say | CallTools) -> list[tuple[str, str, str]]:
    """(id, name, arguments as text) of each call."""
    if isinstance(turn, Say):
        return []
    found: list[tuple[str, str, str]] = []
    for number, (name, args, *given) in enumerate(turn.calls, 1):
        arguments = args if isinstance(args, str) else _encode(args).decode()
        found.append((given[0] if given else f"call_{number}", name, arguments))
    return found


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


# Anthropic Messages


def _named(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + _encode({"type": kind, **fields}) + b"\n\n"


def _anthropic(turn: Scripted, model: str) -> Iterator[bytes]:
    say, reason, error = _parts(turn)
    usage = {
        "input_tokens": say.usage[0],
        "cache_creation_input_tokens": say.written,
        "cache_read_input_tokens": say.cached,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": say.id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
    }
    yield _named("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})
    yield _named("ping")
    for index, (block, deltas) in enumerate(_anthropic_blocks(say)):
        yield _named("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield _named("content_block_delta", index=index, delta=delta)
        yield _named("content_block_stop", index=index)
    if error is not None:
        yield _named("error", error={"type": error.kind, "message": error.message})
        return
    stop = {"length": "max_tokens", "content_filter": "refusal"}.get(reason, reason)
    stop = stop or ("tool_use" if _calls(say) else "end_turn")
    yield _named(
        "message_delta",
        delta={"stop_reason": stop, "stop_sequence": None},
        usage={"output_tokens": say.usage[1]},
    )
    yield _named("message_stop")


def _anthropic_blocks(say: Say | CallTools) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if say.reasoning:
        thinking: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": half} for half in _halves(say.reasoning)
        ]
        signature = {"type": "signature_delta", "signature": say.signature}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thinking, signature]
    if texts := _deltas(say):
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts]
    for id, name, arguments in _calls(say):
        pieces = [] if arguments == "{}" else _halves(arguments)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        yield {"type": "tool_use", "id": id, "name": name, "input": {}}, deltas


# OpenAI chat completions


def _chat(turn: Scripted, model: str) -> Iterator[bytes]:
    say, reason, error = _parts(turn)
    base = {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return b"data: " + _encode({**base, "choices": [choice]}) + b"\n\n"

    yield chunk({"role": "assistant", "content": None})
    for half in _halves(say.reasoning):
        yield chunk({"reasoning_content": half})
    words = "refusal" if reason == "refusal" else "content"
    for text in _deltas(say):
        yield chunk({words: text})
    for index, (id, name, arguments) in enumerate(_calls(say)):
        function = {"name": name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        for half in _halves(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": half}}]})
    if error is not None:
        yield (b"data: " + _encode({"error": {"type": error.kind, "message": error.message, "code": None}}) + b"\n\n")
        return
    stop = {"max_tokens": "length", "refusal": "stop"}.get(reason, reason)
    yield chunk({}, stop or ("tool_calls" if _calls(say) else "stop"))
    usage = {
        "prompt_tokens": say.usage[0] + say.cached,
        "completion_tokens": say.usage[1],
        "total_tokens": sum(say.usage) + say.cached,
        "prompt_tokens_details": {"cached_tokens": say.cached},
    }
    yield b"data: " + _encode({**base, "choices": [], "usage": usage}) + b"\n\n"
    yield b"data: [DONE]\n\n"


# OpenAI Responses


def _responses(turn: Scripted, model: str) -> Iterator[bytes]:
    say, reason, error = _parts(turn)
    response: dict[str, Any] = {
        "id": "resp_fake",
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    number = 0

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return _named(kind, sequence_number=number - 1, **fields)

    yield event("response.created", response=response)
    items: list[dict[str, Any]] = []
    for item, middle in _response_items(say, refused=reason == "refusal"):
        index, id = len(items), item["id"]
        opened = {**item, "status": "in_progress"}
        opened |= {key: [] for key in ("content", "summary") if key in item}
        opened |= {"arguments": ""} if "arguments" in item else {}
        yield event("response.output_item.added", output_index=index, item=opened)
        for kind, fields in middle:
            yield event(kind, item_id=id, output_index=index, **fields)
        yield event("response.output_item.done", output_index=index, item=item)
        items.append(item)
    if error is not None:
        failed = {**response, "status": "failed", "error": {"code": error.kind, "message": error.message}}
        yield event("response.failed", response=failed)
        return
    usage = {
        "input_tokens": say.usage[0] + say.cached,
        "input_tokens_details": {"cached_tokens": say.cached},
        "output_tokens": say.usage[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(say.usage) + say.cached,
    }
    response |= {"output": items, "usage": usage, "status": "completed"}
    if reason in ("", "refusal"):
        yield event("response.completed", response=response)
        return
    why = "max_output_tokens" if reason in ("length", "max_tokens") else reason
    response |= {"status": "incomplete", "incomplete_details": {"reason": why}}
    yield event("response.incomplete", response=response)


def _response_items(
    say: Say | CallTools, *, refused: bool
) -> Iterator[tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]]:
    """Each finished output item with the events between its opening and its end."""
    if say.reasoning:
        summary = [{"type": "summary_text", "text": say.reasoning}]
        middle = [
            ("response.reasoning_summary_text.delta", {"summary_index": 0, "delta": half})
            for half in _halves(say.reasoning)
        ]
        yield (
            {"id": "rs_fake", "type": "reasoning", "summary": summary, "encrypted_content": say.signature},
            middle,
        )
    if texts := _deltas(say):
        yield _message_item("".join(texts), texts, refused=refused)
    for number, (id, name, arguments) in enumerate(_calls(say), 1):
        middle = [("response.function_call_arguments.delta", {"delta": half}) for half in _halves(arguments)]
        middle.append(("response.function_call_arguments.done", {"name": name, "arguments": arguments}))
        item = {"id": f"fc_{number}", "type": "function_call", "status": "completed"}
        yield {**item, "call_id": id, "name": name, "arguments": arguments}, middle


def _message_item(
    text: str, texts: Sequence[str], *, refused: bool
) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    key, kind = ("refusal", "refusal") if refused else ("text", "output_text")
    rest: dict[str, Any] = {} if refused else {"annotations": []}
    part: dict[str, Any] = {"type": kind, key: text, **rest}
    middle: list[tuple[str, dict[str, Any]]] = [
        ("response.content_part.added", {"content_index": 0, "part": {**part, key: ""}})
    ]
    logprobs: dict[str, Any] = {} if refused else {"logprobs": []}
    middle += [(f"response.{kind}.delta", {"content_index": 0, "delta": piece, **logprobs}) for piece in texts]
    middle.append((f"response.{kind}.done", {"content_index": 0, key: text, **logprobs}))
    middle.append(("response.content_part.done", {"content_index": 0, "part": part}))
    item = {"id": "msg_fake", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return item, middle


# Gemini


def _gemini(turn: Scripted, model: str) -> Iterator[bytes]:
    say, reason, error = _parts(turn)
    usage: dict[str, Any] = {
        "promptTokenCount": say.usage[0] + say.cached,
        "candidatesTokenCount": say.usage[1],
        "totalTokenCount": sum(say.usage) + say.cached,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": say.usage[0] + say.cached}],
        **({"cachedContentTokenCount": say.cached} if say.cached else {}),
    }

    def chunk(part: dict[str, Any], finish: str = "") -> bytes:
        candidate: dict[str, Any] = {"content": {"parts": [part], "role": "model"}, "index": 0}
        candidate |= {"finishReason": finish} if finish else {}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "fake"}
        return b"data: " + _encode(whole) + b"\r\n\r\n"

    for half in _halves(say.reasoning):
        yield chunk({"text": half, "thought": True})
    for text in _deltas(say):
        yield chunk({"text": text})
    seal = {"thoughtSignature": say.signature} if say.reasoning else {}
    for id, name, arguments in _calls(say):
        yield chunk({"functionCall": {"name": name, "args": _raw(arguments), "id": id}, **seal})
        seal = {}
    if error is not None:
        told = {"code": 503, "message": error.message, "status": "UNAVAILABLE"}
        yield b"data: " + _encode({"error": told}) + b"\r\n\r\n"
        return
    words = {"length": "MAX_TOKENS", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY", "content_filter": "SAFETY"}
    yield chunk({"text": "", **seal}, words.get(reason, reason) or "STOP")


def _raw(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments  # broken JSON cannot travel on this wire


# Bedrock ConverseStream


def _bedrock(turn: Scripted) -> Iterator[bytes]:
    say, reason, error = _parts(turn)
    yield event_frame("messageStart", {"role": "assistant"})
    for index, (start, deltas) in enumerate(_bedrock_blocks(say)):
        if start:
            yield event_frame("contentBlockStart", {"contentBlockIndex": index, "start": start})
        for delta in deltas:
            yield event_frame("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield event_frame("contentBlockStop", {"contentBlockIndex": index})
    if error is not None:
        kinds = {"overloaded_error": "serviceUnavailableException"}
        yield exception_frame(kinds.get(error.kind, error.kind), error.message)
        return
    words = {"length": "max_tokens", "refusal": "content_filtered", "content_filter": "content_filtered"}
    stop = words.get(reason, reason) or ("tool_use" if _calls(say) else "end_turn")
    yield event_frame("messageStop", {"stopReason": stop})
    usage = {
        "inputTokens": say.usage[0],
        "outputTokens": say.usage[1],
        "totalTokens": sum(say.usage) + say.cached,
        "cacheReadInputTokens": say.cached,
        "cacheWriteInputTokens": 0,
    }
    yield event_frame("metadata", {"metrics": {"latencyMs": 1}, "usage": usage})


def _bedrock_blocks(say: Say | CallTools) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if say.reasoning:
        thoughts: list[dict[str, Any]] = [{"reasoningContent": {"text": half}} for half in _halves(say.reasoning)]
        yield {}, [*thoughts, {"reasoningContent": {"signature": say.signature}}]
    if texts := _deltas(say):
        yield {}, [{"text": text} for text in texts]
    for id, name, arguments in _calls(say):
        pieces = [] if arguments == "{}" else _halves(arguments)
        yield (
            {"toolUse": {"toolUseId": id, "name": name}},
            [{"toolUse": {"input": ""}}, *({"toolUse": {"input": piece}} for piece in pieces)],
        )
