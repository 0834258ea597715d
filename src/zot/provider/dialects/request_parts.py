"""Parts of requests that all dialects share: addresses, headers, bodies, reasoning levels, text of blocks.
``Sent`` caches the encoded messages, so that a step encodes only new ones."""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw

from zot import __version__
from zot.provider.dialects.dialect import Endpoint, ImageLimit
from zot.provider.http.message import HttpRequest
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
from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.model_call import Request

_Headers = list[tuple[str, str]]

# Claude's thinking budgets in tokens; "max" is whatever leaves _ROOM for the answer.
THINKING_BUDGETS = {"minimum": "1024", "low": "2048", "medium": "8192", "high": "16384", "xhigh": "32768", "max": "max"}
NOT_THINKING = {"type": "disabled"}
_ROOM = 4096
_LEAST_BUDGET = 1024
_UNKNOWN_BUDGET = 32768


_WITHOUT_VERSION = (".githubcopilot.com", "//copilot-api")


def address(base: str, path: str) -> str:
    """``path`` below ``/v1``, unless the base ends in a version (``/v1beta``, ``/v1/openai``) or is an Azure
    deployment."""
    base, question, query = base.partition("?")
    base = base.rstrip("/")
    if question:
        path, _, more = path.partition("?")
        query = f"?{query}&{more}" if more else f"?{query}"
    _, slash, last = base.removesuffix("/openai").rpartition("/")
    versioned = is_version(last) if slash else False
    exact = versioned or "/deployments/" in base or base.endswith(_WITHOUT_VERSION)
    return f"{base}/{path}{query}" if exact else f"{base}/v1/{path}{query}"


def is_version(segment: str) -> bool:
    """True if a path segment is a version: ``v1``, ``v1beta``, ``v2_1``."""
    return segment[:1] == "v" and segment[1:2].isdecimal() and segment.replace("_", "").isalnum()


def post(
    url: str, endpoint: Endpoint, own: _Headers, body: dict[str, Any], accept: str = "text/event-stream"
) -> HttpRequest:
    """A request answered by a stream of events; ``own`` are the dialect's headers."""
    lead = [("content-type", "application/json"), ("accept", accept)]
    for option in endpoint.omitted:
        body = _without(body, option.split("."))
    return HttpRequest("POST", url, _headers(endpoint, lead, own), encode_body(body))


