"""Messages, content blocks, usage and stop reasons, independent of providers. Dialects and ``core.session.records``
define the formats on the wire and on disk."""

from __future__ import annotations

import time as _time
from functools import cached_property
from typing import Any, Literal, cast

import msgspec

Role = Literal["user", "assistant", "tool"]

# Internal stop reasons. On the wire (JSON, RPC, extensions) a natural end is written "end_turn".
StopReason = Literal["end", "length", "tool_use", "error", "aborted"]


_second = (0, "")  # the last one written, and its text: a step of the loop needs several


def utc_now() -> str:
    """The current time as RFC 3339 in UTC with milliseconds, as in every message and record."""
    global _second
    now = _time.time()
    whole, text = _second
    if int(now) != whole:
        whole, text = _second = int(now), _time.strftime("%Y-%m-%dT%H:%M:%S", _time.gmtime(now))
    return f"{text}.{int(now % 1 * 1000):03d}Z"


# The old and new start line of each run of a diff.
Hunks = tuple[tuple[int, int], ...]


class TextBlock(msgspec.Struct, frozen=True, tag="text"):
    """Plain text; allowed in every message and inside tool results."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True, tag="image"):
    """An image; ``data`` is the raw file, base64 only on a wire or on disk."""

    mime_type: str
    data: bytes


class ToolCallBlock(msgspec.Struct, frozen=True, dict=True, tag="tool_call"):
    """A call of the model. ``arguments`` is the streamed JSON text, possibly invalid; it is decoded on first use of
    ``value`` or ``args``, which must not be changed."""

    id: str
    name: str
    arguments: str = "{}"

    @cached_property
    def value(self) -> Any:
        """The arguments as JSON of any kind; None if the text is empty or invalid."""
        try:
            return msgspec.json.decode(self.arguments.encode("utf-8", "surrogatepass"))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None

    @property
    def args(self) -> dict[str, Any] | None:
        """The arguments as an object, empty if there is no text; None if they are not an object."""
        if isinstance(self.value, dict):
            return cast("dict[str, Any]", self.value)
        return None if self.arguments.strip() else {}

    def with_args(self, args: dict[str, Any]) -> ToolCallBlock:
        return ToolCallBlock(self.id, self.name, msgspec.json.encode(args).decode())


class ToolResultBlock(msgspec.Struct, frozen=True, tag="tool_result"):
    """The result of one call, in a ``tool`` message. ``hunks``, ``changes``, ``refused``, ``attached`` and
    ``decided_by`` are for screens and extensions, not for models."""

    call_id: str
    content: tuple[TextBlock | ImageBlock, ...] = ()
    is_error: bool = False
    hunks: Hunks = ()
    changes: str = ""
    refused: bool = False
    attached: dict[str, Any] | None = None
    decided_by: str = ""


class ReasoningBlock(msgspec.Struct, frozen=True, tag="reasoning"):
    """Opaque content, sent back only to the model that made it. ``kind``: ``reasoning``, ``thinking``
    (``encrypted_content`` is the signature of ``summary``), ``redacted_thinking``, or ``server_tool``: a call that the
    provider ran itself, or its result; ``encrypted_content`` is the JSON."""

    reasoning_id: str = ""
    summary: str = ""
    encrypted_content: str = ""
    kind: Literal["reasoning", "thinking", "redacted_thinking", "server_tool"] = "reasoning"
    provider: str = ""
    model: str = ""


Block = TextBlock | ImageBlock | ToolCallBlock | ToolResultBlock | ReasoningBlock
ResultBlock = TextBlock | ImageBlock


SHOWN_TEXT = "shown"  # in a message's ``meta``: the text shown to users instead
ENDED = "ended"  # likewise: how the prompt ended whose last message this is, unless it was answered
ENDED_WHY = "ended_why"  # likewise: why it failed

# ``interrupted``: zot ended, and nothing is recorded about the end. ``complete`` leaves no mark.
AnswerEnd = Literal["complete", "cancelled", "failed", "interrupted"]


class Message(msgspec.Struct, frozen=True):
    """One entry of the transcript. ``meta`` is zot's (compaction marks and the like), never sent to a model."""

    role: Role
    content: tuple[Block, ...]
    time: str = ""
    meta: dict[str, str] = {}

    def text(self) -> str:
        """The text blocks joined by newlines; empty when there is none."""
        return "\n".join(b.text for b in self.content if isinstance(b, TextBlock))

    def shown_text(self) -> str:
        """The text shown to the user: an interceptor may have changed or withheld it."""
        return self.meta.get(SHOWN_TEXT, "") if SHOWN_TEXT in self.meta else self.text()

    def ended(self, how: str, why: str = "") -> Message:
        """The message with the mark of this end."""
        if how == "complete":
            return self
        marks = {ENDED: how, ENDED_WHY: why} if why else {ENDED: how}
        return msgspec.structs.replace(self, meta={**self.without_end().meta, **marks})

    def without_end(self) -> Message:
        """The message without such a mark."""
        if ENDED not in self.meta:
            return self
        meta = {key: value for key, value in self.meta.items() if key not in (ENDED, ENDED_WHY)}
        return msgspec.structs.replace(self, meta=meta)

    @property
    def end_text(self) -> str:
        """Why there is no complete answer; empty without such a mark."""
        how = self.meta.get(ENDED, "")
        if how == "interrupted":
            return "interrupted before the answer was complete"
        return self.meta.get(ENDED_WHY, how) if how == "failed" else how

    def tool_calls(self) -> list[ToolCallBlock]:
        return [b for b in self.content if isinstance(b, ToolCallBlock)]

    def tool_results(self) -> list[ToolResultBlock]:
        return [b for b in self.content if isinstance(b, ToolResultBlock)]


def user_message(text: str, images: tuple[ImageBlock, ...] = ()) -> Message:
    """A user prompt: a text block if there is text, then the images."""
    content: tuple[Block, ...] = ((TextBlock(text),) if text else ()) + images
    return Message("user", content, utc_now())


class QuotaWindow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider says is left: of a ``plan`` or of a rate limit. ``resets_at`` is RFC 3339, empty if unknown."""

    name: str
    remaining_percent: float
    resets_at: str = ""
    plan: bool = False


class Usage(msgspec.Struct, frozen=True):
    """Token counts; ``input_tokens`` excludes cached ones. ``reasoning_tokens`` is part of ``output_tokens``, None if
    not reported."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    reasoning_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        reasoning = [n for n in (self.reasoning_tokens, other.reasoning_tokens) if n is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cost_usd + other.cost_usd,
            sum(reasoning) if reasoning else None,
        )

    def __sub__(self, earlier: Usage) -> Usage:
        reasoning = self.reasoning_tokens
        return Usage(
            self.input_tokens - earlier.input_tokens,
            self.output_tokens - earlier.output_tokens,
            self.cache_read_tokens - earlier.cache_read_tokens,
            self.cache_write_tokens - earlier.cache_write_tokens,
            self.cost_usd - earlier.cost_usd,
            None if reasoning is None else reasoning - (earlier.reasoning_tokens or 0),
        )

    @property
    def context_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
