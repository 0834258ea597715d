"""Base class of decoders: collects the parts and the usage of one answer.
It emits exactly one UsageReported, then one Finished; a connection that ends without its terminal marker is a
retryable failure."""

from __future__ import annotations

from typing import Literal

import msgspec

from zot.errors import ProviderError, TransportFailed
from zot.provider.dialects.dialect import Endpoint
from zot.provider.messages import (
    Block,
    Message,
    ReasoningBlock,
    StopReason,
    TextBlock,
    ToolCallBlock,
    Usage,
    utc_now,
)
from zot.provider.model_call import Finished, Request, StreamEvent, ThinkingDelta, ToolEnded, UsageReported

# Exceptions of a JSON decoder for invalid bytes of a server.
BAD_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# Token counts come as integers, from some servers as floats or null.
Count = int | float | None


class TextPart:
    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def block(self) -> Block | None:
        text = "".join(self.pieces)
        return TextBlock(text) if text else None


class ToolPart:
    """A growing tool call. ``whole`` is used if the arguments did not arrive in pieces."""

    __slots__ = ("ended", "id", "name", "pieces", "whole")

    def __init__(self, id: str = "", name: str = "", whole: str = "") -> None:
        self.id = id
        self.name = name
        self.whole = whole
        self.pieces: list[str] = []
        self.ended = False

    def arguments(self) -> str:
        return "".join(self.pieces) or self.whole or "{}"

    def block(self) -> Block | None:
        return ToolCallBlock(self.id, self.name, self.arguments())


class ReasoningPart:
    """Growing replay data; it names its model, since only that may get it back."""

    __slots__ = ("encrypted", "id", "kind", "model", "pieces", "provider")

    def __init__(
        self, answer: ResponseBuilder, kind: Literal["reasoning", "thinking", "redacted_thinking"] = "reasoning"
    ) -> None:
        self.kind: Literal["reasoning", "thinking", "redacted_thinking"] = kind
        self.provider = answer.provider
        self.model = answer.model.id
        self.id = ""
        self.encrypted: list[str] = []
        self.pieces: list[str] = []

    def block(self) -> Block | None:
        summary, encrypted = "".join(self.pieces), "".join(self.encrypted)
        if not (summary or encrypted or self.id):
            return None
        return ReasoningBlock(self.id, summary, encrypted, self.kind, self.provider, self.model)


class ServerToolPart:
    """A call that the provider ran, or its result: ``json`` is sent back unchanged. ``pieces`` are its arguments."""

    __slots__ = ("id", "json", "model", "pieces", "provider", "summary")

    def __init__(self, answer: ResponseBuilder, id: str = "", json: str = "", summary: str = "") -> None:
        self.provider = answer.provider
        self.model = answer.model.id
        self.id = id
        self.json = json
        self.summary = summary
        self.pieces: list[str] = []

    def block(self) -> Block | None:
        if not self.json:
            return None  # cut off before its end
        return ReasoningBlock(self.id, self.summary, self.json, "server_tool", self.provider, self.model)


Part = TextPart | ToolPart | ReasoningPart | ServerToolPart

_SEARCH_USD = 0.01  # of one web search, at every vendor that runs them


class ResponseBuilder:
    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        self.provider = endpoint.provider
        self.model = request.model
        self.has_content = False
        self.parts: list[Part] = []
        self.usage = Usage()
        self.searches = 0  # by the provider, billed beside the tokens
        self.finished = False

    @property
    def progress(self) -> int:
        return len(self.parts) + sum([len(piece) for part in self.parts for piece in part.pieces])

    def partial(self) -> Message:
        blocks = [block for part in self.parts if (block := part.block()) is not None]
        return Message("assistant", tuple(blocks), utc_now())

    def tools(self) -> list[ToolPart]:
        return [part for part in self.parts if isinstance(part, ToolPart)]

    def finish(self, stop: StopReason, error: ProviderError | None = None) -> list[StreamEvent]:
        """The last two events; empty if already returned."""
        if self.finished:
            return []
        self.finished = True
        return [UsageReported(self.priced()), Finished(stop, self.partial(), error)]

    def priced(self) -> Usage:
        usage = self.model.priced(self.usage)
        more = self.searches * _SEARCH_USD
        return msgspec.structs.replace(usage, cost_usd=usage.cost_usd + more) if more else usage

    def think(self, part: ReasoningPart, text: str) -> list[StreamEvent]:
        """Append to a thought; a later one begins a paragraph."""
        before = self.parts[-2] if len(self.parts) > 1 and part is self.parts[-1] else None
        apart = text and isinstance(before, ReasoningPart) and any(before.pieces) and not any(part.pieces)
        part.pieces.append(text)
        return [ThinkingDelta(f"\n\n{text}" if apart else text)]

    def add_server_tool(self, part: ServerToolPart) -> list[StreamEvent]:
        """Show what the provider searched or fetched, like a thought."""
        self.parts.append(part)
        return [ThinkingDelta(f"{part.summary}\n")] if part.summary else []

    def fail(self, text: str, code: str) -> list[StreamEvent]:
        """The end of an answer that the provider aborted; ``code`` is its word or number for the failure."""
        from zot.provider.error_mapping import error_from_stream  # most calls succeed

        return self.finish("error", error_from_stream(self.provider, text, code))

    def end_tool(self, tool: ToolPart) -> list[StreamEvent]:
        if tool.ended:
            return []
        tool.ended = True
        return [ToolEnded(tool.id)]

    def end_of_input(self) -> list[StreamEvent]:
        text = f"{self.provider}: unexpected eof: the answer was cut before its end"
        return self.finish("error", TransportFailed(text, provider=self.provider, retryable=True))

    def abort(self, error: ProviderError | None) -> list[StreamEvent]:
        return self.finish("error" if error else "aborted", error)
