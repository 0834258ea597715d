"""Builds requests for ``/v1/messages``.

What was sent in one turn is sent byte for byte in the next: one wire message per transcript message, no
merging, tools in their order. Only the cache marker on the newest user content moves, so that the
provider's prefix cache holds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from zot.provider.dialects.dialect import Endpoint, HttpRequest
from zot.provider.dialects.request_parts import address, arguments_text, bearer, encode_body, headers, joined, visible
from zot.provider.dialects.sent import Sent
from zot.provider.images import MESSAGES_LIMIT
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec
from zot.provider.reasoning import BUDGETS, ROOM, budget, setting
from zot.provider.repair import repaired

_VERSION = "2023-06-01"
_OAUTH_BETA = "oauth-2025-04-20"
_MARKER = {"cache_control": {"type": "ephemeral"}}
_UNKNOWN_OUTPUT = 8192  # the API insists on a limit


def build(request: Request, endpoint: Endpoint, sent: Sent) -> HttpRequest:
    body = encode_body(_body(request, endpoint.provider, sent))
    _copy_for_debugging(body)
    return HttpRequest(
        "POST",
        address(endpoint.base_url, "messages"),
        headers(endpoint, ("anthropic-version", _VERSION), *_auth(endpoint)),
        body,
    )


def _auth(endpoint: Endpoint) -> list[tuple[str, str]]:
    if endpoint.oauth:
        return [*bearer(endpoint), ("anthropic-beta", _OAUTH_BETA)]
    return [("x-api-key", endpoint.api_key)] if endpoint.api_key else []


def _body(request: Request, provider: str, sent: Sent) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model.id,
        "max_tokens": request.max_tokens or request.model.max_output or _UNKNOWN_OUTPUT,
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, **_MARKER}]
    body["messages"] = _messages(request, provider, sent)
    if request.tools:
        body["tools"] = _tools(request.tools)
    _think(body, request)
    if request.temperature is not None and "thinking" not in body:  # thinking takes no temperature
        body["temperature"] = request.temperature
    body["stream"] = True
    return body


def _think(body: dict[str, Any], request: Request) -> None:
    """A number is a budget; a word is the effort of a model that budgets for itself."""
    value = setting(request, BUDGETS)
    if value == "max" or value.isdigit():
        tokens = budget(value, request.model)
        if tokens:
            body["thinking"] = {"type": "enabled", "budget_tokens": tokens}
            if body["max_tokens"] <= tokens:
                body["max_tokens"] = tokens + ROOM
    elif value:
        body["thinking"] = {"type": "adaptive"}
        body["output_config"] = {"effort": value}


def _tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    wire = [
        {"name": tool.name, **({"description": tool.description} if tool.description else {})}
        | {"input_schema": tool.schema or {"type": "object", "properties": {}}}
        for tool in sorted(tools, key=lambda tool: tool.name)
    ]
    wire[-1] |= _MARKER
    return wire


def _messages(request: Request, provider: str, sent: Sent) -> list[dict[str, Any] | msgspec.Raw]:
    messages = repaired(request.messages)
    model = request.model

    def wire(message: Message) -> list[dict[str, Any]]:
        made = _message(message, model, provider)
        return [made] if made else []

    for place in reversed(range(len(messages))):
        if messages[place].role != "assistant" and (newest := wire(messages[place])):
            newest[0]["content"][-1] |= _MARKER
            before = sent.items(messages[:place], (provider, model), wire)
            return [*before, *newest, *(item for message in messages[place + 1 :] for item in wire(message))]
    return [item for message in messages for item in wire(message)]


def _message(message: Message, model: Model, provider: str) -> dict[str, Any] | None:
    """None when nothing of the message can go to this model: an empty content array is refused."""
    content = [part for block in message.content if (part := _part(block, model, provider))]
    if not content:
        return None
    return {"role": "assistant" if message.role == "assistant" else "user", "content": content}


def _part(block: Block, model: Model, provider: str) -> dict[str, Any] | None:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text} if text.strip() else None
        case ImageBlock():
            return _seen(block, model)
        case ToolCallBlock(id, name):
            arguments = msgspec.Raw(arguments_text(block).encode("utf-8", "replace"))
            return {"type": "tool_use", "id": id, "name": name, "input": arguments}
        case ToolResultBlock():
            return _result(block, model)
        case ReasoningBlock():
            return _thought(block) if (block.provider, block.model) == (provider, model.id) else None


def _seen(block: ResultBlock, model: Model) -> dict[str, Any]:
    """A text or image block where both may stand."""
    shown = visible(block, model, MESSAGES_LIMIT) if isinstance(block, ImageBlock) else block
    if isinstance(shown, TextBlock):
        return {"type": "text", "text": shown.text}
    return {"type": "image", "source": {"type": "base64", "media_type": shown.mime_type, "data": shown.data}}


def _result(result: ToolResultBlock, model: Model) -> dict[str, Any]:
    """A plain string when all is text, else blocks without the empty ones."""
    content: str | list[dict[str, Any]] = joined(result.content)
    if any(isinstance(block, ImageBlock) for block in result.content):
        content = [_seen(b, model) for b in result.content if isinstance(b, ImageBlock) or b.text.strip()]
    wire: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return wire | {"is_error": True} if result.is_error else wire


def _thought(block: ReasoningBlock) -> dict[str, Any] | None:
    """Thinking goes back verbatim, or not at all: without its signature it is refused."""
    if block.kind == "redacted_thinking":
        return {"type": "redacted_thinking", "data": block.encrypted_content}
    if block.kind != "thinking" or not block.encrypted_content:
        return None
    return {"type": "thinking", "thinking": block.summary, "signature": block.encrypted_content}


def _copy_for_debugging(body: bytes) -> None:
    """Appends each request body as one line to the file ``ZOT_DEBUG_ANTHROPIC`` names, if it names one."""
    path = os.environ.get("ZOT_DEBUG_ANTHROPIC")
    if not path:
        return
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, body + b"\n")
    finally:
        os.close(file)
