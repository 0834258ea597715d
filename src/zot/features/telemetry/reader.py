"""Turns the events of one conversation into spans: the prompt, its model calls, its tool calls and what extensions
decided about them. Names follow the GenAI conventions of OpenTelemetry."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from zot.core import events
from zot.features.telemetry.config import TraceContext
from zot.features.telemetry.spans import CLIENT, Metrics, Span, Value, start_span
from zot.provider.messages import Message, TextBlock, Usage

_PROVIDERS = {
    "google": "gcp.gemini",
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
_STOPS = {"tool_use": "tool_calls", "end": "stop", "length": "length", "error": "error", "aborted": "aborted"}


class Sink(Protocol):
    metrics: Metrics

    def add(self, span: Span) -> None: ...


class Facts(Protocol):
    """What the reader needs to know of its conversation now."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def conversation_id(self) -> str: ...
    @property
    def server(self) -> tuple[str, int]: ...


KINDS: tuple[type[events.AgentEvent], ...] = (
    events.PromptStarted,
    events.PromptEnded,
    events.TurnStart,
    events.AssistantStart,
    events.UsageCounted,
    events.MessageAppended,
    events.TurnEnd,
    events.Error,
)
TOOL_KINDS: tuple[type[events.AgentEvent], ...] = (
    events.ToolCall,
    events.ToolRunning,
    events.ToolEnded,
    events.PermissionDecided,
)


