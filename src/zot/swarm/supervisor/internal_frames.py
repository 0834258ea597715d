"""What the supervisor understands beside the commands of ``zot.wire.swarm_frames``: what only zot itself says to it."""

from __future__ import annotations

import msgspec

from zot.swarm.worker_records import MOST_AT_ONCE, WorkerSpec
from zot.wire.rpc_frames import Command
from zot.wire.swarm_frames import SwarmCommand


class SupervisorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a supervisor is told by standard input. ``patience_s``: so long a worker at work may be silent before it is
    asked whether it is there; ``idle_s``: so long one without work keeps its process."""

    home: str
    lent: dict[str, str] = {}  # keys by provider, for workers of the last supervisor that go on
    most: int = MOST_AT_ONCE
    patience_s: float = 120.0
    idle_s: float = 600.0

    def __repr__(self) -> str:
        return f"SupervisorConfig({self.home!r})"


class SetCredential(Command, frozen=True, kw_only=True, tag="swarm_lend"):
    """For the workers this client starts or resumes, kept in memory as long as they live: the key of a provider, empty
    if a worker finds its own, and the environment the client was called in, which has none. ``most`` is how many may
    be at work at once, as the settings say by now."""

    provider: str = ""
    value: str = ""
    most: int = 0
    environment: dict[str, str] = msgspec.field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        return f"SetCredential({self.provider!r})"


class StartWorker(Command, frozen=True, kw_only=True, tag="swarm_start_worker"):
    """Start a worker from its specification, which the client derived from its own configuration."""

    spec: WorkerSpec


class RecordMerge(Command, frozen=True, kw_only=True, tag="swarm_note"):
    """Whoever merged or removes a worker says so: the record is the supervisor's to write."""

    worker: str
    merged: str = ""
    forget: bool = False


AnyCommand = SwarmCommand | SetCredential | StartWorker | RecordMerge
