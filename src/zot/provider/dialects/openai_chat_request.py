"""Builds requests for ``/v1/chat/completions``.

Tool results are text on this API: their images travel in a user message built here, at request time, so
that the transcript stays free of it.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Sequence
from typing import Any

from zot.provider.dialects.dialect import Endpoint, HttpRequest
from zot.provider.dialects.request_parts import (
    address,
    arguments_text,
    bearer,
    encode_body,
    headers,
    joined,
    mirror,
    placeholder,
    visible,
)
from zot.provider.dialects.sent import Sent
from zot.provider.images import OPENAI_LIMIT
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec
from zot.provider.reasoning import EFFORTS, setting
from zot.provider.repair import repaired


def build(request: Request, endpoint: Endpoint, sent: Sent) -> HttpRequest:
    url = address(endpoint.base_url, "chat/completions")
    body = encode_body(_body(request, endpoint.provider, sent))
    return HttpRequest("POST", url, headers(endpoint, *bearer(endpoint)), body)


def _body(request: Request, provider: str, sent: Sent) -> dict[str, Any]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    said = sent.items(
        repaired(request.messages),
        (provider, request.model),
        lambda message: _message(message, request.model, provider),
    )
    body: dict[str, Any] = {"model": request.model.id, "messages": [*system, *said]}
    if request.tools:
        body["tools"] = _tools(request.tools)
        body["tool_choice"] = "auto"
    body["stream"] = True
    body["stream_options"] = {"include_usage": True}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    # A model of unknown size gets no limit; 0 would be refused.
    if limit := request.max_tokens or request.model.max_output:
        body["max_completion_tokens" if request.model.reasoning else "max_tokens"] = limit
    if effort := setting(request, EFFORTS):
        body["reasoning_effort"] = effort
    return body


def _tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema or {"type": "object", "properties": {}},
            },
        }
        for tool in sorted(tools, key=lambda tool: tool.name)
    ]


def _message(message: Message, model: Model, provider: str) -> list[dict[str, Any]]:
    match message.role:
        case "user":
            return _user(message.content, model)
        case "assistant":
            return _assistant(message, provider)
        case "tool":
            return [*map(_result, message.tool_results()), *_user(mirror(message), model)]


def _user(content: Sequence[Block], model: Model) -> list[dict[str, Any]]:
    """A plain string without images, parts with them, no message without content."""
    shown = [visible(b, model, OPENAI_LIMIT) if isinstance(b, ImageBlock) else b for b in content]
    if not any(isinstance(block, ImageBlock) for block in shown):
        text = joined(shown)
        return [{"role": "user", "content": text}] if text else []
    parts = [part for block in shown if (part := _part(block))]
    return [{"role": "user", "content": parts}]


def _part(block: Block) -> dict[str, Any] | None:
    match block:
        case TextBlock(text) if text:
            return {"type": "text", "text": text}
        case ImageBlock(mime_type, data):
            url = f"data:{mime_type};base64,{b2a_base64(data, newline=False).decode('ascii')}"
            return {"type": "image_url", "image_url": {"url": url}}
        case _:
            return None


def _assistant(message: Message, provider: str) -> list[dict[str, Any]]:
    """One message; none when neither text nor calls are left, for an empty one is refused by some servers."""
    text = "\n".join(b.text for b in message.content if isinstance(b, TextBlock) and b.text.strip())
    calls = [_call(call) for call in message.tool_calls()]
    if not text and not calls:
        return []
    wire: dict[str, Any] = {"role": "assistant"}
    if text:
        wire["content"] = text
    if calls:
        if reasoning := "\n".join(_reasoning(message.content, provider)):
            wire["reasoning_content"] = reasoning
        wire["tool_calls"] = calls
    return [wire]


def _reasoning(content: Sequence[Block], provider: str) -> list[str]:
    """Reasoning this provider streamed as plain text; sealed items belong to other dialects."""
    return [
        block.summary
        for block in content
        if isinstance(block, ReasoningBlock)
        and block.provider == provider
        and block.kind == "reasoning"
        and block.summary
        and not (block.reasoning_id or block.encrypted_content)
    ]


def _call(call: ToolCallBlock) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call)},
    }


def _result(result: ToolResultBlock) -> dict[str, Any]:
    text = "\n".join(part for part in (joined(result.content), placeholder(result)) if part)
    if result.is_error and text:
        text += " [error]"
    return {"role": "tool", "tool_call_id": result.call_id, "content": text}
