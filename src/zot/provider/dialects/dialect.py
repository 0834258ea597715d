"""Interface between a dialect and the transport: pure functions of bytes, no sockets.
``frames`` splits the stream into events, a Decoder turns them into StreamEvents. A stream without its terminal
marker is a retryable TransportFailed."""

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
    """Address and signing of requests to a provider; built from the provider table."""

    provider: str  # the provider's id: prefixes errors and marks reasoning blocks
    base_url: str
    api_key: str = ""
    oauth: bool = False
    account_id: str = ""
    key_header: str = ""  # header of the key if it is not the dialect's; "authorization" means a bearer token
    headers: dict[str, str] = {}  # of a custom provider; they come last and override others
    silence_s: float = 300.0
    insecure: bool = False
    retries: int = 9  # retries of a failed call
    omitted: tuple[str, ...] = ()  # optional fields that the model rejected, as paths: "output_config.effort"
    service_tier: str = ""  # the vendor's word for how the request is served and priced
    long_cache: bool = False  # keep cached prompts for the vendor's longer time
    retry_wait_s: float = 0.5  # seconds before the first retry; each later wait is twice as long

    def __repr__(self) -> str:
        return f"Endpoint({self.provider}, {self.base_url})"  # a traceback must not show the key


class ImageLimit(msgspec.Struct, frozen=True):
    """Limits of the vendor: the longest side in pixels, and the size in raw bytes."""

    side: int
    size: int


class ListedModel(msgspec.Struct, frozen=True):
    """One entry of a provider's model list; missing numbers are 0."""

    id: str
    display_name: str = ""
    context_window: int = 0
    max_output: int = 0
    tools: bool | None = None  # tool calling; None: unknown


class Frames(Protocol):
    """Splits bytes into events: server-sent ones nearly everywhere (``SseParser``)."""

    def feed(self, chunk: bytes) -> list[SseEvent]: ...

    def close(self) -> list[SseEvent]: ...


class Decoder(Protocol):
    """Assembles one answer. Events after a returned Finished are ignored."""

    def feed(self, event: SseEvent) -> list[StreamEvent]: ...

    def end_of_input(self) -> list[StreamEvent]:
        """UsageReported and Finished, unless already returned (a cut stream: stop ``error``)."""
        ...

    def abort(self, error: ProviderError | None) -> list[StreamEvent]:
        """End now: with ``error`` the stop is ``error`` (silence, a broken line), None gives ``aborted``."""
        ...

    @property
    def has_content(self) -> bool:
        """True if a content event was returned: after that nothing is retried."""
        ...

    @property
    def progress(self) -> int:
        """Changes with every event that adds to the answer or its reasoning."""
        ...

    def partial(self) -> Message: ...


class Dialect(Protocol):
    """One vendor's API. A new dialect is a module with this interface and a row in ``dialects/__init__.py``."""

    @property
    def levels(self) -> Mapping[str, str]:
        """The vendor's words for zot's reasoning levels, for models whose catalog row has none."""
        ...

    @property
    def frames(self) -> Callable[[], Frames]: ...

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest: ...

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder: ...

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        """Request a page of the model list after ``after``; empty for the first."""
        ...

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        """The models on a page, and ``after`` of the next page; empty for the last one."""
        ...

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        """A free request that fails if the key is bad."""
        ...
