"""The Google Gemini dialect (``streamGenerateContent``), for the Gemini API and Vertex AI.
A thought signature is sent back with its part, in a reasoning block after that part. A stream ends with the
connection after a finish reason."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from zot.provider.dialects.dialect import Decoder, Endpoint, ImageLimit, ListedModel
from zot.provider.dialects.request_parts import (
    WireMessageCache,
    arguments_text,
    get,
    hosted_item,
    image_or_placeholder,
    is_version,
    joined,
    key_in,
    post,
    reasoning_setting,
    result_text,
    temperature_field,
    tool_images_as_user_content,
)
from zot.provider.dialects.response_builder import (
    BAD_JSON,
    Count,
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
    StopReason,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
)
from zot.provider.model import Model
from zot.provider.model_call import Request, StreamEvent, TextDelta, ToolArgs, ToolEnded, ToolStarted

_Part = dict[str, Any]

# Gemini 3 and later; earlier models use a number of tokens.
LEVELS = {"low": "low", "medium": "medium", "high": "high"}
_BUDGETS = {"minimal": 512, "low": 2048, "medium": 8192, "high": 24576}

IMAGE_LIMIT = ImageLimit(3072, 7 * 1024 * 1024)

# Documented for calls of another model: Gemini 3 rejects a call of the current turn without signature.
_NO_SIGNATURE = "skip_thought_signature_validator"

_SERVER_TOOLS = {"web_search": "googleSearch", "web_fetch": "urlContext"}
_OUR_ID = re.compile(r"call_\d+_\d+")
_PLACE = re.compile(r"text:(\d{1,9})-(\d{1,9})")
_EARLIER = re.compile(r"(?:.*/)?gemini-[12](?:\.|-)")


class GeminiDialect:
    levels = LEVELS
    frames = SseParser

    def __init__(self) -> None:
        self._sent = WireMessageCache()

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        model = quote(request.model.id.removeprefix("models/"), safe="")
        url = _address(endpoint.base_url, f"models/{model}:streamGenerateContent?alt=sse")
        return post(url, endpoint, _auth(endpoint), _body(request, endpoint, self._sent))

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        return GeminiDecoder(request, endpoint)

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        url = _address(endpoint.base_url, "models?pageSize=1000")
        return get(f"{url}&pageToken={quote(after, safe='')}" if after else url, endpoint, _auth(endpoint))

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        from zot.provider.dialects.model_list import gemini_models

        return gemini_models(page)

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        return get(_address(endpoint.base_url, "models?pageSize=1"), endpoint, _auth(endpoint))


# -- the request ------------------------------------------------------------------------------------------------


def _auth(endpoint: Endpoint) -> list[tuple[str, str]]:
    return key_in(endpoint, "x-goog-api-key")


def _address(base: str, path: str) -> str:
    """``path`` below ``/v1beta``, unless the base has a version (as for Vertex AI)."""
    base = base.rstrip("/")
    versioned = any(is_version(segment) for segment in base.partition("://")[2].split("/")[1:])
    return f"{base}/{path}" if versioned else f"{base}/v1beta/{path}"


def _body(request: Request, endpoint: Endpoint, sent: WireMessageCache) -> dict[str, Any]:
    body: dict[str, Any] = {"serviceTier": endpoint.service_tier} if endpoint.service_tier else {}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    body["contents"] = _contents(request, endpoint.provider, sent)
    if request.tools:
        from zot.provider.dialects.gemini_schema import accepted

        declared: list[dict[str, Any]] = []
        for tool in sorted(request.tools, key=lambda tool: tool.name):
            declared.append({"name": tool.name, "description": tool.description})
            if schema := accepted(tool.schema):
                declared[-1]["parameters"] = schema
        body["tools"] = [{"functionDeclarations": declared}]
    if request.server_tools and not _is_earlier(request.model):  # earlier models take them or functions, not both
        hosted = [_SERVER_TOOLS[name] for name in request.server_tools if name in _SERVER_TOOLS]
        body.setdefault("tools", []).extend({name: dict[str, Any]()} for name in hosted)
        body["toolConfig"] = {"includeServerSideToolInvocations": True}
    config: dict[str, Any] = {}
    if limit := request.max_tokens or request.model.max_output:
        config["maxOutputTokens"] = limit
    config |= temperature_field(request)
    if value := reasoning_setting(request, LEVELS) or _budget_off(request):
        config["thinkingConfig"] = _thinking(value, request.model)
    if request.output_schema and not (request.tools and _is_earlier(request.model)):  # those have functions or a schema
        config |= {"responseMimeType": "application/json", "responseJsonSchema": request.output_schema}
    if config:
        body["generationConfig"] = config
    return body


def _thinking(value: str, model: Model) -> dict[str, Any]:
    """A number is a budget, 0 disables thinking; a word is the level of a model that budgets itself."""
    if _is_earlier(model):
        value = str(_BUDGETS.get(value, value))
    if value.removeprefix("-").isdigit():
        return {"thinkingBudget": int(value), "includeThoughts": value != "0"}
    return {"thinkingLevel": value, "includeThoughts": True}


def _budget_off(request: Request) -> str:
    """A budget of 0 disables thinking, which is on by default."""
    model = request.model
    off = request.reasoning == "off" and model.reasoning_style == "budget" and model.can_skip_reasoning
    return "0" if off else ""


def _is_earlier(model: Model) -> bool:
    """True for models before Gemini 3 and other models."""
    return "gemini-" not in model.id or _EARLIER.match(model.id) is not None


def _contents(request: Request, provider: str, sent: WireMessageCache) -> list[msgspec.Raw]:
    messages, model = _turns(sent.repaired(request.messages)), request.model
    names = _names(messages)

    def wire(message: Message) -> list[dict[str, Any]]:
        match message.role:
            case "user":
                contents = [("user", _shown(message.content, model))]
            case "assistant":
                contents = [("model", _model_parts(message.content, model, provider))]
            case "tool":
                contents = _answered(message, model, names[id(message)])
        return [{"role": role, "parts": parts} for role, parts in contents if parts]

    return sent.items(messages, (provider, model), wire)


def _turns(messages: Sequence[Message]) -> list[Message]:
    """All results of one step are in one message: as many as calls, or the request is rejected."""
    turns: list[Message] = []
    for message in messages:
        if message.role == "tool" and turns and turns[-1].role == "tool":
            turns[-1] = msgspec.structs.replace(turns[-1], content=turns[-1].content + message.content)
        else:
            turns.append(message)
    return turns


def _names(messages: Sequence[Message]) -> dict[int, dict[str, str]]:
    """For each message of results the function names by call id."""
    found: dict[int, dict[str, str]] = {}
    calls: dict[str, str] = {}
    for message in messages:
        if message.role == "tool":
            found[id(message)] = calls
        else:
            calls = {call.id: call.name for call in message.tool_calls()}
    return found


def _shown(content: Sequence[Block], model: Model) -> list[_Part]:
    """Text and images of a user; empty text is rejected."""
    seen = [image_or_placeholder(b, model, IMAGE_LIMIT) if isinstance(b, ImageBlock) else b for b in content]
    return [part for block in seen if (part := _plain(block))]


def _plain(block: Block) -> _Part | None:
    match block:
        case TextBlock(text) if text:
            return {"text": text}
        case ImageBlock():
            return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}
        case _:
            return None


def _model_parts(content: Sequence[Block], model: Model, provider: str) -> list[_Part]:
    """The model's parts, each with its signature."""
    parts: list[_Part] = []
    start = 0  # offset of the last text part in its block
    for block in content:
        match block:
            case TextBlock(text) if text:
                parts.append({"text": text})
                start = 0
            case ToolCallBlock():
                parts.append(_call(block))
            case ReasoningBlock() if (block.provider, block.model) != (provider, model.id):
                pass
            case ReasoningBlock(kind="server_tool"):
                parts += [part] if (part := hosted_item(block)) else []
            case ReasoningBlock():
                start = _sign(parts, block, start)
            case _:
                pass
    if not _is_earlier(model):
        for call in [part for part in parts if "functionCall" in part][:1]:
            call.setdefault("thoughtSignature", _NO_SIGNATURE)
    return parts


