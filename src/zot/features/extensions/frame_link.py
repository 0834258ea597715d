"""Interface of the connection to one extension: a process with pipes, or a WebSocket. The host does not know which."""

from __future__ import annotations

import asyncio
from typing import Protocol


class FrameLink(Protocol):
    """Lines of the extension go to the ``receive`` it was made with; ``over`` gets why it ended, "" for a plain end."""

    over: asyncio.Future[str]
    is_final: bool  # another start would not help

    def send(self, line: bytes) -> bool:
        """Send or queue one line; False if the extension cannot receive it."""
        ...

    @property
    def is_backlogged(self) -> bool: ...

    def close_stdin(self) -> None:
        """Nothing more is sent after what is queued."""
        ...

    def disconnect(self, reason: str) -> None:
        """End it at once."""
        ...

    async def watch_exit(self) -> None:
        """Wait until the other side is gone, then end."""
        ...

    async def exit_code(self, seconds: float) -> int | None:
        """The exit code, if it arrives in time."""
        ...

    async def wait(self) -> object:
        """Wait until the other side is gone."""
        ...

    async def terminate(self, grace: float) -> object:
        """Stop it, at the latest after ``grace`` seconds."""
        ...

    async def reap(self) -> None:
        """Leave nothing behind."""
        ...
