"""Builds requests for the Responses API, stateless: nothing is stored at the provider, all state is sent.

Reasoning items go back sealed to the model that made them. The subscription route takes no output limit
and no temperature; it is told apart by ``Endpoint.oauth``.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from itertools import count
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
from zot.provider.images import OPENAI_LIMIT
from zot.provider.messages import Block, ImageBlock, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec
from zot.provider.reasoning import EFFORTS, setting
from zot.provider.repair import repaired

Item = dict[str, Any]


def build(request: Request, endpoint: Endpoint) -> HttpRequest:
    url = endpoint.base_url if endpoint.oauth else address(endpoint.base_url, "responses")
    own = [*bearer(endpoint), *(_subscription(endpoint) if endpoint.oauth else ())]
    return HttpRequest("POST", url, headers(endpoint, *own), encode_body(_body(request, endpoint)))


def _subscription(endpoint: Endpoint) -> list[tuple[str, str]]:
    account = [("chatgpt-account-id", endpoint.account_id)] if endpoint.account_id else []
    return [*account, ("openai-beta", "responses=experimental"), ("originator", "zot")]


def _body(request: Request, endpoint: Endpoint) -> Item:
    body: Item = {"model": request.model.id, "store": False, "stream": True}
    if request.system:
        body["instructions"] = request.system
    body["input"] = list(_input(request, endpoint.provider))
    if request.tools:
        body["tools"] = _tools(request.tools)
        body["tool_choice"] = "auto"
    body["parallel_tool_calls"] = True
    if endpoint.oauth or request.model.reasoning:  # other models refuse to be asked for it
        body["include"] = ["reasoning.encrypted_content"]
    if effort := setting(request, EFFORTS):
        body["reasoning"] = {"effort": effort, "summary": "auto"}
    if request.session_id:
        body["prompt_cache_key"] = request.session_id
    return body if endpoint.oauth else body | _limits(request)


def _limits(request: Request) -> Item:
    limits: Item = {}
    if limit := request.max_tokens or request.model.max_output:
        limits["max_output_tokens"] = limit
    if request.temperature is not None:
        limits["temperature"] = request.temperature
    return limits


def _tools(tools: Sequence[ToolSpec]) -> list[Item]:
    """``strict`` is said aloud: left out, the API makes every optional argument a required one."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema or {"type": "object", "properties": {}},
            "strict": False,
        }
        for tool in sorted(tools, key=lambda tool: tool.name)
    ]


def _input(request: Request, provider: str) -> Iterator[Item]:
    ids = (f"msg_{n}" for n in count(1))
    for message in repaired(request.messages):
        match message.role:
            case "user":
                yield from _user(message.content, request.model)
            case "assistant":
                for block in message.content:
                    yield from _said(block, ids, (provider, request.model.id))
            case "tool":
                yield from (_result(result) for result in message.tool_results())
                yield from _user(mirror(message), request.model)


def _user(content: Sequence[Block], model: Model) -> Iterator[Item]:
    shown = (visible(b, model, OPENAI_LIMIT) if isinstance(b, ImageBlock) else b for b in content)
    if parts := [part for block in shown if (part := _part(block))]:
        yield {"role": "user", "content": parts}


def _part(block: Block) -> Item | None:
    match block:
        case TextBlock(text) if text:
            return {"type": "input_text", "text": text}
        case ImageBlock(mime_type, data):
            url = f"data:{mime_type};base64,{b2a_base64(data, newline=False).decode('ascii')}"
            return {"type": "input_image", "detail": "auto", "image_url": url}
        case _:
            return None


def _said(block: Block, ids: Iterator[str], maker: tuple[str, str]) -> Iterator[Item]:
    match block:
        case TextBlock(text) if text.strip():
            content: list[Item] = [{"type": "output_text", "text": text, "annotations": []}]
            yield {
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "id": next(ids),
                "content": content,
            }
        case ToolCallBlock(id, name):
            arguments = arguments_text(block)
            yield {"type": "function_call", "call_id": _call_id(id), "name": name, "arguments": arguments}
        case ReasoningBlock() if (block.provider, block.model) == maker and block.kind == "reasoning":
            yield from _reasoning(block)
        case _:
            pass


def _reasoning(block: ReasoningBlock) -> Iterator[Item]:
    """``summary`` is always present; plain reasoning text without id and seal is no item of this API."""
    if not (block.reasoning_id or block.encrypted_content):
        return
    item: Item = {"type": "reasoning"}
    if block.reasoning_id:
        item["id"] = block.reasoning_id
    if block.encrypted_content:
        item["encrypted_content"] = block.encrypted_content
    item["summary"] = [{"type": "summary_text", "text": block.summary}] if block.summary else []
    yield item


def _result(result: ToolResultBlock) -> Item:
    text = "\n".join(part for part in (joined(result.content), placeholder(result)) if part)
    output = f"[error] {text}".rstrip() if result.is_error else text
    return {"type": "function_call_output", "call_id": _call_id(result.call_id), "output": output}


def _call_id(id: str) -> str:
    """Sessions of the reference store ``call|item``; the API wants the call alone."""
    return id.partition("|")[0]