def _call(call: ToolCallBlock) -> _Part:
    arguments = msgspec.Raw(arguments_text(call).encode("utf-8", "replace"))
    return {"functionCall": {**_own_id(call.id), "name": call.name, "args": arguments}}


def _own_id(id: str) -> dict[str, str]:
    return {} if _OUR_ID.fullmatch(id) else {"id": id}


def _sign(parts: list[_Part], block: ReasoningBlock, start: int) -> int:
    """Attach a signature to its part; returns the offset of the last text part.
    Thoughts without a signature are not sent."""
    seal = {"thoughtSignature": block.encrypted_content}
    place = _PLACE.fullmatch(block.reasoning_id)
    if not block.encrypted_content:
        return start
    if block.reasoning_id == "call" and parts and "functionCall" in parts[-1]:
        parts[-1] |= seal
    elif block.reasoning_id == "thought":
        parts.append({"text": block.summary, "thought": True, **seal})
    elif place is not None:
        text = parts.pop()["text"] if parts and parts[-1].keys() == {"text"} else ""
        low = max(int(place[1]) - start, 0)
        high = max(int(place[2]) - start, low)
        before, signed, after = text[:low], text[low:high], text[high:]
        parts += [{"text": before}] if before else []
        parts.append({"text": signed, **seal})
        parts += [{"text": after}] if after else []
        return int(place[2])
    return start