class SpanReader:
    """``hide`` is None unless content is wanted; then it redacts a text."""

    def __init__(
        self,
        sink: Sink,
        facts: Facts,
        parent: Callable[[], TraceContext | None],
        agent: str = "zot",
        hide: Callable[[str], str] | None = None,
        on_change: Callable[[TraceContext | None], None] = lambda context: None,
    ) -> None:
        self._sink = sink
        self._facts = facts
        self._parent = parent
        self._agent = agent
        self._hide = hide
        self._on_change = on_change
        self._run: Span | None = None
        self._chat: Span | None = None
        self._tools: dict[str, Span] = {}
        self._running: list[str] = []
        self._delegated: list[str] = []  # calls of ``agent`` that have a side conversation
        self._usage = Usage()

    # --- where others hang their spans

    @property
    def current(self) -> TraceContext | None:
        """The tool that started last and still runs, else the prompt."""
        if self._running:
            return self._tools[self._running[-1]].context
        return self._run.context if self._run is not None else self._parent()

    def delegate(self) -> tuple[TraceContext | None, str]:
        """For a side conversation: the oldest call of ``agent`` without one, and the agent's name."""
        for id, span in self._tools.items():
            if span.attributes["gen_ai.tool.name"] == "agent" and id not in self._delegated:
                self._delegated.append(id)
                return span.context, str(span.attributes.get("zot.agent.task_for", "")) or "agent"
        return self.current, "side chat"

    # --- events

    def observe(self, event: events.AgentEvent) -> None:
        match event:
            case events.PromptStarted(_, text):
                self._begin_run(text)
            case events.PromptEnded(_, status):
                self._end_run(status)
            case events.TurnStart():
                self._begin_chat()
            case events.AssistantStart():
                self._first_chunk()
            case events.UsageCounted(usage):
                self._count(usage)
            case events.MessageAppended(message) if message.role == "assistant":
                self._answered(message)
            case events.TurnEnd(stop, error):
                self._end_chat(stop, error)
            case events.Error(message, code):
                if self._run is not None:
                    self._run.error = message
                    self._run.attributes["error.type"] = code or "error"
            case _:
                pass

    def observe_tools(self, event: events.AgentEvent) -> None:
        match event:
            case events.ToolCall(call):
                self._begin_tool(call.id, call.name, call.args or {}, call.arguments)
            case events.ToolRunning(call) if call.id in self._tools:
                self._running.append(call.id)
                self._on_change(self.current)
            case events.PermissionDecided(call, decision, source):
                if (span := self._tools.get(call.id)) is not None:
                    span.attributes |= {"zot.permission.decision": decision, "zot.permission.source": source}
            case events.ToolEnded(call, status, _, result):
                text = "".join(block.text for block in result.content if isinstance(block, TextBlock))
                self._end_tool(call.id, status, text)
            case _:
                pass

    def _common(self, operation: str) -> dict[str, Value]:
        provider = self._facts.provider
        return {"gen_ai.operation.name": operation, "gen_ai.provider.name": _PROVIDERS.get(provider, provider)}

    def _begin_run(self, text: str) -> None:
        if self._run is not None:
            self._end_run("aborted")
        about = {
            **self._common("invoke_agent"),
            "gen_ai.agent.name": self._agent,
            "gen_ai.conversation.id": self._facts.conversation_id,
            "gen_ai.request.model": self._facts.model,
        }
        self._usage = Usage()
        self._run = start_span(f"invoke_agent {self._agent}", self._parent(), about)
        if self._hide is not None:
            self._run.attributes["gen_ai.input.messages"] = _messages("user", self._hide(text))
        self._on_change(self.current)

    def _end_run(self, status: str) -> None:
        for id in list(self._tools):
            self._end_tool(id, "cancelled", "")
        if self._chat is not None:
            self._end_chat("aborted", "")
        if (span := self._run) is None:
            return
        span.attributes |= _usage(self._usage)
        span.attributes["zot.status"] = status
        if status in ("error", "failed", "aborted", "blocked") and "error.type" not in span.attributes:
            span.attributes["error.type"] = status
            span.error = span.error or status
        self._run = None
        self._finish(span)

    def _begin_chat(self) -> None:
        model = self._facts.model
        host, port = self._facts.server
        about: dict[str, Value] = {
            **self._common("chat"),
            "gen_ai.request.model": model,
            "gen_ai.conversation.id": self._facts.conversation_id,
        }
        if host:
            about |= {"server.address": host, "server.port": port}
        self._chat = start_span(f"chat {model}", self._run.context if self._run is not None else None, about, CLIENT)

    def _first_chunk(self) -> None:
        if (chat := self._chat) is not None:
            seconds = (time.time_ns() - chat.start) / 1e9
            chat.attributes["gen_ai.response.time_to_first_chunk"] = seconds
            self._sink.metrics.record("gen_ai.client.operation.time_to_first_chunk", seconds, self._labels(chat))

    def _count(self, usage: Usage) -> None:
        self._usage = self._usage + usage
        if (chat := self._chat) is None:
            return
        chat.attributes |= _usage(usage)
        labels = self._labels(chat)
        record = self._sink.metrics.record
        total = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        record("gen_ai.client.token.usage", total, {**labels, "gen_ai.token.type": "input"})
        record("gen_ai.client.token.usage", usage.output_tokens, {**labels, "gen_ai.token.type": "output"})

    def _answered(self, message: Message) -> None:
        if self._chat is not None:
            self._chat.end = time.time_ns()
            if self._hide is not None:
                self._chat.attributes["gen_ai.output.messages"] = _messages("assistant", self._hide(message.text()))

    def _end_chat(self, stop: str, error: str) -> None:
        if (chat := self._chat) is None:
            return
        self._chat = None
        chat.attributes["gen_ai.response.finish_reasons"] = (_STOPS.get(stop, stop),)
        chat.attributes["gen_ai.response.model"] = self._facts.model
        if error or stop in ("error", "aborted"):
            chat.error = error or stop
            chat.attributes["error.type"] = stop if stop != "end" else "error"
        self._finish(chat)
        self._sink.metrics.record("gen_ai.client.operation.duration", chat.seconds, self._labels(chat))

    def _labels(self, chat: Span) -> dict[str, Value]:
        names = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "error.type")
        return {name: chat.attributes[name] for name in names if name in chat.attributes}

    def _begin_tool(self, id: str, name: str, args: dict[str, Any], text: str) -> None:
        about: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": id,
        }
        if name == "agent":
            about["zot.agent.task_for"] = str(args.get("agent", ""))
        if self._hide is not None:
            about["gen_ai.tool.call.arguments"] = self._hide(text)
        self._tools[id] = start_span(f"execute_tool {name}", self._run.context if self._run else None, about)

    def _end_tool(self, id: str, status: str, text: str) -> None:
        if (span := self._tools.pop(id, None)) is None:
            return
        for listed in (self._delegated, self._running):
            if id in listed:
                listed.remove(id)
        span.attributes["zot.tool.status"] = status
        if status != "completed":
            span.attributes["error.type"] = "denied" if status == "blocked" else status
            span.error = status
        if self._hide is not None and text:
            span.attributes["gen_ai.tool.call.result"] = self._hide(text)
        self._finish(span)

    def _finish(self, span: Span) -> None:
        span.end = span.end or time.time_ns()
        self._sink.add(span)
        self._on_change(self.current)

    def close(self) -> None:
        self._end_run("aborted")

    # --- extensions

    def verdict(self, extension: str, event: str, tool_id: str, start: int, verdict: str) -> None:
        """One interception: who was asked about what, and the answer."""
        parent = self._tools.get(tool_id)
        context = parent.context if parent is not None else self.current
        about: dict[str, Value] = {"zot.extension": extension, "zot.event": event, "zot.verdict": verdict}
        span = start_span(f"intercept {event} {extension}", context, about)
        span.start = start
        if verdict == "block":
            span.attributes["error.type"] = "denied"
        self._finish(span)


def _usage(usage: Usage) -> dict[str, Value]:
    about: dict[str, Value] = {
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "zot.cost_usd": usage.cost_usd,
    }
    if usage.reasoning_tokens is not None:
        about["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning_tokens
    return about


def _messages(role: str, text: str) -> str:
    parts = [{"role": role, "parts": [{"type": "text", "content": text}]}]
    return msgspec.json.encode(parts).decode()
