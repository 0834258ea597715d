"""The OpenAI chat-completions dialect, also used by ollama, kimi and most other servers.
Tool results are text here, so their images go into a user message made at request time. A stream ends at ``[DONE]``,
or with the connection after a finish reason."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from zot.errors import ProviderError
from zot.provider.dialects.dialect import Decoder, Endpoint, ImageLimit, ListedModel
from zot.provider.dialects.request_parts import (
    WireMessageCache,
    address,
    arguments_text,
    bearer,
    data_url,
    get,
    image_or_placeholder,
    joined,
    named_schema,
    output_limit,
    post,
    reasoning_setting,
    result_text,
    serving_fields,
    temperature_field,
    tool_images_as_user_content,
)
from zot.provider.dialects.response_builder import BAD_JSON, Count, ReasoningPart, ResponseBuilder, TextPart, ToolPart
from zot.provider.http.message import HttpRequest
from zot.provider.http.sse import SseEvent, SseParser
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    StopReason,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
)
from zot.provider.model import Model
from zot.provider.model_call import Request, StreamEvent, TextDelta, ThinkingDelta, ToolArgs, ToolStarted

# Every reasoning model has these three; its catalog row names more.
LEVELS = {"low": "low", "medium": "medium", "high": "high"}

IMAGE_LIMIT = ImageLimit(2048, 20 * 1024 * 1024 * 3 // 4)


class OpenAIChatDialect:
    levels = LEVELS
    frames = SseParser

    def __init__(self) -> None:
        self._sent = WireMessageCache()

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        url = address(endpoint.base_url, "chat/completions")
        own = bearer(endpoint)
        if endpoint.provider == "copilot":
            from zot.provider.dialects.copilot import request_headers

            own += request_headers(request)
        return post(url, endpoint, own, _body(request, endpoint, self._sent))

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        return OpenAIChatDecoder(request, endpoint)

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        return get(address(endpoint.base_url, "models"), endpoint, bearer(endpoint))

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        from zot.provider.dialects.model_list import entries

        return entries(page), ""

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        return self.list_request(endpoint, "")


# -- the request ------------------------------------------------------------------------------------------------


def _body(request: Request, endpoint: Endpoint, sent: WireMessageCache) -> dict[str, Any]:
    provider = endpoint.provider
    system = [{"role": "system", "content": request.system}] if request.system else []
    items = sent.items(
        sent.repaired(request.messages),
        (provider, request.model),
        lambda message: _message(message, request.model, provider),
    )
    body: dict[str, Any] = {"model": request.model.id, "messages": [*system, *items]}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema or {"type": "object", "properties": {}},
                },
            }
            for tool in sorted(request.tools, key=lambda tool: tool.name)
        ]
        body["tool_choice"] = "auto"
    if "web_search" in request.server_tools and provider == "openrouter":
        body.setdefault("tools", []).append({"type": "openrouter:web_search"})
    body["stream"] = True
    body["stream_options"] = {"include_usage": True}
    body |= temperature_field(request)
    # A model of unknown size gets no limit; 0 would be rejected.
    if limit := output_limit(request, len(request.system) + sum(len(memoryview(item)) for item in items)):
        body["max_completion_tokens" if request.model.reasoning else "max_tokens"] = limit
    if request.output_schema:
        body["response_format"] = {"type": "json_schema", "json_schema": named_schema(request.output_schema)}
    return body | _reasoning_fields(request) | serving_fields(request, endpoint)


def _reasoning_fields(request: Request) -> dict[str, Any]:
    """``reasoning_effort``; some servers switch reasoning on and off with a field of their own."""
    model, effort = request.model, reasoning_setting(request, LEVELS)
    fields: dict[str, Any] = {"reasoning_effort": effort} if effort and model.reasoning_style != "switch" else {}
    skips = request.reasoning == "off" and model.can_skip_reasoning is not False
    if not model.reasoning or not request.reasoning or not model.reasoning_format:
        return fields
    if model.reasoning_format == "together":
        return {"reasoning": {"enabled": not skips}, **fields}
    return {"thinking": {"type": "disabled" if skips else "enabled"}, **({} if skips else fields)}


def _message(message: Message, model: Model, provider: str) -> list[dict[str, Any]]:
    match message.role:
        case "user":
            return _user(message.content, model)
        case "assistant":
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
        case "tool":
            return [*map(_result, message.tool_results()), *_user(tool_images_as_user_content(message), model)]


def _user(content: Sequence[Block], model: Model) -> list[dict[str, Any]]:
    """A plain string without images, parts with them, no message without content."""
    shown = [image_or_placeholder(b, model, IMAGE_LIMIT) if isinstance(b, ImageBlock) else b for b in content]
    if not any(isinstance(block, ImageBlock) for block in shown):
        text = joined(shown)
        return [{"role": "user", "content": text}] if text else []
    parts = [part for block in shown if (part := _part(block))]
    return [{"role": "user", "content": parts}]


def _part(block: Block) -> dict[str, Any] | None:
    match block:
        case TextBlock(text) if text:
            return {"type": "text", "text": text}
        case ImageBlock():
            return {"type": "image_url", "image_url": {"url": data_url(block)}}
        case _:
            return None


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
    text = result_text(result)
    if result.is_error and text:
        text += " [error]"
    return {"role": "tool", "tool_call_id": result.call_id, "content": text}


# -- the stream -------------------------------------------------------------------------------------------------

_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "error",
}


class _ChatCached(msgspec.Struct, gc=False):
    cached_tokens: Count = None
    cache_write_tokens: Count = None


class _ChatReasoned(msgspec.Struct, gc=False):
    reasoning_tokens: Count = None


class _ChatUsage(msgspec.Struct, gc=False):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    cached_tokens: Count = None  # Moonshot's field
    prompt_cache_hit_tokens: Count = None  # DeepSeek's field
    prompt_tokens_details: _ChatCached | None = None
    completion_tokens_details: _ChatReasoned | None = None


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _ToolCall(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _ContentPart(msgspec.Struct, gc=False):
    text: str | None = None


class _ChatDelta(msgspec.Struct, gc=False):
    content: str | list[_ContentPart] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None  # OpenRouter's spelling
    tool_calls: list[_ToolCall] | None = None


class _ChatChoice(msgspec.Struct, gc=False):
    delta: _ChatDelta | None = None
    finish_reason: str | None = None
    usage: _ChatUsage | None = None


class _ChatError(msgspec.Struct, gc=False):
    message: str | None = None
    code: str | int | None = None
    type: str | None = None


class _ChatChunk(msgspec.Struct, gc=False):
    choices: list[_ChatChoice] | None = None
    usage: _ChatUsage | None = None
    error: _ChatError | str | None = None


_decode = msgspec.json.Decoder(_ChatChunk).decode


class _ChatTool(ToolPart):
    """A call whose id, name and arguments may arrive in any order; emitted once it has id and name."""

    __slots__ = ("announced", "number")

    def __init__(self, number: int) -> None:
        super().__init__()
        self.announced = False
        self.number = number


def _check_arguments(call: ToolPart) -> None:
    """Values that are not objects count as absent."""
    if not isinstance(ToolCallBlock(call.id, call.name, call.arguments()).value, dict):
        call.pieces = ["{}"]


class OpenAIChatDecoder(ResponseBuilder):
    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        super().__init__(request, endpoint)
        self._turn = len(request.messages)
        self._text: TextPart | None = None
        self._calls: dict[int, _ChatTool] = {}
        self._keys: dict[str, int] = {}  # key under which the call of an id was first seen
        self._opened: list[_ChatTool] = []  # calls without an ending yet
        self._count = 0
        self._reasoning = ReasoningPart(self)
        self._finish = ""

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        if self.finished:
            return []
        try:
            chunk = _decode(event.data)
        except BAD_JSON:
            return self._done() if event.data.strip() == b"[DONE]" else []
        if chunk.error is not None:
            error = _ChatError(message=chunk.error) if isinstance(chunk.error, str) else chunk.error
            code = str(error.code or error.type or "error")
            return self.fail(f"{self.provider}: {error.message or code}", code)
        if chunk.usage is not None:
            self.usage = _counted(chunk.usage)
        out: list[StreamEvent] = []
        for choice in chunk.choices or ():
            self._choice(choice, out)
        return out

    def _choice(self, choice: _ChatChoice, out: list[StreamEvent]) -> None:
        delta = choice.delta
        if delta is not None:
            content = delta.content
            if not isinstance(content, str):
                content = "".join(part.text or "" for part in content or ())
            if thought := delta.reasoning_content or delta.reasoning:
                self._reasoning.pieces.append(thought)
                out.append(ThinkingDelta(thought))
            if text := content or delta.refusal:
                self._emit_text(text, out)
            for call in delta.tool_calls or ():
                self._call(call, out)
        if choice.usage is not None:
            self.usage = _counted(choice.usage)
        if choice.finish_reason:
            self._finish = choice.finish_reason.lower()
            self._settle(out)

    def _emit_text(self, text: str, out: list[StreamEvent]) -> None:
        if self._text is None:
            self._text = TextPart()
            self.parts.append(self._text)
        self._text.pieces.append(text)
        self.has_content = True
        out.append(TextDelta(text))

    def _call(self, piece: _ToolCall, out: list[StreamEvent]) -> None:
        function = piece.function or _Function()
        call = self._called(piece, function)
        call.id = call.id or piece.id or ""
        call.name = call.name or function.name or ""
        arguments = function.arguments or ""
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()
        if arguments:
            call.pieces.append(arguments)
        if call.announced and arguments:
            out.append(ToolArgs(call.id, arguments))
        elif call.id and call.name:
            self._announce(call, out)

    def _called(self, piece: _ToolCall, function: _Function) -> _ChatTool:
        """The call a piece belongs to.
        Servers omit the index, repeat index 0 or invent ids, so a piece opens a new call only if it names a function
        under another id."""
        key = piece.index if piece.index is not None else self._last_key(piece)
        if piece.id:
            self._keys.setdefault(piece.id, key)
        known = self._calls.get(key)
        if known is not None and not (function.name and piece.id and known.id and piece.id != known.id):
            return known
        call = self._calls[key] = _ChatTool(self._count)
        self._count += 1
        self._opened.append(call)
        self.parts.append(call)
        self._text = None  # text after a call is a separate block
        return call

    def _last_key(self, piece: _ToolCall) -> int:
        key = self._keys.get(piece.id or "", -1)
        return key if key in self._calls and self._calls[key].id == piece.id else -1

    def _announce(self, call: _ChatTool, out: list[StreamEvent]) -> None:
        if call.announced:
            return
        call.announced = self.has_content = True
        out.append(ToolStarted(call.id, call.name))
        if call.pieces:
            out.append(ToolArgs(call.id, "".join(call.pieces)))

    def _settle(self, out: list[StreamEvent]) -> None:
        """Every call is complete; one without an id gets a deterministic one."""
        if _STOPS.get(self._finish, "end") not in ("end", "tool_use"):
            return
        opened, self._opened = self._opened, []
        for call in opened:
            call.id = call.id or f"call_{self._turn}_{call.number}"
            _check_arguments(call)
            self._announce(call, out)
            out.extend(self.end_tool(call))

    def _done(self) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        self._settle(out)
        for call in self.tools():
            if call.ended:  # events after the ending
                _check_arguments(call)
        stop = _STOPS.get(self._finish, "end")
        if self._finish == "content_filter":
            text = f"{self.provider}: the answer was stopped by the provider's content filter"
            return out + self.fail(text, "content_filter")
        return out + self.finish("tool_use" if stop == "end" and self.tools() else stop)

    @property
    def progress(self) -> int:
        return super().progress + sum(map(len, self._reasoning.pieces))

    def finish(self, stop: StopReason, error: ProviderError | None = None) -> list[StreamEvent]:
        """Reasoning is last in the message, whenever it arrived."""
        if not self.finished and self._reasoning.pieces:
            self.parts.append(self._reasoning)
        return super().finish(stop, error)

    def end_of_input(self) -> list[StreamEvent]:
        return self._done() if self._finish and not self.finished else super().end_of_input()


def _counted(usage: _ChatUsage) -> Usage:
    prompt = int(usage.prompt_tokens or 0)
    details = usage.prompt_tokens_details
    cached = int((details.cached_tokens if details else 0) or usage.cached_tokens or usage.prompt_cache_hit_tokens or 0)
    written = int((details.cache_write_tokens if details else 0) or 0)
    reasoned = usage.completion_tokens_details.reasoning_tokens if usage.completion_tokens_details else None
    return Usage(
        prompt - cached - written if cached + written <= prompt else prompt,
        int(usage.completion_tokens or 0),
        cached,
        written,
        reasoning_tokens=None if reasoned is None else int(reasoned),
    )