def _answered(message: Message, model: Model, names: Mapping[str, str]) -> list[tuple[str, list[_Part]]]:
    """The results; images inside them for models that support it, after them for earlier ones."""
    inside = not _is_earlier(model)
    results = [_result(result, model, names, inside=inside) for result in message.tool_results()]
    behind = [] if inside else _shown(tool_images_as_user_content(message), model)
    return [("user", results), ("user", behind)]


def _result(result: ToolResultBlock, model: Model, names: Mapping[str, str], *, inside: bool) -> _Part:
    images = _shown([block for block in result.content if isinstance(block, ImageBlock)], model)
    text = joined(result.content) if inside else result_text(result)
    wire: dict[str, Any] = {
        **_own_id(result.call_id),
        "name": names.get(result.call_id, "unknown"),
        "response": {"error" if result.is_error else "output": text},
    }
    if inside and images:
        wire["parts"] = images
    return {"functionResponse": wire}


# -- the stream -------------------------------------------------------------------------------------------------

_STOPS: dict[str, StopReason] = {"STOP": "end", "MAX_TOKENS": "length"}
_MALFORMED = ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")


class _FunctionCall(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"")


class _HostedArguments(msgspec.Struct):
    queries: list[str] | None = None
    urls: list[str] | None = None


class _HostedCall(msgspec.Struct, rename="camel"):
    """A tool that Google runs, or its result."""

    id: str | None = None
    tool_type: str | None = None
    args: _HostedArguments | None = None


