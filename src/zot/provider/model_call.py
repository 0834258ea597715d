"""A model call: a Request goes in, StreamEvents come out. Order: ``Retrying``*, ``Noticed``*, ``Started``, any
``TextDelta``, ``ThinkingDelta``, ``ToolStarted``/``ToolArgs``/``ToolEnded``, one ``UsageReported``, one ``Finished``.
Thoughts may be followed by ``Retrying`` and ``Started`` again; a failure before the status is raised, a later one is
in ``Finished``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

import msgspec

from zot.errors import ProviderError
from zot.provider.messages import Message, QuotaWindow, StopReason, Usage
from zot.provider.model import Model, Reasoning


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool for a model; ``schema`` is a JSON Schema object. ``deferred``: it joined in mid-conversation.
    ``summary`` stands in the system prompt instead of the first sentence of the description."""

    name: str
    description: str
    schema: dict[str, Any]
    deferred: bool = False
    summary: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. ``tools`` come sorted by name; ``max_tokens`` 0 means the model's own limit."""

    model: Model
    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 0
    temperature: float | None = None
    reasoning: Reasoning = ""
    server_tools: tuple[str, ...] = ()  # tools that the provider runs itself: web_search, web_fetch
    output_schema: dict[str, Any] | None = None  # JSON Schema of the answer
    session_id: str = ""  # a stable key for prompt caching; never shown to the model
    headers: tuple[tuple[str, str], ...] = ()  # besides those of the dialect
    edit_payload: Callable[[Any, str], Awaitable[Any]] | None = None  # (body, api) -> body


class Retrying(msgspec.Struct, frozen=True):
    """An attempt failed, and ``attempt`` of ``attempts`` starts in ``wait_s`` seconds. ``reason`` is for the user."""

    attempt: int
    attempts: int
    wait_s: float
    reason: str


class Noticed(msgspec.Struct, frozen=True):
    """One line for the user about this request; before ``Started``."""

    text: str


class Started(msgspec.Struct, frozen=True):
    model: str
    provider: str


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, gc=False):
    """Thinking of the model; empty if the provider hides it."""

    text: str


class ToolStarted(msgspec.Struct, frozen=True, gc=False):
    id: str
    name: str


class ToolArgs(msgspec.Struct, frozen=True, gc=False):
    id: str
    delta: str


class ToolEnded(msgspec.Struct, frozen=True, gc=False):
    id: str


class UsageReported(msgspec.Struct, frozen=True, omit_defaults=True):
    usage: Usage
    quota: tuple[QuotaWindow, ...] = ()  # if the answer's headers have it


class Finished(msgspec.Struct, frozen=True):
    """The end of a call: stop reason, error, and the assembled assistant message."""

    stop: StopReason
    message: Message
    error: ProviderError | None = None


StreamEvent = (
    Retrying
    | Noticed
    | Started
    | TextDelta
    | ThinkingDelta
    | ToolStarted
    | ToolArgs
    | ToolEnded
    | UsageReported
    | Finished
)


class Client(Protocol):
    """Client of one provider. ``name`` prefixes its errors."""

    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]: ...

    async def aclose(self) -> None: ...
