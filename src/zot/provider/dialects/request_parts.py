"""What the requests of all dialects share: addresses, headers, bodies, reasoning levels, and blocks as text.

``Sent`` remembers what the last request said of each message, so that a step encodes only what is new.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw

from zot import __version__
from zot.provider.dialects.dialect import Endpoint, ImageLimit
from zot.provider.http.message import HttpRequest
from zot.provider.messages import ImageBlock, Message, ResultBlock, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.model_call import Request
from zot.provider.transcript_repair import Repair

_Headers = list[tuple[str, str]]

# Claude's thinking budgets in tokens; "max" is whatever leaves _ROOM for the answer.
THINKING_BUDGETS = {"minimum": "1024", "low": "2048", "medium": "8192", "high": "16384", "xhigh": "32768", "max": "max"}
_ROOM = 4096
_LEAST_BUDGET = 1024
_UNKNOWN_BUDGET = 32768


def address(base: str, path: str) -> str:
    """``path`` behind ``/v1``, unless the base already ends in a version (``/v1beta``, ``/v1/openai``) or names a
    deployment of Azure's, which has its version in the query."""
    base, question, query = base.partition("?")
    base = base.rstrip("/")
    if question:
        path, _, more = path.partition("?")
        query = f"?{query}&{more}" if more else f"?{query}"
    _, slash, last = base.removesuffix("/openai").rpartition("/")
    versioned = is_version(last) if slash else False
    return f"{base}/{path}{query}" if versioned or "/deployments/" in base else f"{base}/v1/{path}{query}"


def is_version(segment: str) -> bool:
    """Whether a piece of a path is one: ``v1``, ``v1beta``, ``v2_1``."""
    return segment[:1] == "v" and segment[1:2].isdecimal() and segment.replace("_", "").isalnum()


def post(
    url: str, endpoint: Endpoint, own: _Headers, body: dict[str, Any], accept: str = "text/event-stream"
) -> HttpRequest:
    """A request answered by a stream of events; ``own`` are the dialect's headers."""
    lead = [("content-type", "application/json"), ("accept", accept)]
    return HttpRequest("POST", url, _headers(endpoint, lead, own), encode_body(body))


def get(url: str, endpoint: Endpoint, own: _Headers) -> HttpRequest:
    """A request answered by a JSON document."""
    return HttpRequest("GET", url, _headers(endpoint, [("accept", "application/json")], own), b"")


def _headers(endpoint: Endpoint, lead: _Headers, own: _Headers) -> _Headers:
    """The endpoint's headers come last and win over ours."""
    theirs = {name.lower(): value for name, value in endpoint.headers.items()}
    ours = [*lead, ("user-agent", f"zot/{__version__}"), *own]
    return [(name, value) for name, value in ours if name not in theirs] + list(theirs.items())


def bearer(endpoint: Endpoint) -> _Headers:
    """The authorization header; none for servers that need no key."""
    return key_in(endpoint, "authorization")


def key_in(endpoint: Endpoint, header: str) -> _Headers:
    """The key in the header the endpoint wants it in, else in the dialect's; none for servers that need no key."""
    if not endpoint.api_key:
        return []
    header = "authorization" if endpoint.oauth else endpoint.key_header or header
    return [(header, f"Bearer {endpoint.api_key}" if header == "authorization" else endpoint.api_key)]


