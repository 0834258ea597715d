"""Interface of an engine: where workers run. It transports RPC lines and does not interpret them.

An attempt is one process of a worker; stopping it stops everything it started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from zot.agent.config import RunConfig
from zot.swarm.worker_records import WorktreeRecord


class WorkerKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key from the starter's flags or environment. Never passed in argv, environment or a file."""

    provider: str
    value: str

    def __repr__(self) -> str:
        return f"Credential({self.provider!r})"


class LaunchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Input of an attempt. With ``tree``, ``config.cwd`` is in it; ``environment`` is the starter's, without keys."""

    worker: str
    attempt: int
    config: RunConfig
    directory: Path
    tree: WorktreeRecord | None = None
    credential: WorkerKey | None = None
    swarm: str = ""  # the swarm whose budget it shares
    steps_left: int = -1  # model calls it may still make; -1 is any number
    environment: Mapping[str, str] = {}


class AttemptStatus(msgspec.Struct, frozen=True, kw_only=True):
    """``code`` is None while it runs; ``reason`` is its last output or the engine's reason."""

    pid: int = 0
    born: int = 0
    code: int | None = None
    reason: str = ""


class Attempt(Protocol):
    """One process of a worker, local or remote."""

    def events(self) -> AsyncIterator[bytes]:
        """Its output lines, for one reader."""
        ...

    async def send(self, line: bytes) -> None:
        """Sends it one line; EngineFault if it has ended."""
        ...

    async def stop(self, grace: float) -> None:
        """Stops it, with a grace period in seconds. All its processes have ended when this returns."""
        ...

    def status(self) -> AttemptStatus: ...

    async def collect(self) -> None:
        """Copies session and commits of a remote attempt to the worker's directory and repository."""
        ...


class Engine(Protocol):
    async def start(self, job: LaunchSpec) -> Attempt:
        """Starts an attempt; EngineFault with the reason if that fails."""
        ...

    async def close(self) -> None:
        """Releases the engine's own resources. Attempts are stopped before."""
        ...
