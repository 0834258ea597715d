"""What all clients of the server share: its directory, the queue of work, and the cost limit."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from zot.agent.config import RunConfig
from zot.errors import UsageError
from zot.frontends.mcp_server.exchange import Exchange

AT_ONCE = 4
MOST_WAITING = 32
_LEAST = 1e-6  # USD: a limit of 0 would be none


class Limits:
    """The queue of work and the money of the server, shared by all clients.
    With a cost limit work runs one after the other, so that each gets what the earlier ones left."""

    def __init__(self, max_cost: float) -> None:
        self._max_cost = max_cost
        self._slots = asyncio.Semaphore(1 if max_cost else AT_ONCE)
        self._waiting = 0
        self.spent = 0.0

    @asynccontextmanager
    async def slot(self, exchange: Exchange) -> AsyncGenerator[None]:
        if self._waiting >= MOST_WAITING:
            raise UsageError(f"{MOST_WAITING} calls are waiting already; try again later")
        self._waiting += 1
        try:
            if self._slots.locked():
                exchange.progress("waiting for other calls")
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()

    @property
    def left(self) -> float:
        """In USD; 0 without a limit."""
        if not self._max_cost:
            return 0.0
        if self.spent >= self._max_cost:
            raise UsageError(
                f"cost limit of ${self._max_cost:g} reached (${self.spent:.4f} spent); its user can start the server "
                "again with a higher --max-cost"
            )
        return max(self._max_cost - self.spent, _LEAST)


class Place:
    """The directory of the server; clients reach only what is below it."""

    def __init__(self, config: RunConfig) -> None:
        self.root = os.path.realpath(config.cwd or os.getcwd())

    def has(self, path: str) -> bool:
        return os.path.commonpath((self.root, os.path.realpath(path))) == self.root if os.path.isabs(path) else False

    def resolve(self, typed: str) -> str:
        """UsageError for a directory outside, or one that does not exist."""
        if "\0" in typed:
            raise UsageError("cwd: it contains a zero byte")
        path = os.path.realpath(os.path.join(self.root, typed))
        if not self.has(path):
            raise UsageError(f"cwd: {typed!r} is outside {self.root}, where this server works")
        if not os.path.isdir(path):
            raise UsageError(f"cwd: no directory {typed!r} in {self.root}")
        return path