def _without(fields: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """The fields without the one at ``path``, and without objects that this leaves empty."""
    name, *rest = path
    inner = fields.get(name)
    if rest and isinstance(inner, dict):
        changed = _without(cast("dict[str, Any]", inner), rest)
        return fields | {name: changed} if changed else _without(fields, [name])
    return fields if rest else {key: value for key, value in fields.items() if key != name}


def get(url: str, endpoint: Endpoint, own: _Headers) -> HttpRequest:
    return HttpRequest("GET", url, _headers(endpoint, [("accept", "application/json")], own), b"")


def _headers(endpoint: Endpoint, lead: _Headers, own: _Headers) -> _Headers:
    """The endpoint's headers come last and override ours."""
    endpoint_headers = {name.lower(): value for name, value in endpoint.headers.items()}
    zot_headers = [*lead, ("user-agent", f"zot/{__version__}"), *own]
    return [(name, value) for name, value in zot_headers if name not in endpoint_headers] + list(
        endpoint_headers.items()
    )


def bearer(endpoint: Endpoint) -> _Headers:
    return key_in(endpoint, "authorization")


def key_in(endpoint: Endpoint, header: str) -> _Headers:
    """The key in the endpoint's header, else the dialect's; none for servers without keys."""
    if not endpoint.api_key:
        return []
    header = "authorization" if endpoint.oauth else endpoint.key_header or header
    return [(header, f"Bearer {endpoint.api_key}" if header == "authorization" else endpoint.api_key)]


def encode_body(body: dict[str, Any]) -> bytes:
    """Compact JSON. Invalid Unicode (half a surrogate pair from a file) must not end the session."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(_repaired(body))


def _repaired(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        case dict():
            return {_repaired(key): _repaired(item) for key, item in cast("dict[Any, Any]", value).items()}
        case list() | tuple():
            return [_repaired(item) for item in cast("list[Any]", value)]
        case _:
            return value


def reasoning_setting(request: Request, levels: Mapping[str, str]) -> str:
    """The vendor's word for the reasoning level, or "". The model's own table replaces ``levels`` of the dialect.
    For a model that always reasons, "off" is its lowest level."""
    model = request.model
    if not model.reasoning or not request.reasoning:
        return ""
    levels = model.reasoning_levels or levels
    if request.reasoning == "off" and ("off" in levels or model.can_skip_reasoning is not False):
        return levels.get("off", "")
    level = nearest_level(request.reasoning, levels)
    return levels[level] if level else ""


def thinking_fields(request: Request, max_tokens: int) -> tuple[dict[str, Any], int]:
    """Thinking fields for Claude and the output limit. A model that decides itself how long to think gets an effort,
    others a budget. The former thinks by default and omits its thoughts unless a summary is requested."""
    model, value = request.model, reasoning_setting(request, THINKING_BUDGETS)
    if model.reasoning_style == "adaptive" or (value and value != "max" and not value.isdigit()):
        if request.reasoning == "off" and not value:
            return {"thinking": NOT_THINKING}, max_tokens
        if not value and model.can_skip_reasoning is not False:
            return {}, max_tokens
        fields: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
        return (fields | {"output_config": {"effort": value}} if value else fields), max_tokens
    if not value:
        return {}, max_tokens
    tokens = thinking_budget(value, model)
    if not tokens:
        return {}, max_tokens
    limit = max_tokens if max_tokens > tokens else tokens + _ROOM
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}, limit


_BYTES_PER_TOKEN = 3  # fewer than in most texts, so that the input is not underestimated
_LEAST_SHARE = 8  # images count by their bytes; the answer keeps this part of the window


def output_limit(request: Request, sent: int) -> int:
    """The longest answer, for servers that reject one which could exceed the window; ``sent`` is the input in bytes."""
    limit, window = request.max_tokens or request.model.max_output, request.model.context_window
    if not window or limit + sent // _BYTES_PER_TOKEN <= window:
        return limit
    return min(limit, max(window - sent // _BYTES_PER_TOKEN, window // _LEAST_SHARE))


def temperature_field(request: Request) -> dict[str, float]:
    """The temperature, unless the model rejects one."""
    if request.temperature is None or request.model.temperature is False:
        return {}
    return {"temperature": request.temperature}


def thinking_budget(value: str, model: Model) -> int:
    """A budget in tokens, capped so that an answer still fits; 0 if there is no space to think."""
    cap = model.max_output - _ROOM if model.max_output else _UNKNOWN_BUDGET
    if cap < _LEAST_BUDGET:
        return 0
    return cap if value == "max" else min(int(value), cap)


_LONG_CACHE_OPTIONS = r"gpt-(?:5\.[6-9]|[6-9]|[1-9]\d)"  # models with ``prompt_cache_options``


def serving_fields(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    """OpenAI's fields for the service tier and the lifetime of cached prompts."""
    fields: dict[str, Any] = {"service_tier": endpoint.service_tier} if endpoint.service_tier else {}
    if endpoint.long_cache and endpoint.provider.startswith(("openai", "azure")):
        newer = re.match(_LONG_CACHE_OPTIONS, request.model.id) is not None
        fields |= {"prompt_cache_options": {"ttl": "30m"}} if newer else {"prompt_cache_retention": "24h"}
    return fields


def nearest_level(level: str, levels: Mapping[str, str]) -> str:
    """The nearest level in ``levels``, of two equally near the lower; never "off"."""
    wanted = REASONING_LEVELS.index(level)
    present = [i for i, name in enumerate(REASONING_LEVELS) if name in levels and name != "off"]
    nearest = min(present, key=lambda i: (abs(i - wanted), i), default=None)
    return "" if nearest is None else REASONING_LEVELS[nearest]


def arguments_text(call: ToolCallBlock) -> str:
    """The arguments if they are a JSON object, else ``{}``: a broken call must not invalidate the transcript."""
    return call.arguments if isinstance(call.value, dict) else "{}"


def joined(blocks: Iterable[object]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def image_or_placeholder(block: ImageBlock, model: Model, limit: ImageLimit) -> ResultBlock:
    """The image for this model; a model without vision gets a line instead."""
    if "image" not in model.input:
        return TextBlock(f"[image omitted: {model.id} accepts no images]")
    from zot.provider.images import fitted  # most conversations have no image

    return fitted(block, limit)


def named_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's form of an answer's schema; it is enforced if every object names all of its properties as required."""
    return {"name": "answer", "schema": schema, "strict": _is_closed(schema)}


def _is_closed(schema: object) -> bool:
    if isinstance(schema, list):
        return all(_is_closed(each) for each in cast("list[object]", schema))
    if not isinstance(schema, dict):
        return True
    fields = cast("dict[str, Any]", schema)
    properties = fields.get("properties")
    if fields.get("type") == "object" or isinstance(properties, dict):
        named = set(cast("dict[str, Any]", properties or {}))
        if fields.get("additionalProperties") is not False or named != set(fields.get("required", ())):
            return False
    return all(_is_closed(each) for each in fields.values())


def hosted_item(block: ReasoningBlock) -> dict[str, Any] | None:
    """What the provider sent of a tool that it ran itself; None if a damaged session has no object."""
    try:
        return msgspec.json.decode(block.encrypted_content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def data_url(block: ImageBlock) -> str:
    return f"data:{block.mime_type};base64,{b2a_base64(block.data, newline=False).decode('ascii')}"


def result_text(result: ToolResultBlock) -> str:
    """A tool result where only text is allowed: a line replaces its images (see ``mirror``)."""
    text = joined(result.content)
    count = sum(isinstance(block, ImageBlock) for block in result.content)
    instead = f"[{count} image{'s' if count > 1 else ''}: see the next user message]" if count else ""
    return "\n".join(part for part in (text, instead) if part)


def tool_images_as_user_content(message: Message) -> tuple[ResultBlock, ...]:
    """The images of a tool message as user content, for APIs whose tool results are text; empty without images."""
    images = tuple(
        block for result in message.tool_results() for block in result.content if isinstance(block, ImageBlock)
    )
    return (TextBlock("Images from the tool results above:"), *images) if images else ()


class WireMessageCache:
    """Cache of encoded messages of the last request, one per client.
    Messages are immutable, so their encoding is valid for the same model; memory follows the transcript."""

    def __init__(self) -> None:
        self.repaired = TranscriptRepair()
        self._whom: object = None
        self._messages: tuple[Message, ...] = ()
        self._items: list[list[Raw]] = []

    def items(
        self, messages: Sequence[Message], whom: object, wire: Callable[[Message], Iterable[dict[str, Any]]]
    ) -> list[Raw]:
        """The wire items of these messages, in order; ``whom`` identifies everything else ``wire`` depends on."""
        return [item for items in self.by_message(messages, whom, wire) for item in items]

    def by_message(
        self, messages: Sequence[Message], whom: object, wire: Callable[[Message], Iterable[dict[str, Any]]]
    ) -> list[list[Raw]]:
        messages = tuple(messages)
        if whom != self._whom:
            self._whom, self._messages, self._items = whom, (), []
        begun = len(self._messages)
        if messages[:begun] == self._messages:
            self._items = [*self._items, *(_encoded(message, wire) for message in messages[begun:])]
        else:
            known = dict(zip(map(id, self._messages), self._items, strict=True))
            self._items = [known.get(id(message)) or _encoded(message, wire) for message in messages]
        self._messages = messages
        return self._items


def _encoded(message: Message, wire: Callable[[Message], Iterable[dict[str, Any]]]) -> list[Raw]:
    return [Raw(encode_body(item)) for item in wire(message)]


# Repairs a transcript so that every provider accepts it: each call has exactly one result, directly after it.

MISSING_RESULT = "The call was aborted without a recorded result."


class TranscriptRepair:
    """For successive requests: parts that were valid last time are not checked again."""

    def __init__(self) -> None:
        self._settled: tuple[Message, ...] = ()  # up to here every call has its result
        self._made: tuple[Message, ...] = ()

    def __call__(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages without orphan results and empty messages, with a stub per unanswered call.
        Valid messages are returned unchanged; a result counts only in the tool messages directly after the calls."""
        messages = tuple(messages)
        settled = len(self._settled)
        if messages[:settled] != self._settled:
            settled, self._made = 0, ()
        out = list(self._made)
        made = len(out)
        waiting = _UnansweredCalls()
        for place in range(settled, len(messages)):
            message = messages[place]
            if message.role == "tool":
                message = waiting.answer(message)
            else:
                if waiting:
                    _fill(out, waiting.ids())
                if ToolResultBlock in map(type, message.content):
                    message = _with_blocks(
                        message, [not isinstance(block, ToolResultBlock) for block in message.content]
                    )
                waiting = _UnansweredCalls(block.id for block in message.content if isinstance(block, ToolCallBlock))
            if message.content:
                out.append(message)
            if not waiting:
                settled, made = place + 1, len(out)
        self._settled, self._made = messages[:settled], tuple(out[:made])
        if waiting:
            _fill(out, waiting.ids())
        return tuple(out)


def repaired(messages: Sequence[Message]) -> tuple[Message, ...]:
    return TranscriptRepair()(messages)


class _UnansweredCalls:
    """Ids of calls still without result, in order; small servers repeat ids, so they are counted.
    Each result costs one step, also if every one is in its own message."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._ids = list(ids)
        self._answered = 0  # of the counted ones
        self._counts: dict[str, int] | None = None

    def __bool__(self) -> bool:
        return len(self._ids) > self._answered

    def ids(self) -> list[str]:
        if self._counts is None:
            return self._ids
        left: list[str] = []
        counts = self._counts.copy()
        for id in reversed(self._ids):  # of a repeated id, the first was answered
            if counts[id]:
                counts[id] -= 1
                left.append(id)
        return left[::-1]

    def answer(self, message: Message) -> Message:
        """The message without results of other calls."""
        if self._counts is None:
            if self._ids == [b.call_id if isinstance(b, ToolResultBlock) else None for b in message.content]:
                self._answered = len(self._ids)
                self._counts = dict.fromkeys(self._ids, 0)
                return message  # the usual case: every step passes the whole transcript
            self._counts = {}
            for id in self._ids:
                self._counts[id] = self._counts.get(id, 0) + 1
        return _with_blocks(message, [self._take(block) for block in message.content])

    def _take(self, block: Block) -> bool:
        if not isinstance(block, ToolResultBlock):
            return True
        if not self._counts or not self._counts.get(block.call_id):
            return False
        self._counts[block.call_id] -= 1
        self._answered += 1
        return True


def _with_blocks(message: Message, keep: list[bool]) -> Message:
    if all(keep):
        return message
    kept = tuple(block for block, wanted in zip(message.content, keep, strict=True) if wanted)
    return msgspec.structs.replace(message, content=kept)


def _fill(out: list[Message], waiting: list[str]) -> None:
    """Add stubs to the existing tool message, or to a new one with the time of the calls."""
    stubs = tuple(ToolResultBlock(id, (TextBlock(MISSING_RESULT),), is_error=True) for id in waiting)
    last = out[-1]
    if last.role == "tool":
        out[-1] = msgspec.structs.replace(last, content=last.content + stubs)
    else:
        out.append(Message("tool", stubs, last.time))