def encode_body(body: dict[str, Any]) -> bytes:
    """Compact JSON. Text that is not Unicode (half a surrogate pair from some file) must not end the session."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(_mended(body))


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        case dict():
            return {_mended(key): _mended(item) for key, item in cast("dict[Any, Any]", value).items()}
        case list() | tuple():
            return [_mended(item) for item in cast("list[Any]", value)]
        case _:
            return value


def reasoning_setting(request: Request, levels: Mapping[str, str]) -> str:
    """What the vendor calls the level asked for; empty when none is asked for or the model cannot reason.

    ``levels`` is the dialect's table; the model's own, if it has one, takes its place.
    """
    model = request.model
    if not model.reasoning or not request.reasoning:
        return ""
    levels = model.reasoning_levels or levels
    if request.reasoning == "off":
        return levels.get("off", "")
    level = nearest_level(request.reasoning, levels)
    return levels[level] if level else ""


def thinking_fields(request: Request, max_tokens: int) -> tuple[dict[str, Any], int]:
    """How Claude is asked to think, and the output limit that leaves room for it. A number is a budget; a word is the
    effort of a model that budgets for itself."""
    value = reasoning_setting(request, THINKING_BUDGETS)
    if value == "max" or value.isdigit():
        tokens = thinking_budget(value, request.model)
        if not tokens:
            return {}, max_tokens
        limit = max_tokens if max_tokens > tokens else tokens + _ROOM
        return {"thinking": {"type": "enabled", "budget_tokens": tokens}}, limit
    return ({"thinking": {"type": "adaptive"}, "output_config": {"effort": value}} if value else {}), max_tokens


def thinking_budget(value: str, model: Model) -> int:
    """A budget in tokens, capped so that an answer still fits; 0 when the model has no room to think."""
    cap = model.max_output - _ROOM if model.max_output else _UNKNOWN_BUDGET
    if cap < _LEAST_BUDGET:
        return 0
    return cap if value == "max" else min(int(value), cap)


def nearest_level(level: str, levels: Mapping[str, str]) -> str:
    """The nearest level in ``levels``, of two equally near ones the lower; "off" is never the nearest."""
    wanted = REASONING_LEVELS.index(level)
    present = [i for i, name in enumerate(REASONING_LEVELS) if name in levels and name != "off"]
    nearest = min(present, key=lambda i: (abs(i - wanted), i), default=None)
    return "" if nearest is None else REASONING_LEVELS[nearest]


def arguments_text(call: ToolCallBlock) -> str:
    """The arguments when they are a JSON object, else ``{}``: a broken call must not poison the transcript."""
    return call.arguments if isinstance(call.value, dict) else "{}"


def joined(blocks: Iterable[object]) -> str:
    """The text blocks, one below the other."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def visible(block: ImageBlock, model: Model, limit: ImageLimit) -> ResultBlock:
    """The image as this model may get it; a model without eyes gets a line saying so."""
    if "image" not in model.input:
        return TextBlock(f"[image left out: {model.id} takes no images]")
    from zot.provider.images import fitted  # most conversations have no picture

    return fitted(block, limit)


def data_url(block: ImageBlock) -> str:
    return f"data:{block.mime_type};base64,{b2a_base64(block.data, newline=False).decode('ascii')}"


def result_text(result: ToolResultBlock) -> str:
    """A tool result where only text may stand: a line takes the place of its images (see ``mirror``)."""
    text = joined(result.content)
    count = sum(isinstance(block, ImageBlock) for block in result.content)
    instead = f"[{count} image{'s' if count > 1 else ''}: see the next user message]" if count else ""
    return "\n".join(part for part in (text, instead) if part)


def mirror(message: Message) -> tuple[ResultBlock, ...]:
    """The images of a tool message as user content, for APIs whose tool results are text; empty without images."""
    images = tuple(
        block for result in message.tool_results() for block in result.content if isinstance(block, ImageBlock)
    )
    return (TextBlock("Images from the tool results above:"), *images) if images else ()


class Sent:
    """What the last request said of each message; one for each client.

    A message never changes, so its wire form holds as long as it goes to the same model. Only the messages of the
    last request are kept: memory follows the transcript, a compaction included. Nearly every request is the last one
    with a little more at its end, and that is what a step pays for.
    """

    def __init__(self) -> None:
        self.repaired = Repair()
        self._whom: object = None
        self._messages: tuple[Message, ...] = ()
        self._items: list[list[Raw]] = []

    def items(
        self, messages: Sequence[Message], whom: object, wire: Callable[[Message], Iterable[dict[str, Any]]]
    ) -> list[Raw]:
        """The wire items of these messages, in order; ``whom`` stands for all that ``wire`` looks at besides."""
        return [item for items in self.by_message(messages, whom, wire) for item in items]

    def by_message(
        self, messages: Sequence[Message], whom: object, wire: Callable[[Message], Iterable[dict[str, Any]]]
    ) -> list[list[Raw]]:
        """The same, with the items of each message apart."""
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
