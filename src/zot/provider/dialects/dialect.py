"""The seam between a wire dialect and the transport: pure functions of bytes, no sockets.

A dialect turns a Request into an HTTP request and feeds server-sent events to a Decoder, which returns the
StreamEvents each one means. ``end_of_input`` tells the decoder that the connection ended; a stream without
its terminal marker is a retryable TransportFailed, never a clean end.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from zot.errors import ProviderError
from zot.provider.messages import Message
from zot.provider.model_call import Request, StreamEvent


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a provider answers and how to sign requests to it; built from the provider table."""

    provider: str  # the provider's id: prefixes errors and marks reasoning blocks
    base_url: str
    api_key: str = ""
    oauth: bool = False
    account_id: str = ""
    headers: dict[str, str] = {}  # a custom provider's own, sent last
    silence_s: float = 300.0
    insecure: bool = False

    def __repr__(self) -> str:
        return f"Endpoint({self.provider}, {self.base_url})"  # a traceback must not show the key


class HttpRequest(NamedTuple):
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes


class SseEvent(NamedTuple):
    """One server-sent event. ``data`` stays bytes: the JSON decoder reads it without a copy."""

    event: str
    data: bytes


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

    def partial(self) -> Message:
        """The message as assembled so far."""
        ...


class Dialect(Protocol):
    """One vendor's wire format."""

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest: ...

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder: ...
