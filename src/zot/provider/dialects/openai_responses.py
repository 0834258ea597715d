"""The OpenAI Responses dialect: ``/v1/responses`` with a key or a ChatGPT plan, and the Codex endpoint's own URL.
Stateless: each request has the whole transcript, reasoning items in encrypted form. A plan (``Endpoint.oauth``)
accepts no output limit and no temperature; at ``/v1`` it accepts functions in a namespace only."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec

from zot.provider.dialects.dialect import Decoder, Endpoint, ImageLimit, ListedModel
from zot.provider.dialects.request_parts import (
    address,
    arguments_text,
    bearer,
    data_url,
    get,
    hosted_item,
    image_or_placeholder,
    named_schema,
    post,
    reasoning_setting,
    repaired,
    result_text,
    serving_fields,
    temperature_field,
    tool_images_as_user_content,
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
from zot.provider.messages import Block, ImageBlock, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock, Usage
from zot.provider.model import Model
from zot.provider.model_call import Request, StreamEvent, TextDelta, ThinkingDelta, ToolArgs, ToolStarted

Item = dict[str, Any]

# Every reasoning model has these three; its catalog row names more.
LEVELS = {"low": "low", "medium": "medium", "high": "high"}

IMAGE_LIMIT = ImageLimit(2048, 20 * 1024 * 1024 * 3 // 4)


class OpenAIResponsesDialect:
    levels = LEVELS
    frames = SseParser

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        codex = _is_codex(endpoint)
        namespace = _NAMESPACE if endpoint.oauth and not codex else ""
        url = endpoint.base_url if codex else address(endpoint.base_url, "responses")
        own = bearer(endpoint)
        if codex:
            account = [("chatgpt-account-id", endpoint.account_id)] if endpoint.account_id else []
            session = [("session-id", request.session_id)] if request.session_id else []
            own = [*own, *account, *session, ("openai-beta", "responses=experimental"), ("originator", "zot")]
        body: Item = {"model": request.model.id, "store": False, "stream": True}
        if request.system:
            body["instructions"] = request.system
        body["input"] = list(_input(request, endpoint.provider, namespace))
        if tools := _tools(request, namespace):
            body["tools"] = tools
            body["tool_choice"] = "auto"
        body["parallel_tool_calls"] = True
        if endpoint.oauth or request.model.reasoning:  # other models reject it
            body["include"] = ["reasoning.encrypted_content"]
        if effort := reasoning_setting(request, LEVELS):
            body["reasoning"] = {"effort": effort, "summary": "auto"}
        if request.output_schema:
            body["text"] = {"format": {"type": "json_schema", **named_schema(request.output_schema)}}
        if request.session_id:
            body["prompt_cache_key"] = request.session_id
        if not endpoint.oauth:
            if limit := request.max_tokens or request.model.max_output:
                body["max_output_tokens"] = limit
            body |= temperature_field(request) | serving_fields(request, endpoint)
        return post(url, endpoint, own, body)

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        return OpenAIResponsesDecoder(request, endpoint)

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        return get(address(endpoint.base_url, "models"), endpoint, bearer(endpoint))

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        from zot.provider.dialects.model_list import chatgpt_models, entries

        return (chatgpt_models(page) if "models" in page else entries(page)), ""

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        return self.list_request(endpoint, "")


_NAMESPACE = "zot"
_NAMESPACE_TEXT = "Tools of this session"


def _is_codex(endpoint: Endpoint) -> bool:
    """True for the endpoint of OpenAI's own CLI, whose requests differ from those of the public API."""
    return endpoint.oauth and endpoint.base_url.endswith("/codex/responses")


# -- the request ------------------------------------------------------------------------------------------------


def _tools(request: Request, namespace: str) -> list[Item]:
    """``strict`` is sent explicitly: by default the API makes every optional argument required."""
    functions: list[Item] = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema or {"type": "object", "properties": {}},
            "strict": False,
        }
        for tool in sorted(request.tools, key=lambda tool: tool.name)
    ]
    if namespace and functions:
        functions = [{"type": "namespace", "name": namespace, "description": _NAMESPACE_TEXT, "tools": functions}]
    return [{"type": "web_search"}, *functions] if "web_search" in request.server_tools else functions


