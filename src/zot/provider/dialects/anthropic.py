"""The Anthropic Messages dialect: the decoder of its streams and the door to both halves.

A stream ends with ``message_stop`` and with nothing else. Blocks are keyed by index; block types zot does
not ask for (server tools, citations, compaction) are read over. The request is built in the sibling
``anthropic_request``.
"""

from __future__ import annotations

import msgspec

from zot.provider.dialects.answer import BAD_JSON, Answer, Count, Part, ReasoningPart, TextPart, ToolPart
from zot.provider.dialects.anthropic_request import build
from zot.provider.dialects.dialect import Decoder, Endpoint, HttpRequest, SseEvent
from zot.provider.dialects.sent import Sent
from zot.provider.dialects.stream_error import stream_error
from zot.provider.messages import StopReason, Usage
from zot.provider.model_call import Request, StreamEvent, TextDelta, ToolArgs, ToolStarted

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "refusal": "error",
}


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None


class _Details(msgspec.Struct, gc=False):
    explanation: str | None = None


class _Delta(msgspec.Struct, gc=False):
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
    usage: _Usage | None = None


class _Error(msgspec.Struct, gc=False):
    type: str | None = None
    message: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Message | str | None = None
    usage: _Usage | None = None
    error: _Error | None = None


_decode = msgspec.json.Decoder(_Event).decode


class AnthropicDialect:
    """Speaks ``/v1/messages``."""

    def __init__(self) -> None:
        self._sent = Sent()

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        return build(request, endpoint, self._sent)

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        return AnthropicDecoder(request, endpoint)


class AnthropicDecoder(Answer):
    """Assembles one streamed message."""

    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        super().__init__(request, endpoint)
        self._open: dict[int, Part] = {}
        self._stop: StopReason = "end"
        self._refusal = ""

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        if self.finished:
            return []
        try:
            got = _decode(event.data)
        except BAD_JSON:
            return []
        if got.type == "content_block_delta":
            return self._delta(got.index, got.delta)
        return self._rare(got)

    def _rare(self, got: _Event) -> list[StreamEvent]:
        """Everything that comes once per block or once per answer."""
        if got.error is not None:
            return self._failed(got.error)
        match got.type:
            case "content_block_start" if got.content_block is not None:
                return self._start(got.index, got.content_block)
            case "content_block_stop":
                return self._block_end(self._open.get(got.index))
            case "message_start" if isinstance(got.message, _Message):
                self.usage = _counted(got.message.usage, Usage())
            case "message_delta":
                self._closing(got)
            case "message_stop":
                return self._done()
            case _:
                pass
        return []

    def _delta(self, index: int, delta: _Delta | None) -> list[StreamEvent]:
        if delta is None:
            return []
        part = self._open.get(index)
        if delta.type == "text_delta":
            return self._text(index, part, delta.text)
        if isinstance(part, ToolPart) and delta.partial_json:
            part.pieces.append(delta.partial_json)
            return [ToolArgs(part.id, delta.partial_json)]
        if isinstance(part, ReasoningPart):
            part.pieces.append(delta.thinking)
            part.encrypted += delta.signature
        return []

    def _text(self, index: int, part: Part | None, text: str) -> list[StreamEvent]:
        if not isinstance(part, TextPart):
            part = TextPart()  # a server that forgot to announce the block
            self._add(index, part)
        if not text:
            return []
        part.pieces.append(text)
        self.has_content = True
        return [TextDelta(text)]

    def _start(self, index: int, block: _Block) -> list[StreamEvent]:
        match block.type:
            case "text":
                return self._text(index, None, block.text)
            case "tool_use":
                self._add(index, ToolPart(block.id, block.name, _object_text(block.input)))
                self.has_content = True
                return [ToolStarted(block.id, block.name)]
            case "thinking" | "redacted_thinking":
                part = ReasoningPart(self, block.type)
                part.pieces.append(block.thinking)
                part.encrypted = block.signature or block.data
                self._add(index, part)
            case _:
                self._open.pop(index, None)
        return []

    def _block_end(self, part: Part | None) -> list[StreamEvent]:
        """A tool call is complete; arguments that came whole are passed on before its end."""
        if not isinstance(part, ToolPart):
            return []
        whole = not part.pieces and part.whole not in ("", "{}")
        return ([ToolArgs(part.id, part.whole)] if whole else []) + self.end_tool(part)

    def _add(self, index: int, part: Part) -> None:
        self._open[index] = part
        self.parts.append(part)

    def _closing(self, got: _Event) -> None:
        self.usage = _counted(got.usage, self.usage)
        delta = got.delta
        if delta is None or delta.stop_reason is None:
            return
        self._stop = _STOPS.get(delta.stop_reason, "end")
        if delta.stop_reason == "refusal":
            told = delta.stop_details.explanation if delta.stop_details else None
            self._refusal = told or "the model declined to answer"

    def _done(self) -> list[StreamEvent]:
        if not self._refusal:
            return self.finish(self._stop)
        text = f"{self.provider} refusal: {self._refusal}"
        return self.finish("error", stream_error(text, provider=self.provider, code="refusal"))

    def _failed(self, error: _Error) -> list[StreamEvent]:
        code = error.type or "error"
        text = f"{self.provider} {code}: {error.message or 'no message'}"
        return self.finish("error", stream_error(text, provider=self.provider, code=code))


def _object_text(raw: msgspec.Raw) -> str:
    """Arguments some servers send whole with the block; the usual ``{}`` announces pieces."""
    text = bytes(raw).decode("utf-8", "replace").strip()
    return text if text.startswith("{") else ""


def _counted(new: _Usage | None, old: Usage) -> Usage:
    """Counters are assigned, never added, and a zero does not overwrite."""
    if new is None:
        return old
    return Usage(
        int(new.input_tokens or old.input_tokens),
        int(new.output_tokens or old.output_tokens),
        int(new.cache_read_input_tokens or old.cache_read_tokens),
        int(new.cache_creation_input_tokens or old.cache_write_tokens),
    )
