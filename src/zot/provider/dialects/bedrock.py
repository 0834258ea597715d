"""The Amazon Bedrock dialect (ConverseStream).
Neighbouring messages of one role are merged, and tools are declared whenever the transcript contains calls. A stream
ends with ``metadata``, or with the connection after ``messageStop``."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from zot.provider.auth.aws import access_key, signed
from zot.provider.dialects.dialect import Decoder, Endpoint, ImageLimit, ListedModel
from zot.provider.dialects.request_parts import (
    NOT_THINKING,
    THINKING_BUDGETS,
    WireMessageCache,
    arguments_text,
    bearer,
    encode_body,
    get,
    image_or_placeholder,
    joined,
    post,
    reasoning_setting,
    temperature_field,
    thinking_fields,
)
from zot.provider.dialects.response_builder import (
    BAD_JSON,
    Count,
    Part,
    ReasoningPart,
    ResponseBuilder,
    TextPart,
    ToolPart,
)
from zot.provider.http.aws_eventstream import EventStreamParser
from zot.provider.http.message import HttpRequest
from zot.provider.http.sse import SseEvent
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
from zot.provider.model_call import Request, StreamEvent, TextDelta, ToolArgs, ToolSpec, ToolStarted

_ACCEPT = "application/vnd.amazon.eventstream"
_CACHE_POINT = {"cachePoint": {"type": "default"}}  # five minutes
_HOUR_POINT = {"cachePoint": {"type": "default", "ttl": "1h"}}
_LAST = 3  # last messages: the newest question, the answer before it, and its question
_REGION = re.compile(r"[a-z]{2,3}(?:-[a-z]+){1,3}-\d{1,2}")
_NO_ID = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID = 64
_UNKNOWN_OUTPUT = 8192  # output limit for Claude, which needs space to think

# Models whose effort is a word; Claude's is a budget.
_EFFORTS = {"low": "low", "medium": "medium", "high": "high"}

# Claude models from before prompt caching; they reject cache marks.
_UNCACHED = re.compile(r"claude-(?:v\d|instant|3-(?:opus|sonnet|haiku)|3-5-sonnet)")

IMAGE_LIMIT = ImageLimit(8000, 5 * 1024 * 1024 * 3 // 4)


class BedrockDialect:
    levels = THINKING_BUDGETS
    frames = EventStreamParser

    def __init__(self) -> None:
        self._sent = WireMessageCache()

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        url = f"{endpoint.base_url.rstrip('/')}/model/{quote(request.model.id, safe='')}/converse-stream"
        mark = _HOUR_POINT if endpoint.long_cache and _is_claude(request.model.id) else _CACHE_POINT
        marks = [mark] if _caches(request.model.id) else []
        body: dict[str, Any] = {}
        if request.system.strip():
            body["system"] = [{"text": request.system}, *marks]
        body["messages"] = _messages(request, endpoint.provider, self._sent, mark)
        if tools := _tools(request):
            body["toolConfig"] = {"tools": [*tools, *(marks if _is_claude(request.model.id) else [])]}
        body["inferenceConfig"], fields = _limits(request)
        if fields:
            body["additionalModelRequestFields"] = fields
        if request.output_schema:
            definition = {"name": "answer", "schema": encode_body(request.output_schema).decode()}
            body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": definition}}}
        if endpoint.service_tier:
            body["serviceTier"] = {"type": endpoint.service_tier}
        return _proven(post(url, endpoint, _bearer(endpoint), body, _ACCEPT), endpoint)

    def sign(self, request: HttpRequest, endpoint: Endpoint) -> HttpRequest:
        """Sign a request again whose body has changed."""
        return _proven(request, endpoint)

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        return BedrockDecoder(request, endpoint)

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        """Models answer at one host and are listed at another, followed by the inference profiles."""
        base = endpoint.base_url.rstrip("/").replace("//bedrock-runtime", "//bedrock", 1)
        page = {"": "foundation-models", "profiles": "inference-profiles?maxResults=1000"}.get(after)
        page = page or f"inference-profiles?maxResults=1000&nextToken={quote(after, safe='')}"
        return _proven(get(f"{base}/{page}", endpoint, _bearer(endpoint)), endpoint)

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        from zot.provider.dialects.model_list import bedrock_models

        return bedrock_models(page)

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        return self.list_request(endpoint, "")


# -- the request ------------------------------------------------------------------------------------------------


def _bearer(endpoint: Endpoint) -> list[tuple[str, str]]:
    return [] if access_key(endpoint.api_key) else bearer(endpoint)


def _proven(request: HttpRequest, endpoint: Endpoint) -> HttpRequest:
    key = access_key(endpoint.api_key)
    return signed(request, key, region_of(endpoint.base_url), "bedrock") if key else request


def region_of(base_url: str) -> str:
    """The region of a host, else of the environment."""
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0]
    named = next((label for label in host.split(".") if _REGION.fullmatch(label)), "")
    return named or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _is_claude(model_id: str) -> bool:
    return "anthropic.claude" in model_id


def _caches(model_id: str) -> bool:
    return (_is_claude(model_id) and not _UNCACHED.search(model_id)) or "amazon.nova" in model_id


def _limits(request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
    """Output limit and temperature, and fields of this model family."""
    model = request.model
    limit, fields = request.max_tokens or model.max_output, dict[str, Any]()
    if _is_claude(model.id):
        fields, limit = thinking_fields(request, limit or _UNKNOWN_OUTPUT)
    elif effort := reasoning_setting(request, _EFFORTS):
        nova = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
        fields = nova if "amazon.nova" in model.id else {"reasoning_effort": effort}
    config: dict[str, Any] = {"maxTokens": limit} if limit else {}
    if fields.get("thinking", NOT_THINKING) == NOT_THINKING:  # thinking requires the default temperature
        config |= temperature_field(request)
    return config, fields


def _tools(request: Request) -> list[dict[str, Any]]:
    tools: Sequence[ToolSpec] = sorted(request.tools, key=lambda tool: tool.name)
    if not tools:  # past calls must be declared, even if no tool is offered
        names = sorted({call.name for message in request.messages for call in message.tool_calls()})
        tools = [ToolSpec(name, "Not available now.", {}) for name in names]
    return [
        {
            "toolSpec": {
                "name": _id(tool.name),
                **({"description": tool.description} if tool.description else {}),
                "inputSchema": {"json": tool.schema or {"type": "object", "properties": {}}},
            }
        }
        for tool in tools
    ]


def _messages(
    request: Request, provider: str, sent: WireMessageCache, mark: dict[str, Any]
) -> list[dict[str, Any] | msgspec.Raw]:
    """The newest user content gets a cache mark, and the one before it keeps the mark of the previous request."""
    model = request.model
    messages = _turns(sent.repaired(request.messages), model, provider)

    def wire(message: Message) -> list[dict[str, Any]]:
        role = "assistant" if message.role == "assistant" else "user"
        return [
            {
                "role": role,
                "content": [_part(block, model) for block in message.content if _is_sent(block, model, provider)],
            }
        ]

    if not messages or messages[-1].role == "assistant" or not _caches(model.id):
        return list(sent.items(messages, (provider, model), wire))
    before, last = messages[:-_LAST], [item for message in messages[-_LAST:] for item in wire(message)]
    for item in last:
        if item["role"] == "user":
            item["content"].append(mark)
    return [*sent.items(before, (provider, model), wire), *last]


def _turns(messages: Sequence[Message], model: Model, provider: str) -> list[Message]:
    """The transcript without empty blocks, neighbours of one role merged."""
    turns: list[Message] = []
    for message in messages:
        if not any(_is_sent(block, model, provider) for block in message.content):
            continue
        if turns and (turns[-1].role == "assistant") == (message.role == "assistant"):
            joint = turns[-1].content + message.content
            turns[-1] = msgspec.structs.replace(turns[-1], content=joint)
        else:
            turns.append(message)
    return turns


def _is_sent(block: Block, model: Model, provider: str) -> bool:
    """True if a block is sent: blank text is rejected, and thinking belongs to its model."""
    match block:
        case TextBlock(text):
            return bool(text.strip())
        case ReasoningBlock():
            sealed = block.encrypted_content and block.kind != "reasoning"
            return bool(sealed) and (block.provider, block.model) == (provider, model.id)
        case _:
            return True


def _part(block: Block, model: Model) -> dict[str, Any]:
    match block:
        case TextBlock() | ImageBlock():
            return _seen(block, model)
        case ToolCallBlock(id, name):
            arguments = msgspec.Raw(arguments_text(block).encode("utf-8", "replace"))
            return {"toolUse": {"toolUseId": _id(id), "name": _id(name), "input": arguments}}
        case ToolResultBlock():
            return {"toolResult": _result(block, model)}
        case ReasoningBlock(_, summary, encrypted, kind):
            if kind == "redacted_thinking":
                return {"reasoningContent": {"redactedContent": encrypted}}
            return {"reasoningContent": {"reasoningText": {"text": summary, "signature": encrypted}}}


def _seen(block: ResultBlock, model: Model) -> dict[str, Any]:
    shown = image_or_placeholder(block, model, IMAGE_LIMIT) if isinstance(block, ImageBlock) else block
    if isinstance(shown, TextBlock):
        return {"text": shown.text}
    format = shown.mime_type.removeprefix("image/").replace("jpg", "jpeg")
    return {"image": {"format": format, "source": {"bytes": shown.data}}}


def _result(result: ToolResultBlock, model: Model) -> dict[str, Any]:
    """``status`` is supported by Claude and Nova only; others get a prefix."""
    knows_status = _is_claude(model.id) or "amazon.nova" in model.id
    text = joined(result.content)
    if result.is_error and not knows_status:
        text += " [error]"
    content: list[dict[str, Any]] = [{"text": text}] if text.strip() else []
    content += [_seen(block, model) for block in result.content if isinstance(block, ImageBlock)]
    wire: dict[str, Any] = {"toolUseId": _id(result.call_id), "content": content or [{"text": "(no output)"}]}
    return wire | {"status": "error"} if result.is_error and knows_status else wire


def _id(text: str) -> str:
    """Ids and names of other vendors may contain invalid characters."""
    return _NO_ID.sub("_", text)[:_LONGEST_ID] or "_"


# -- the stream -------------------------------------------------------------------------------------------------

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
}

# Stop reasons that are failures, and their messages.
_FAILURES = {
    "guardrail_intervened": "the answer was stopped by a guardrail",
    "content_filtered": "the answer was stopped by the provider's content filter",
    "refusal": "the model declined to answer",
    "malformed_model_output": "the model's answer was malformed",
    "malformed_tool_use": "the model made a malformed tool call",
}


class _ToolUse(msgspec.Struct, gc=False, rename="camel"):
    tool_use_id: str = ""
    name: str = ""
    input: str = ""


class _Reasoning(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class _BedrockDelta(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    tool_use: _ToolUse | None = None
    reasoning_content: _Reasoning | None = None


class _BedrockUsage(msgspec.Struct, gc=False, rename="camel"):
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_write_input_tokens: Count = None


class _BedrockEvent(msgspec.Struct, gc=False, rename="camel"):
    content_block_index: int = 0
    start: _BedrockDelta | None = None
    delta: _BedrockDelta | None = None
    stop_reason: str | None = None
    usage: _BedrockUsage | None = None
    message: str | None = None
    original_message: str | None = None


_decode = msgspec.json.Decoder(_BedrockEvent).decode


class BedrockDecoder(ResponseBuilder):
    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        super().__init__(request, endpoint)
        self._open: dict[int, Part] = {}
        self._stop = ""

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        if self.finished:
            return []
        try:
            got = _decode(event.data)
        except BAD_JSON:
            got = None
        if ":" in event.event:
            code = event.event.partition(":")[2]
            message = (got.message or got.original_message) if got else ""
            return self.fail(f"{self.provider} {code}: {message or 'no message'}", code)
        if got is None:
            return []
        if event.event == "contentBlockDelta":
            part = self._open.get(got.content_block_index)
            if got.delta is None:
                return []
            if got.delta.text:
                return self._text(got.content_block_index, part, got.delta.text)
            if got.delta.tool_use is not None and isinstance(part, ToolPart) and got.delta.tool_use.input:
                part.pieces.append(got.delta.tool_use.input)
                return [ToolArgs(part.id, got.delta.tool_use.input)]
            if (thought := got.delta.reasoning_content) is not None:
                kind = "redacted_thinking" if thought.redacted_content else "thinking"
                if not isinstance(part, ReasoningPart) or part.kind != kind:
                    part = ReasoningPart(self, kind)
                    self._add(got.content_block_index, part)
                if seal := thought.redacted_content or thought.signature:
                    part.encrypted.append(seal)
                return self.think(part, thought.text) if thought.text else []
            return []
        return self._rare(event.event, got)

    def _rare(self, name: str, got: _BedrockEvent) -> list[StreamEvent]:
        match name:
            case "contentBlockStart" if got.start is not None and got.start.tool_use is not None:
                call = got.start.tool_use
                self._add(got.content_block_index, ToolPart(call.tool_use_id, call.name))
                self.has_content = True
                return [ToolStarted(call.tool_use_id, call.name)]
            case "contentBlockStop":
                part = self._open.pop(got.content_block_index, None)
                return self.end_tool(part) if isinstance(part, ToolPart) else []
            case "messageStop":
                self._stop = got.stop_reason or "end_turn"
            case "metadata":
                self.usage = _counted(got.usage)
                return self._done() if self._stop else []
            case _:
                pass
        return []

    def _text(self, index: int, part: Part | None, text: str) -> list[StreamEvent]:
        if not isinstance(part, TextPart):
            part = TextPart()  # text blocks are not announced
            self._add(index, part)
        part.pieces.append(text)
        self.has_content = True
        return [TextDelta(text)]

    def _add(self, index: int, part: Part) -> None:
        self._open[index] = part
        self.parts.append(part)

    def _done(self) -> list[StreamEvent]:
        if self._stop in _FAILURES:
            return self.fail(f"{self.provider} {self._stop}: {_FAILURES[self._stop]}", self._stop)
        stop = _STOPS.get(self._stop, "end")
        return self.finish("tool_use" if stop == "end" and self.tools() else stop)

    def end_of_input(self) -> list[StreamEvent]:
        return self._done() if self._stop and not self.finished else super().end_of_input()


def _counted(usage: _BedrockUsage | None) -> Usage:
    """Input excludes tokens read from or written to the cache."""
    if usage is None:
        return Usage()
    return Usage(
        int(usage.input_tokens or 0),
        int(usage.output_tokens or 0),
        int(usage.cache_read_input_tokens or 0),
        int(usage.cache_write_input_tokens or 0),
    )
