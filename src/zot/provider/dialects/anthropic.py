"""The Anthropic Messages dialect.
Messages already sent are repeated byte for byte so that the provider's cache applies; only two cache markers move,
because the provider looks back at most 20 blocks from a marker. Unrequested block types are skipped."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from zot.provider.dialects.dialect import Decoder, Endpoint, ImageLimit, ListedModel
from zot.provider.dialects.request_parts import (
    NOT_THINKING,
    THINKING_BUDGETS,
    WireMessageCache,
    address,
    arguments_text,
    get,
    hosted_item,
    image_or_placeholder,
    joined,
    key_in,
    post,
    temperature_field,
    thinking_fields,
)
from zot.provider.dialects.response_builder import (
    BAD_JSON,
    Count,
    Part,
    ReasoningPart,
    ResponseBuilder,
    ServerToolPart,
    TextPart,
    ToolPart,
)
from zot.provider.http.message import HttpRequest
from zot.provider.http.sse import SseEvent, SseParser
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    ResultBlock,
    StopReason,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
)
from zot.provider.model import Model
from zot.provider.model_call import Request, StreamEvent, TextDelta, ThinkingDelta, ToolArgs, ToolStarted
from zot.system.safe_open import open_to_append

_VERSION = "2023-06-01"
_VERTEX_VERSION = "vertex-2023-10-16"
_OAUTH_BETA = "oauth-2025-04-20"
_MOST_USES = 8  # in one answer; each search costs a cent
_SERVER_TOOLS: dict[str, dict[str, Any]] = {
    "web_search": {"type": "web_search_20250305", "name": "web_search", "max_uses": _MOST_USES},
    "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": _MOST_USES},
}
_INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"  # thoughts between tool calls; adaptive models have them anyway
_MARKER = {"cache_control": {"type": "ephemeral"}}  # five minutes
_HOUR_MARKER = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_UNKNOWN_OUTPUT = 8192  # the API requires a limit
_HOUR_FACTOR = 2.0  # an hour of caching costs twice the plain input; the default five minutes have their own price

# The API counts its 5 MB in base64, so three quarters of that as raw bytes.
IMAGE_LIMIT = ImageLimit(2000, 5 * 1024 * 1024 * 3 // 4)


class AnthropicDialect:
    levels = THINKING_BUDGETS
    frames = SseParser

    def __init__(self) -> None:
        self._sent = WireMessageCache()

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        url, body = address(endpoint.base_url, "messages"), _body(request, endpoint, self._sent)
        if "/publishers/anthropic" in endpoint.base_url:  # Vertex AI has the model in its address
            url = f"{endpoint.base_url}/models/{body.pop('model')}:streamRawPredict"
            body["anthropic_version"] = _VERTEX_VERSION
        thinks = body.get("thinking", NOT_THINKING)["type"] == "enabled"
        interleaved = thinks and request.model.reasoning_style == "budget" and "tools" in body
        made = post(url, endpoint, _auth(endpoint, [_INTERLEAVED_BETA] if interleaved else []), body)
        _copy_for_debugging(made.body)
        return made

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        return AnthropicDecoder(request, endpoint)

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        url = address(endpoint.base_url, "models?limit=1000")
        return get(f"{url}&after_id={after}" if after else url, endpoint, _auth(endpoint))

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        from zot.provider.dialects.model_list import entries

        last = page.get("last_id")
        safe = isinstance(last, str) and re.fullmatch(r"[\w.:-]+", last)  # it becomes part of the next address
        return entries(page), str(last) if page.get("has_more") and safe else ""

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        return get(address(endpoint.base_url, "models"), endpoint, _auth(endpoint))


# -- the request ------------------------------------------------------------------------------------------------


def _auth(endpoint: Endpoint, betas: Sequence[str] = ()) -> list[tuple[str, str]]:
    betas = [*([_OAUTH_BETA] if endpoint.oauth else []), *betas]
    header = [("anthropic-beta", ",".join(betas))] if betas else []
    return [("anthropic-version", _VERSION), *key_in(endpoint, "x-api-key"), *header]


def _body(request: Request, endpoint: Endpoint, sent: WireMessageCache) -> dict[str, Any]:
    marker = _HOUR_MARKER if endpoint.long_cache else _MARKER
    body: dict[str, Any] = {
        "model": request.model.id,
        "max_tokens": request.max_tokens or request.model.max_output or _UNKNOWN_OUTPUT,
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, **marker}]
    body["messages"] = _messages(request, endpoint.provider, sent, marker)
    server_tools = [_SERVER_TOOLS[name] for name in request.server_tools if name in _SERVER_TOOLS]
    if server_tools:
        body["tools"] = server_tools
    if request.tools:
        wire = [
            {"name": tool.name, **({"description": tool.description} if tool.description else {})}
            | {"input_schema": tool.schema or {"type": "object", "properties": {}}}
            for tool in sorted(request.tools, key=lambda tool: tool.name)
        ]
        wire[-1] |= marker
        body["tools"] = [*server_tools, *wire]
    fields, body["max_tokens"] = thinking_fields(request, body["max_tokens"])
    body |= fields
    if request.output_schema:
        form = {"type": "json_schema", "schema": request.output_schema}
        body["output_config"] = body.get("output_config", {}) | {"format": form}
    if body.get("thinking", NOT_THINKING) == NOT_THINKING:  # thinking requires the default temperature
        body |= temperature_field(request)
    if endpoint.service_tier:
        body["service_tier"] = endpoint.service_tier
    body["stream"] = True
    return body


def _messages(
    request: Request, provider: str, sent: WireMessageCache, marker: dict[str, Any]
) -> list[dict[str, Any] | msgspec.Raw]:
    messages = sent.repaired(request.messages)
    model = request.model

    def wire(message: Message) -> list[dict[str, Any]]:
        content = [part for block in message.content if (part := _part(block, model, provider))]
        role = "assistant" if message.role == "assistant" else "user"
        return [{"role": role, "content": content}] if content else []  # an empty content array is rejected

    newest, last = _marked(messages, len(messages), wire, marker)
    if not last:
        return [item for message in messages for item in wire(message)]
    known = sent.by_message(messages[:newest], (provider, model), wire)
    earlier, again = _marked(messages, _last_answer(messages, newest), wire, marker)
    before = [item for place, items in enumerate(known) for item in (again if place == earlier else items)]
    return [*before, *last, *(item for message in messages[newest + 1 :] for item in wire(message))]


def _marked(
    messages: Sequence[Message], end: int, wire: Callable[[Message], list[dict[str, Any]]], marker: dict[str, Any]
) -> tuple[int, list[dict[str, Any]]]:
    """The last message before ``end`` that is not the model's, with a marker at its end."""
    for place in reversed(range(end)):
        if messages[place].role != "assistant" and (items := wire(messages[place])):
            items[0]["content"][-1] |= marker
            return place, items
    return -1, []


