"""Events of ``provider.stream``: what an extension sends while its model answers, as stream events of zot.
Every wrong event ends the answer with an error that names the extension and the event."""

from __future__ import annotations

import math
from typing import Any, cast

import msgspec

from zot.errors import BadRequest, ProviderError
from zot.provider.dialects.dialect import Endpoint
from zot.provider.dialects.response_builder import ReasoningPart, ResponseBuilder, TextPart, ToolPart
from zot.provider.messages import StopReason, Usage
from zot.provider.model_call import Request, StreamEvent, TextDelta, ToolArgs, ToolStarted

MOST_CHARS = 32 * 1024 * 1024  # of one answer
_MOST_TOOLS = 1000
_MOST_TOKENS = 2**53
_SHOWN = 120
_STOPS: dict[str, StopReason] = {"end_turn": "end", "tool_use": "tool_use", "length": "length", "error": "error"}
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class _Malformed(Exception):
    """The text says what is wrong with an event or a result."""


class StreamDecoder(ResponseBuilder):
    """``extension`` is named in errors."""

    def __init__(self, request: Request, extension: str) -> None:
        super().__init__(request, Endpoint(provider=request.model.provider, base_url=""))
        self._extension = extension
        self._chars = 0

    def feed(self, data: Any) -> list[StreamEvent]:
        """``data`` of one ``progress``; the last events follow a malformed one."""
        found: list[StreamEvent] = []
        events = cast("dict[str, Any]", data).get("events") if isinstance(data, dict) else None
        if events is None:
            return found  # progress without events starts the silence limit again
        if not isinstance(events, list):
            return self.malformed("progress.data.events", events, "expected a list")
        for event in cast("list[Any]", events):
            if self.finished:
                break
            try:
                found += self._event(event)
            except _Malformed as error:
                found += self.malformed("event", event, str(error))
        return found

    def end(self, result: Any) -> list[StreamEvent]:
        """The result of the request: ``stop`` and ``usage``."""
        if self.finished:
            return []
        try:
            stop, self.usage, message = _result(result)
        except _Malformed as error:
            return self.malformed("result", result, str(error))
        if stop == "error":
            return self.finish("error", self._error(message or "the model call failed"))
        if unended := next((tool for tool in self.tools() if not tool.ended), None):
            return self.malformed("result", result, f"the tool call {unended.id[:60]!r} has no tool_end")
        if self.tools() and stop == "end":
            stop = "tool_use"
        return self.finish("end" if stop == "tool_use" and not self.tools() else stop)

    def priced(self) -> Usage:
        """The extension may report what the call cost."""
        return self.usage if self.usage.cost_usd else super().priced()

    def malformed(self, what: str, value: Any, reason: str) -> list[StreamEvent]:
        shown = msgspec.json.encode(value).decode()[:_SHOWN]
        return self.finish("error", self._error(f"malformed {what} {shown}: {reason}"))

    def _error(self, text: str) -> ProviderError:
        return BadRequest(f"{self.provider}: extension {self._extension}: {text}", provider=self.provider)

    def _event(self, event: Any) -> list[StreamEvent]:
        fields = cast("dict[str, Any]", event) if isinstance(event, dict) else {}
        if len(fields) != 1:
            raise _Malformed("expected an object with one key")
        ((kind, value),) = fields.items()
        match kind:
            case "text":
                return self._text(self._counted(value))
            case "thinking":
                return self._thinking(self._counted(value))
            case "tool_start":
                return self._tool_start(_texts(value, "id", "name"))
            case "tool_args":
                return self._tool_args(_texts(value, "id", "delta"))
            case "tool_end":
                return self.end_tool(self._open_tool(_texts(value, "id")["id"]))
            case _:
                raise _Malformed("expected text, thinking, tool_start, tool_args or tool_end")

    def _text(self, text: str) -> list[StreamEvent]:
        if not text:
            return []
        if not (self.parts and isinstance(self.parts[-1], TextPart)):
            self.parts.append(TextPart())
        self.parts[-1].pieces.append(text)
        self.has_content = True
        return [TextDelta(text)]

    def _thinking(self, text: str) -> list[StreamEvent]:
        if not text:
            return []
        if not (self.parts and isinstance(self.parts[-1], ReasoningPart)):
            self.parts.append(ReasoningPart(self))
        part = self.parts[-1]
        assert isinstance(part, ReasoningPart)
        return self.think(part, text)

    def _tool_start(self, fields: dict[str, str]) -> list[StreamEvent]:
        tools = self.tools()
        if not fields["id"] or not fields["name"]:
            raise _Malformed("id and name must not be empty")
        if len(tools) >= _MOST_TOOLS:
            raise _Malformed(f"more than {_MOST_TOOLS} tool calls")
        if any(tool.id == fields["id"] for tool in tools):
            raise _Malformed("another tool call has this id")
        self._counted(fields["id"] + fields["name"])
        self.parts.append(ToolPart(fields["id"], fields["name"]))
        self.has_content = True
        return [ToolStarted(fields["id"], fields["name"])]

    def _tool_args(self, fields: dict[str, str]) -> list[StreamEvent]:
        tool, delta = self._open_tool(fields["id"]), self._counted(fields["delta"])
        tool.pieces.append(delta)
        return [ToolArgs(tool.id, delta)]

    def _open_tool(self, id: str) -> ToolPart:
        tool = next((tool for tool in self.tools() if tool.id == id and not tool.ended), None)
        if tool is None:
            raise _Malformed("no tool call with this id is open")
        return tool

    def _counted(self, text: Any) -> str:
        if not isinstance(text, str):
            raise _Malformed("expected a text")
        self._chars += len(text)
        if self._chars > MOST_CHARS:
            raise _Malformed(f"the answer is longer than {MOST_CHARS >> 20} million characters")
        return text


def _texts(value: Any, *names: str) -> dict[str, str]:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    for name in names:
        if not isinstance(fields.get(name), str):
            raise _Malformed(f"{name}: expected a text")
    return {name: fields[name] for name in names}


def _result(value: Any) -> tuple[StopReason, Usage, str]:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    stop = fields.get("stop")
    if not isinstance(stop, str) or stop not in _STOPS:
        raise _Malformed(f"stop: expected {', '.join(_STOPS)}")
    message = fields.get("message")
    return _STOPS[stop], _usage(fields.get("usage")), message[:2000] if isinstance(message, str) else ""


def _usage(value: Any) -> Usage:
    if value is None:
        return Usage()
    if not isinstance(value, dict):
        raise _Malformed("usage: expected an object")
    fields = cast("dict[str, Any]", value)
    counts: dict[str, int] = {}
    for name in _COUNTS:
        count = fields.get(name) or 0
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_TOKENS:
            raise _Malformed(f"usage.{name}: expected a number of tokens")
        counts[name] = count
    cost = fields.get("cost_usd") or 0.0
    if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost < math.inf:
        raise _Malformed("usage.cost_usd: expected an amount of at least 0")
    return Usage(**counts, cost_usd=float(cost))
