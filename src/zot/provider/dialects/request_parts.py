"""What the requests of all dialects have in common: addresses, headers, bodies, and how blocks read as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from zot import __version__
from zot.provider.dialects.dialect import Endpoint
from zot.provider.images import Limit, fitted
from zot.provider.messages import ImageBlock, Message, ResultBlock, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.model import Model

# A base that already names its API version takes the path as it is.
_VERSIONED = re.compile(r"/v\d+\w*(/openai)?$")

MIRROR_LEAD = "Images from the tool results above:"


def address(base: str, path: str) -> str:
    """``path`` behind ``/v1`` unless the base already ends in a version."""
    base = base.rstrip("/")
    return f"{base}/{path}" if _VERSIONED.search(base) else f"{base}/v1/{path}"


def headers(endpoint: Endpoint, *own: tuple[str, str]) -> list[tuple[str, str]]:
    """The common headers and a dialect's ``own``; those of the endpoint come last and win."""
    theirs = {name.lower(): value for name, value in endpoint.headers.items()}
    ours = [
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("user-agent", f"zot/{__version__}"),
        *own,
    ]
    return [(name, value) for name, value in ours if name not in theirs] + list(theirs.items())


def bearer(endpoint: Endpoint) -> list[tuple[str, str]]:
    """The authorization header; none for servers that need no key."""
    return [("authorization", f"Bearer {endpoint.api_key}")] if endpoint.api_key else []


def encode_body(body: dict[str, Any]) -> bytes:
    """Compact JSON. Text that is not Unicode (a half surrogate out of some file) must not end the session."""
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


def arguments_text(call: ToolCallBlock) -> str:
    """The arguments when they are a JSON object, else ``{}``: a broken call must not poison the transcript."""
    return call.arguments if isinstance(call.value, dict) else "{}"


def joined(blocks: Iterable[object]) -> str:
    """The text blocks, one under the other."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def visible(block: ImageBlock, model: Model, limit: Limit) -> ResultBlock:
    """The image as this model may get it; a model without eyes gets a line saying so."""
    if "image" not in model.input:
        return TextBlock(f"[image left out: {model.id} takes no images]")
    return fitted(block, limit)


def image_count(result: ToolResultBlock) -> int:
    return sum(isinstance(block, ImageBlock) for block in result.content)


def placeholder(result: ToolResultBlock) -> str:
    """What stands in a text-only tool result for its images."""
    count = image_count(result)
    return "" if not count else f"[{count} image{'s' if count > 1 else ''}: see the next user message]"


def mirror(message: Message) -> tuple[ResultBlock, ...]:
    """The images of a tool message as user content, for APIs whose tool results are text; empty without images."""
    images = tuple(
        block for result in message.tool_results() for block in result.content if isinstance(block, ImageBlock)
    )
    return (TextBlock(MIRROR_LEAD), *images) if images else ()
