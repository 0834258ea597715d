"""Interface between a dialect and the transport: pure functions of bytes, no sockets. ``frames`` splits the stream
into events, a Decoder turns them into StreamEvents. A stream without its terminal marker is a retryable
TransportFailed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from zot.errors import ProviderError
from zot.provider.http.message import HttpRequest
from zot.provider.http.sse import SseEvent
from zot.provider.messages import Message
from zot.provider.model_call import Request, StreamEvent


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a provider answers and how to sign requests to it; built from the provider table."""

    provider: str  # the provider's id: prefixes errors and marks reasoning blocks
    base_url: str
    api_key: str = ""
    oauth: bool = False
    account_id: str = ""
    key_header: str = ""  # where the key goes when it is not the dialect's own place; "authorization" is a bearer's
    headers: dict[str, str] = {}  # a custom provider's own; they come last and win
    silence_s: float = 300.0
    insecure: bool = False
    retries: int = 9  # of a call that failed for a reason that may pass
    retry_wait_s: float = 0.5  # before the first of them; each later wait is twice as long

    def __repr__(self) -> str:
        return f"Endpoint({self.provider}, {self.base_url})"  # a traceback must not show the key


class ImageLimit(msgspec.Struct, frozen=True):
    """What the vendor takes: the longest side in pixels, and the size in raw bytes."""

    side: int
    size: int


class ListedModel(msgspec.Struct, frozen=True):
    """One entry of a provider's model list; numbers the list does not tell are 0."""

    id: str
    display_name: str = ""
    context_window: int = 0
    max_output: int = 0
    tools: bool | None = None  # whether it can call tools; None: nobody said


class Frames(Protocol):
    """Cuts events out of bytes: server-sent ones nearly everywhere (``SseParser``)."""

    def feed(self, chunk: bytes) -> list[SseEvent]: ...

    def close(self) -> list[SseEvent]: ...


class Decoder(Protocol):
    """Assembles one answer. After a Finished was returned, further events are ignored."""

    def feed(self, event: SseEvent) -> list[StreamEvent]: ...

    def end_of_input(self) -> list[StreamEvent]:
        """UsageReported and Finished, if they were not returned yet (a cut stream: stop ``error``)."""
        ...

    def abort(self, error: ProviderError | None) -> list[StreamEvent]:
        """End now: ``error`` set gives stop ``error`` (silence, a broken line), None gives ``aborted``."""
        ...

    @property
    def has_content(self) -> bool:
        """Whether any content event was returned: after that nothing is retried."""
        ...

    @property
    def progress(self) -> int:
        """Changes with every event that adds something to the answer, be it only to its reasoning."""
        ...

    def partial(self) -> Message: ...


class Dialect(Protocol):
    """One vendor's API. A new dialect is a module with this interface and a row in ``dialects/__init__.py``."""

    @property
    def levels(self) -> Mapping[str, str]:
        """What the vendor calls zot's reasoning levels, for models whose catalogue row names none."""
        ...

    @property
    def frames(self) -> Callable[[], Frames]: ...

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest: ...

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder: ...

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        """Asks for a page of the model list: the one behind ``after``, the first when it is empty."""
        ...

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        """The models on a page, and the ``after`` of the next page; empty when this is the last one."""
        ...

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        """Costs nothing, and is refused when the key is bad."""
        ...