def _input(request: Request, provider: str, namespace: str = "") -> Iterator[Item]:
    ids = (f"msg_{n}" for n in count(1))
    for message in repaired(request.messages):
        match message.role:
            case "user":
                yield from _user(message.content, request.model)
            case "assistant":
                for block in message.content:
                    for item in _block_items(block, ids, (provider, request.model.id)):
                        if namespace and item["type"] == "function_call":
                            item["namespace"] = namespace
                        yield item
            case "tool":
                yield from (_result(result) for result in message.tool_results())
                yield from _user(tool_images_as_user_content(message), request.model)


def _user(content: Sequence[Block], model: Model) -> Iterator[Item]:
    shown = (image_or_placeholder(b, model, IMAGE_LIMIT) if isinstance(b, ImageBlock) else b for b in content)
    if parts := [part for block in shown if (part := _part(block))]:
        yield {"role": "user", "content": parts}


def _part(block: Block) -> Item | None:
    match block:
        case TextBlock(text) if text:
            return {"type": "input_text", "text": text}
        case ImageBlock():
            return {"type": "input_image", "detail": "auto", "image_url": data_url(block)}
        case _:
            return None


def _block_items(block: Block, ids: Iterator[str], maker: tuple[str, str]) -> Iterator[Item]:
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
        case ReasoningBlock() if (block.provider, block.model) == maker and block.kind == "server_tool":
            if item := hosted_item(block):
                yield item
        case _:
            pass


def _reasoning(block: ReasoningBlock) -> Iterator[Item]:
    """``summary`` is always present; plain reasoning text without id and seal is not an item of this API."""
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
    text = result_text(result)
    output = f"[error] {text}".rstrip() if result.is_error else text
    return {"type": "function_call_output", "call_id": _call_id(result.call_id), "output": output}


def _call_id(id: str) -> str:
    """Sessions of the reference store ``call|item``; the API expects only the call."""
    return id.partition("|")[0]


# -- the stream -------------------------------------------------------------------------------------------------


class _ResponsesCached(msgspec.Struct, gc=False):
    cached_tokens: Count = None
    cache_write_tokens: Count = None


class _ResponsesReasoned(msgspec.Struct, gc=False):
    reasoning_tokens: Count = None


class _ResponsesUsage(msgspec.Struct, gc=False):
    input_tokens: Count = None
    output_tokens: Count = None
    input_tokens_details: _ResponsesCached | None = None
    output_tokens_details: _ResponsesReasoned | None = None


class _Text(msgspec.Struct, gc=False):
    text: str | None = None
    refusal: str | None = None


class _Action(msgspec.Struct, gc=False):
    query: str | None = None
    url: str | None = None


class _RawItem(msgspec.Struct):
    item: msgspec.Raw


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None
    summary: list[_Text] | None = None
    content: list[_Text] | None = None
    action: _Action | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _ResponsesError(msgspec.Struct, gc=False):
    code: str | int | None = None
    type: str | None = None
    message: str | None = None


class _Response(msgspec.Struct, gc=False):
    status: str | None = None
    usage: _ResponsesUsage | None = None
    error: _ResponsesError | None = None
    incomplete_details: _Incomplete | None = None


class _ResponsesEvent(msgspec.Struct, gc=False):
    type: str = ""
    output_index: int = 0
    delta: str | None = None
    item: _Item | None = None
    response: _Response | None = None
    error: _ResponsesError | None = None
    code: str | int | None = None
    message: str | None = None


_decode = msgspec.json.Decoder(_ResponsesEvent).decode


