"""The client of an agent that nobody has logged in for yet: it says what to do instead of answering."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from zot.errors import NotLoggedIn
from zot.provider.model_call import Request, StreamEvent


class LoggedOut:
    """Stands where a client will be after the login."""

    def __init__(self, provider: str, missing: str) -> None:
        self.name = provider
        self._missing = missing or f"no credential for {provider}"

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        raise NotLoggedIn(self._missing)
        yield  # an async generator that gives nothing

    async def aclose(self) -> None:
        """Holds nothing."""