def _last_answer(messages: Sequence[Message], end: int) -> int:
    """Index of the last model answer; the newest marker of the previous request was before it.
    Calls of extensions do not count."""
    for place in reversed(range(end)):
        if messages[place].role == "assistant" and "origin_extension" not in messages[place].meta:
            return place
    return 0


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
    shown = image_or_placeholder(block, model, IMAGE_LIMIT) if isinstance(block, ImageBlock) else block
    if isinstance(shown, TextBlock):
        return {"type": "text", "text": shown.text}
    return {"type": "image", "source": {"type": "base64", "media_type": shown.mime_type, "data": shown.data}}


def _result(result: ToolResultBlock, model: Model) -> dict[str, Any]:
    """A plain string if all is text, else blocks without the empty ones."""
    content: str | list[dict[str, Any]] = joined(result.content)
    if any(isinstance(block, ImageBlock) for block in result.content):
        content = [_seen(b, model) for b in result.content if isinstance(b, ImageBlock) or b.text.strip()]
    wire: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return wire | {"is_error": True} if result.is_error else wire


def _thought(block: ReasoningBlock) -> dict[str, Any] | None:
    """Thinking is sent back verbatim, or not at all: without its signature it is rejected."""
    if block.kind == "server_tool":
        return hosted_item(block)
    if block.kind == "redacted_thinking":
        return {"type": "redacted_thinking", "data": block.encrypted_content}
    if block.kind != "thinking" or not block.encrypted_content:
        return None
    return {"type": "thinking", "thinking": block.summary, "signature": block.encrypted_content}


