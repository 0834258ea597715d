"""How a session reaches its server: the seam between what is said and how it travels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from zot.features.mcp.protocol import Incoming

Hear = Callable[[Incoming], None]


class Link(Protocol):
    """One connection. ``ask`` waits for the answer with that id, an error included, and raises McpError when there can
    be none; cancelling it gives the answer up. ``tell`` sends something nobody answers and never waits. What the server
    says of its own accord goes to ``hear``."""

    hear: Hear
    headers: dict[str, str]  # what a transport that has any is to send along: the version, for one

    @property
    def closed(self) -> str:
        """Why it can no longer be used; empty while it can."""
        ...

    @property
    def heard(self) -> int:
        """How many messages came so far: a server that says something is alive."""
        ...

    @property
    def is_gone(self) -> bool:
        """Whether nobody can answer any more, also before ``closed`` says why."""
        ...

    async def ask(self, id: int, headers: Mapping[str, str], message: bytes) -> Incoming:
        """``headers`` are for a transport that has any."""
        ...

    def tell(self, message: bytes) -> None: ...

    async def aclose(self, grace: float) -> None:
        """Nothing of it is left afterwards."""
        ...