class OpenAIResponsesDecoder(ResponseBuilder):
    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        super().__init__(request, endpoint)
        self._open: dict[int, Part] = {}
        self._hosted = bool(request.server_tools)
        self._overheard = 0  # characters of thoughts that are not kept
        self._who = "codex" if _is_codex(endpoint) else endpoint.provider

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        if self.finished:
            return []
        try:
            got = _decode(event.data)
        except BAD_JSON:
            return []
        if got.delta is not None:
            return self._delta(got.type, self._open.get(got.output_index), got.delta)
        if got.item is not None:
            out = [] if got.output_index in self._open else self._added(got.output_index, got.item)
            if got.type == "response.output_item.done" and got.item.type == "web_search_call" and self._hosted:
                return self._searched(got.item, event.data)
            if got.type == "response.output_item.done":
                out += self._item_done(self._open.get(got.output_index), got.item)
            return out
        if got.type == "response.reasoning_summary_part.added":
            part = self._open.get(got.output_index)
            return self.think(part, "\n\n") if isinstance(part, ReasoningPart) and any(part.pieces) else []
        return self._ending(got)

    def _delta(self, type: str, part: Part | None, delta: str) -> list[StreamEvent]:
        match type:
            case "response.output_text.delta" | "response.refusal.delta" if isinstance(part, TextPart):
                return self._emit_text(part, delta)
            case "response.function_call_arguments.delta" if isinstance(part, ToolPart):
                part.pieces.append(delta)
                return [ToolArgs(part.id, delta)] if delta else []
            case "response.reasoning_summary_text.delta" if isinstance(part, ReasoningPart):
                return self.think(part, delta) if delta else []
            case "response.reasoning_text.delta":  # open models; it is shown but not sent back
                self._overheard += len(delta)
                return [ThinkingDelta(delta)] if delta else []
            case _:
                pass
        return []

    def _emit_text(self, part: TextPart, text: str) -> list[StreamEvent]:
        if not text:
            return []
        part.pieces.append(text)
        self.has_content = True
        return [TextDelta(text)]

    @property
    def progress(self) -> int:
        return super().progress + self._overheard

    def _added(self, index: int, item: _Item) -> list[StreamEvent]:
        part: Part
        out: list[StreamEvent] = []
        match item.type:
            case "message":
                part = TextPart()
            case "function_call":
                part = ToolPart(item.call_id or item.id or f"call_{index}", item.name or "")
                out = [ToolStarted(part.id, part.name)]
                self.has_content = True
            case "reasoning":
                part = ReasoningPart(self)
                part.id, part.encrypted = item.id or "", [item.encrypted_content or ""]
                out = [ThinkingDelta("")]
            case _:
                return []
        self._open[index] = part
        self.parts.append(part)
        return out

    def _searched(self, item: _Item, data: bytes) -> list[StreamEvent]:
        """A search that the provider made; its item follows the reasoning that led to it."""
        self.searches += 1
        raw = bytes(msgspec.json.decode(data, type=_RawItem).item).decode("utf-8", "replace")
        what = (item.action and (item.action.query or item.action.url)) or ""
        return self.add_server_tool(ServerToolPart(self, item.id or "", raw, f"web_search: {what}"))

    def _item_done(self, part: Part | None, item: _Item) -> list[StreamEvent]:
        """The whole item, used only for parts its deltas did not have."""
        match part:
            case TextPart() if not part.pieces:
                return self._emit_text(part, "".join(c.text or c.refusal or "" for c in item.content or ()))
            case ToolPart():
                out: list[StreamEvent] = []
                if not part.pieces and item.arguments:
                    part.pieces.append(item.arguments)
                    out.append(ToolArgs(part.id, item.arguments))
                return out + self.end_tool(part)
            case ReasoningPart():
                part.id = part.id or item.id or ""
                part.encrypted = [item.encrypted_content] if item.encrypted_content else part.encrypted
                if not any(part.pieces) and (summary := "\n\n".join(s.text or "" for s in item.summary or ())):
                    return self.think(part, summary)
            case _:
                pass
        return []

    def _ending(self, got: _ResponsesEvent) -> list[StreamEvent]:
        response = got.response or _Response()
        match got.type:
            case "response.completed" | "response.done" | "response.incomplete":
                self.usage = _counted(response.usage)
                if got.type == "response.incomplete" or response.status == "incomplete":
                    reason = (response.incomplete_details and response.incomplete_details.reason) or "no reason given"
                    if reason == "max_output_tokens":
                        return self.finish("length")
                    return self._failed(self._who, _ResponsesError(reason, None, f"the answer is incomplete: {reason}"))
                return self.finish("tool_use" if self.tools() else "end")
            case "response.failed" | "response.cancelled":
                self.usage = _counted(response.usage)
                return self._failed(self._who, response.error or _ResponsesError(message=got.type))
            case "error":
                return self._failed(f"{self._who} error", got.error or _ResponsesError(got.code, None, got.message))
            case _:
                return []

    def _failed(self, prefix: str, error: _ResponsesError) -> list[StreamEvent]:
        code = str(error.code or error.type or "error")
        return self.fail(f"{prefix}: {error.message or code}", code)


def _counted(usage: _ResponsesUsage | None) -> Usage:
    if usage is None:
        return Usage()
    prompt = int(usage.input_tokens or 0)
    details = usage.input_tokens_details or _ResponsesCached()
    cached, written = int(details.cached_tokens or 0), int(details.cache_write_tokens or 0)
    reasoned = usage.output_tokens_details and usage.output_tokens_details.reasoning_tokens
    return Usage(
        prompt - cached - written if cached + written <= prompt else prompt,
        int(usage.output_tokens or 0),
        cached,
        written,
        reasoning_tokens=None if reasoned is None else int(reasoned),
    )
