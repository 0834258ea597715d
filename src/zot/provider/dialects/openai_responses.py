"""The OpenAI Responses dialect: at ``/v1/responses`` with a key, at the endpoint's own URL with a subscription.

Events are told apart by the ``type`` in their JSON. Items keep their order, so that reasoning stands before
the call it led to; item types zot does not ask for are read over. The request is built in the sibling
``openai_responses_request``.
"""

from __future__ import annotations

import msgspec

from zot.provider.dialects.answer import BAD_JSON, Answer, Count, Part, ReasoningPart, TextPart, ToolPart
from zot.provider.dialects.dialect import Decoder, Endpoint, HttpRequest, SseEvent
from zot.provider.dialects.openai_responses_request import build
from zot.provider.dialects.stream_error import stream_error
from zot.provider.messages import Usage
from zot.provider.model_call import Request, StreamEvent, TextDelta, ToolArgs, ToolStarted


class _Cached(msgspec.Struct, gc=False):
    cached_tokens: Count = None


class _Reasoned(msgspec.Struct, gc=False):
    reasoning_tokens: Count = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Count = None
    output_tokens: Count = None
    input_tokens_details: _Cached | None = None
    output_tokens_details: _Reasoned | None = None


class _Text(msgspec.Struct, gc=False):
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None
    summary: list[_Text] | None = None
    content: list[_Text] | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _Error(msgspec.Struct, gc=False):
    code: str | int | None = None
    type: str | None = None
    message: str | None = None


class _Response(msgspec.Struct, gc=False):
    status: str | None = None
    usage: _Usage | None = None
    error: _Error | None = None
    incomplete_details: _Incomplete | None = None


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    output_index: int = 0
    delta: str | None = None
    item: _Item | None = None
    response: _Response | None = None
    error: _Error | None = None
    code: str | int | None = None
    message: str | None = None


_decode = msgspec.json.Decoder(_Event).decode


class OpenAIResponsesDialect:
    """Speaks ``/v1/responses``."""

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        return build(request, endpoint)

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        return OpenAIResponsesDecoder(request, endpoint)


class OpenAIResponsesDecoder(Answer):
    """Assembles one streamed response."""

    def __init__(self, request: Request, endpoint: Endpoint) -> None:
        super().__init__(request, endpoint)
        self._open: dict[int, Part] = {}
        self._who = "codex" if endpoint.oauth else endpoint.provider

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
            return self._item(got.type, got.output_index, got.item)
        if got.type == "response.reasoning_summary_part.added":
            self._next_paragraph(self._open.get(got.output_index))
        return self._ending(got)

    def _delta(self, type: str, part: Part | None, delta: str) -> list[StreamEvent]:
        match type:
            case "response.output_text.delta" | "response.refusal.delta" if isinstance(part, TextPart):
                return self._say(part, delta)
            case "response.function_call_arguments.delta" if isinstance(part, ToolPart):
                part.pieces.append(delta)
                return [ToolArgs(part.id, delta)] if delta else []
            case "response.reasoning_summary_text.delta" if isinstance(part, ReasoningPart):
                part.pieces.append(delta)
            case _:
                pass
        return []

    def _say(self, part: TextPart, text: str) -> list[StreamEvent]:
        if not text:
            return []
        part.pieces.append(text)
        self.has_content = True
        return [TextDelta(text)]

    def _next_paragraph(self, part: Part | None) -> None:
        if isinstance(part, ReasoningPart) and part.pieces:
            part.pieces.append("\n\n")

    def _item(self, type: str, index: int, item: _Item) -> list[StreamEvent]:
        out = [] if index in self._open else self._added(index, item)
        if type == "response.output_item.done":
            out += self._item_done(self._open.get(index), item)
        return out

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
                part.id, part.encrypted = item.id or "", item.encrypted_content or ""
            case _:
                return []
        self._open[index] = part
        self.parts.append(part)
        return out

    def _item_done(self, part: Part | None, item: _Item) -> list[StreamEvent]:
        """The item as a whole, used only for what its deltas did not bring."""
        match part:
            case TextPart() if not part.pieces:
                return self._say(part, "".join(c.text or c.refusal or "" for c in item.content or ()))
            case ToolPart():
                out: list[StreamEvent] = []
                if not part.pieces and item.arguments:
                    part.pieces.append(item.arguments)
                    out.append(ToolArgs(part.id, item.arguments))
                return out + self.end_tool(part)
            case ReasoningPart():
                part.id = part.id or item.id or ""
                part.encrypted = item.encrypted_content or part.encrypted
                if not part.pieces:
                    part.pieces.append("\n\n".join(s.text or "" for s in item.summary or ()))
            case _:
                pass
        return []

    def _ending(self, got: _Event) -> list[StreamEvent]:
        response = got.response or _Response()
        match got.type:
            case "response.completed" | "response.done" | "response.incomplete":
                self.usage = _counted(response.usage)
                if got.type == "response.incomplete" or response.status == "incomplete":
                    return self._incomplete(response)
                return self.finish("tool_use" if self.tools() else "end")
            case "response.failed" | "response.cancelled":
                self.usage = _counted(response.usage)
                return self._failed(self._who, response.error or _Error(message=got.type))
            case "error":
                return self._failed(f"{self._who} error", got.error or _Error(got.code, None, got.message))
            case _:
                return []

    def _incomplete(self, response: _Response) -> list[StreamEvent]:
        reason = (response.incomplete_details and response.incomplete_details.reason) or "no reason given"
        if reason == "max_output_tokens":
            return self.finish("length")
        return self._failed(self._who, _Error(reason, None, f"the answer is incomplete: {reason}"))

    def _failed(self, prefix: str, error: _Error) -> list[StreamEvent]:
        code = str(error.code or error.type or "error")
        text = f"{prefix}: {error.message or code}"
        return self.finish("error", stream_error(text, provider=self.provider, code=code))


def _counted(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    prompt = int(usage.input_tokens or 0)
    cached = int((usage.input_tokens_details and usage.input_tokens_details.cached_tokens) or 0)
    reasoned = usage.output_tokens_details and usage.output_tokens_details.reasoning_tokens
    return Usage(
        prompt - cached if cached <= prompt else prompt,
        int(usage.output_tokens or 0),
        cached,
        reasoning_tokens=None if reasoned is None else int(reasoned),
    )