def _copy_for_debugging(body: bytes) -> None:
    """Append each request body as one line to the file of ``ZOT_DEBUG_ANTHROPIC``, if set."""
    path = os.environ.get("ZOT_DEBUG_ANTHROPIC")
    if not path:
        return
    file = open_to_append(path)
    try:
        os.write(file, body + b"\n")
    finally:
        os.close(file)


# -- the stream -------------------------------------------------------------------------------------------------

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "refusal": "error",
}


class _Written(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: Count = None


class _OutputDetails(msgspec.Struct, gc=False):
    thinking_tokens: Count = None


class _ServerToolUse(msgspec.Struct, gc=False):
    web_search_requests: Count = None


class _AnthropicUsage(msgspec.Struct, gc=False):
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_creation: _Written | None = None
    output_tokens_details: _OutputDetails | None = None
    server_tool_use: _ServerToolUse | None = None


class _Details(msgspec.Struct, gc=False):
    explanation: str | None = None


class _AnthropicDelta(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None
    stop_details: _Details | None = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    input: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct, gc=False):
    usage: _AnthropicUsage | None = None


class _AnthropicError(msgspec.Struct, gc=False):
    type: str | None = None
    message: str | None = None


class _AnthropicEvent(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _AnthropicDelta | None = None
    content_block: _Block | None = None
    message: _Message | str | None = None
    usage: _AnthropicUsage | None = None
    error: _AnthropicError | None = None


_decode = msgspec.json.Decoder(_AnthropicEvent).decode


class _BlockStart(msgspec.Struct):
    content_block: msgspec.Raw


class _SearchInput(msgspec.Struct):
    query: str = ""
    url: str = ""


class AnthropicDecoder(ResponseBuilder):
    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        super().__init__(request, endpoint)
        self._open: dict[int, Part] = {}
        self._stop: StopReason = "end"
        self._refusal = ""
        self._hosted = bool(request.server_tools)
        self._kept_an_hour = 0  # tokens a gateway cached for longer than requested

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        if self.finished:
            return []
        try:
            got = _decode(event.data)
        except BAD_JSON:
            return []
        if got.type == "content_block_delta":
            if got.delta is None:
                return []
            part = self._open.get(got.index)
            if got.delta.type == "text_delta":
                return self._text(got.index, part, got.delta.text)
            if isinstance(part, ToolPart) and got.delta.partial_json:
                part.pieces.append(got.delta.partial_json)
                return [ToolArgs(part.id, got.delta.partial_json)]
            if isinstance(part, ServerToolPart):
                part.pieces.append(got.delta.partial_json)
                return []
            if isinstance(part, ReasoningPart):
                if got.delta.signature:
                    part.encrypted.append(got.delta.signature)
                return self.think(part, got.delta.thinking) if got.delta.thinking else []
            return []
        return self._rare(got, event.data)

    def _rare(self, got: _AnthropicEvent, data: bytes) -> list[StreamEvent]:
        if got.error is not None:
            code = got.error.type or "error"
            return self.fail(f"{self.provider} {code}: {got.error.message or 'no message'}", code)
        match got.type:
            case "content_block_start" if got.content_block is not None:
                return self._start(got.index, got.content_block, data)
            case "content_block_stop":
                return self._stop_block(self._open.get(got.index))
            case "message_start" if isinstance(got.message, _Message):
                self._count(got.message.usage, Usage())
            case "message_delta":
                self._count(got.usage, self.usage)
                if got.delta is not None and got.delta.stop_reason is not None:
                    self._stop = _STOPS.get(got.delta.stop_reason, "end")
                    if got.delta.stop_reason == "pause_turn" and any(isinstance(p, ServerToolPart) for p in self.parts):
                        self._stop = "length"  # the provider's tools took too long; the answer is not complete
                    if got.delta.stop_reason == "refusal":
                        explanation = got.delta.stop_details.explanation if got.delta.stop_details else None
                        self._refusal = explanation or "the model declined to answer"
            case "message_stop":
                if not self._refusal:
                    return self.finish(self._stop)
                return self.fail(f"{self.provider} refusal: {self._refusal}", "refusal")
            case _:
                pass
        return []

    def _text(self, index: int, part: Part | None, text: str) -> list[StreamEvent]:
        if not isinstance(part, TextPart):
            part = TextPart()  # a server that did not announce the block
            self._add(index, part)
        if not text:
            return []
        part.pieces.append(text)
        self.has_content = True
        return [TextDelta(text)]

    def _stop_block(self, part: Part | None) -> list[StreamEvent]:
        if isinstance(part, ServerToolPart):
            return self._end_server_tool(part)
        if not isinstance(part, ToolPart):
            return []
        whole = not part.pieces and part.whole not in ("", "{}")
        return ([ToolArgs(part.id, part.whole)] if whole else []) + self.end_tool(part)

    def _start(self, index: int, block: _Block, data: bytes) -> list[StreamEvent]:
        match block.type:
            case "text":
                return self._text(index, None, block.text)
            case "tool_use":
                # some servers send all arguments with the block; the usual ``{}`` announces pieces
                text = bytes(block.input).decode("utf-8", "replace").strip()
                self._add(index, ToolPart(block.id, block.name, text if text.startswith("{") else ""))
                self.has_content = True
                return [ToolStarted(block.id, block.name)]
            case "thinking" | "redacted_thinking":
                part = ReasoningPart(self, block.type)
                part.encrypted = [block.signature or block.data]
                self._add(index, part)
                return self.think(part, block.thinking)
            case "server_tool_use" if self._hosted:
                self._add(index, ServerToolPart(self, block.id, summary=block.name))
            case "web_search_tool_result" | "web_fetch_tool_result" if self._hosted:
                raw = bytes(msgspec.json.decode(data, type=_BlockStart).content_block)
                return self.add_server_tool(ServerToolPart(self, json=raw.decode("utf-8", "replace")))
            case _:
                self._open.pop(index, None)
        return []

    def _end_server_tool(self, part: ServerToolPart) -> list[StreamEvent]:
        """A call of a tool that the provider runs; its result is a block of its own. Both stay in the transcript."""
        arguments, name = "".join(part.pieces) or "{}", part.summary
        try:
            typed = msgspec.json.decode(arguments, type=_SearchInput)
        except (msgspec.MsgspecError, UnicodeError):
            arguments, typed = "{}", _SearchInput()
        wire = {"type": "server_tool_use", "id": part.id, "name": name, "input": msgspec.Raw(arguments.encode())}
        part.json = msgspec.json.encode(wire).decode()
        part.summary = f"{name}: {typed.query or typed.url}"
        return [ThinkingDelta(f"{part.summary}\n")]

    def _add(self, index: int, part: Part) -> None:
        self._open[index] = part
        self.parts.append(part)

    def _count(self, new: _AnthropicUsage | None, old: Usage) -> None:
        """Counters are assigned, never added, and a zero does not overwrite."""
        self.usage = old
        if new is None:
            return
        self.usage = Usage(
            int(new.input_tokens or old.input_tokens),
            int(new.output_tokens or old.output_tokens),
            int(new.cache_read_input_tokens or old.cache_read_tokens),
            int(new.cache_creation_input_tokens or old.cache_write_tokens),
            reasoning_tokens=old.reasoning_tokens,
        )
        if new.output_tokens_details is not None and new.output_tokens_details.thinking_tokens is not None:
            thought = int(new.output_tokens_details.thinking_tokens)
            self.usage = msgspec.structs.replace(self.usage, reasoning_tokens=thought)
        if new.server_tool_use is not None:
            self.searches = int(new.server_tool_use.web_search_requests or 0)
        if new.cache_creation is not None and new.cache_creation.ephemeral_1h_input_tokens:
            self._kept_an_hour = int(new.cache_creation.ephemeral_1h_input_tokens)

    def priced(self) -> Usage:
        usage = super().priced()
        price = self.model.price_for(usage.context_tokens)
        more = self._kept_an_hour * (_HOUR_FACTOR * price.price_input - price.price_cache_write) / 1_000_000
        return msgspec.structs.replace(usage, cost_usd=usage.cost_usd + more) if more else usage