class _PartOfAnswer(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None
    tool_call: _HostedCall | None = None
    tool_response: _HostedCall | None = None


class _Content(msgspec.Struct):
    parts: list[_PartOfAnswer] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _GeminiUsage(msgspec.Struct, gc=False, rename="camel"):
    prompt_token_count: Count = None
    candidates_token_count: Count = None
    cached_content_token_count: Count = None
    thoughts_token_count: Count = None
    tool_use_prompt_token_count: Count = None


class _Feedback(msgspec.Struct, gc=False, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _GeminiError(msgspec.Struct, gc=False):
    code: str | int | None = None
    message: str | None = None
    status: str | None = None


class _GeminiChunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _GeminiUsage | None = None
    prompt_feedback: _Feedback | None = None
    error: _GeminiError | None = None


class _RawContent(msgspec.Struct):
    parts: list[msgspec.Raw]


class _RawCandidate(msgspec.Struct):
    content: _RawContent


class _RawChunk(msgspec.Struct):
    candidates: list[_RawCandidate]


_decode = msgspec.json.Decoder(_GeminiChunk).decode


class GeminiDecoder(ResponseBuilder):
    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        super().__init__(request, endpoint)
        self._turn = len(request.messages)
        self._text: TextPart | None = None
        self._length = 0  # characters of it
        self._thought: ReasoningPart | None = None
        self._calls = 0
        self._finish = ""
        self._why = ""

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        if self.finished:
            return []
        try:
            chunk = _decode(event.data)
        except BAD_JSON:
            return []
        if chunk.usage_metadata is not None:
            self.usage = _counted(chunk.usage_metadata)
        if chunk.error is not None:
            code = str(chunk.error.code or chunk.error.status or "error")
            status, message = chunk.error.status or code, chunk.error.message or "no message"
            return self.fail(f"{self.provider} {status}: {message}", code)
        out: list[StreamEvent] = []
        for candidate in (chunk.candidates or ())[:1]:
            for place, part in enumerate((candidate.content and candidate.content.parts) or ()):
                hosted = part.tool_call or part.tool_response
                out += self._part(part) if hosted is None else self._hosted(hosted, place, event.data)
            if candidate.finish_reason:
                self._finish, self._why = candidate.finish_reason, candidate.finish_message or ""
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._finish = f"PROMPT_{chunk.prompt_feedback.block_reason}"
            self._why = chunk.prompt_feedback.block_reason_message or ""
        return out

    def _hosted(self, call: _HostedCall, place: int, data: bytes) -> list[StreamEvent]:
        """A tool that Google ran, or its result: the part goes back as it came."""
        candidates = msgspec.json.decode(data, type=_RawChunk).candidates
        raw = bytes(candidates[0].content.parts[place]).decode("utf-8", "replace")
        asked = (call.args.queries or call.args.urls or []) if call.args is not None else []
        self.searches += len((call.args and call.args.queries) or ())
        self._text = self._thought = None
        summary = f"{call.tool_type or 'tool'}: {', '.join(asked)}" if asked else ""
        return self.add_server_tool(ServerToolPart(self, call.id or "", raw, summary))

    def _part(self, part: _PartOfAnswer) -> list[StreamEvent]:
        seal = part.thought_signature or ""
        if part.function_call is not None:
            out = self._call(part.function_call)
            self._seal("call", seal)
            return out
        text = part.text or ""
        if part.thought:
            if self._thought is None:
                self._thought = ReasoningPart(self, "thinking")
                self._text = None
                self.parts.append(self._thought)
            thought = self._thought
            if seal:
                thought.id, thought.encrypted, self._thought = "thought", [seal], None
            return self.think(thought, text) if text else []
        if not text and not seal:
            return []
        if self._text is None:
            self._text, self._length, self._thought = TextPart(), 0, None
            self.parts.append(self._text)
        begin, self._length = self._length, self._length + len(text)
        if text:
            self._text.pieces.append(text)
            self.has_content = True
        self._seal(f"text:{begin}-{self._length}", seal)
        return [TextDelta(text)] if text else []

    def _call(self, call: _FunctionCall) -> list[StreamEvent]:
        """The whole call. One without an id gets a deterministic one."""
        tool = ToolPart(call.id or f"call_{self._turn}_{self._calls}", call.name or "")
        arguments = bytes(call.args).decode("utf-8", "replace").strip()
        tool.pieces = [arguments if arguments not in ("", "null") else "{}"]
        tool.ended = self.has_content = True
        self._calls += 1
        self._text = self._thought = None
        self.parts.append(tool)
        return [ToolStarted(tool.id, tool.name), ToolArgs(tool.id, tool.pieces[0]), ToolEnded(tool.id)]

    def _seal(self, place: str, signature: str) -> None:
        if signature:
            part = ReasoningPart(self, "thinking")
            part.id, part.encrypted = place, [signature]
            self.parts.append(part)

    def _done(self) -> list[StreamEvent]:
        if self._finish in _MALFORMED:
            text = f"{self.provider} {self._finish}: {self._why or 'the model made a malformed call'}"
            return self.fail(text, self._finish)
        stop = _STOPS.get(self._finish)
        if stop is None and self._finish not in ("FINISH_REASON_UNSPECIFIED", "OTHER"):
            why = f": {self._why}" if self._why else ""
            text = f"{self.provider}: the answer was stopped by the provider's content filter ({self._finish}){why}"
            return self.fail(text, "content_filter")
        if stop is None and not self.has_content:
            return self.fail(f"{self.provider} {self._finish}: {self._why or 'no answer, and no reason given'}", "500")
        return self.finish("tool_use" if stop != "length" and self.tools() else stop or "end")

    def end_of_input(self) -> list[StreamEvent]:
        return self._done() if self._finish and not self.finished else super().end_of_input()


def _counted(usage: _GeminiUsage) -> Usage:
    """The prompt count includes cached tokens; the answer count excludes thoughts."""
    prompt = int(usage.prompt_token_count or 0) + int(usage.tool_use_prompt_token_count or 0)
    cached = int(usage.cached_content_token_count or 0)
    thoughts = usage.thoughts_token_count
    return Usage(
        prompt - cached if cached <= prompt else prompt,
        int(usage.candidates_token_count or 0) + int(thoughts or 0),
        cached,
        reasoning_tokens=None if thoughts is None else int(thoughts),
    )
