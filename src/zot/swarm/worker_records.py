"""A worker's record (``meta.json``), and the supervisor's commands that only zot itself sends.

While a supervisor runs, only it writes records.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.agent.config import RunConfig
from zot.wire.rpc_frames import Command, UsageTotals
from zot.wire.swarm_frames import SwarmCommand

Status = Literal["queued", "running", "waiting", "idle", "done", "failed", "stopped", "lost"]
Mode = Literal["shared", "worktree"]

LIVE: frozenset[Status] = frozenset({"queued", "running", "waiting", "idle"})  # a supervisor must watch it

TIMEOUT_S = 3600.0
RETRIES = 2  # default timeout of a model call
READ_ONLY = ("read", "glob", "grep")  # tools of a worker that shares a directory
MOST_AT_ONCE = 4
NOTHING_USED = UsageTotals(input=0, output=0, reasoning=None, cache_read=0, cache_write=0, cost_usd=0.0)


class WorkerLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """0 is none."""

    max_steps: int = 0
    max_cost: float = 0.0
    timeout_s: float = TIMEOUT_S


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worker's task and limits. ``swarm`` names the budget it shares; ``key`` the item of a fan-out. ``once``: it
    ends after its first task. ``restarts`` limits automatic restarts. ``config`` has no key; directory and session are
    added at launch."""

    task: str
    name: str = ""
    cwd: str
    mode: Mode = "worktree"
    write: bool = False
    include_dirty: bool = False
    config: RunConfig
    limits: WorkerLimits = WorkerLimits()
    engine: str = "local"  # or "ray", "ray://HOST:PORT"
    swarm: str = ""
    key: str = ""
    once: bool = False
    restarts: int = 0
    session: str = ""  # of the conversation that started it


class WorktreeRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worktree: path, branch and start commit. ``first`` is the commit with the origin's uncommitted changes, if
    included; ``objects`` is the object directory it borrows from."""

    repository: str
    path: str
    branch: str
    base: str
    first: str = ""
    objects: str = ""


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``pid`` and ``born`` are of the process of attempt number ``attempt``; times are seconds since 1970.
    ``activity`` describes its current action, ``reason`` why it ended; ``notes`` list files its worktree excludes."""

    id: str
    name: str
    spec: WorkerSpec = msgspec.field(name="order")
    status: Status = "queued"
    tree: WorktreeRecord | None = None
    pid: int = 0
    born: int = 0
    attempt: int = 0
    created: float = 0.0
    started: float = 0.0
    ended: float = 0.0
    usage: UsageTotals = NOTHING_USED
    steps: int = 0
    activity: str = ""
    answer: str = ""  # its last text, truncated
    reason: str = ""
    merged: str = ""  # into which branch
    notes: tuple[str, ...] = ()


def decode_record(data: bytes) -> WorkerRecord:
    """A record of this or an older version, which had flags. MsgspecError if it is damaged."""
    record = msgspec.json.decode(data, type=dict[str, Any])
    order = msgspec.convert(record.get("order"), dict[str, Any])
    if "config" not in order:
        flags = msgspec.convert(order, _Flags)
        only_reads = flags.mode == "shared" and not flags.write and flags.tools is None
        order["config"] = msgspec.to_builtins(
            RunConfig(
                provider=flags.provider,
                model=flags.model,
                reasoning=flags.reasoning,
                script=flags.script,
                retries=RETRIES,
                max_cost=flags.limits.max_cost,
                tools=READ_ONLY if only_reads else flags.tools,
                permission_mode=flags.permission_mode or ("ask" if flags.ask else ""),
                ask_each=flags.ask and not flags.permission_mode,
                jail="on" if flags.mode == "worktree" or flags.jail else "",
                installed_extensions=flags.extensions,
            )
        )
    return msgspec.convert({**record, "order": order}, WorkerRecord)


class _Flags(msgspec.Struct, frozen=True, kw_only=True):
    mode: Mode = "worktree"
    write: bool = False
    provider: str = ""
    model: str = ""
    reasoning: str = ""
    script: str = ""
    tools: tuple[str, ...] | None = None
    ask: bool = False
    jail: bool = False
    permission_mode: str = ""
    extensions: bool = True
    limits: WorkerLimits = WorkerLimits()


class SupervisorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The supervisor's input. Workers silent for ``patience_s`` are pinged, idle for ``idle_s`` stopped."""

    home: str
    lent: dict[str, str] = {}  # keys by provider, for continued workers of the last supervisor
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
    """Records a merge, or the removal, of a worker."""

    worker: str
    merged: str = ""
    forget: bool = False


AnyCommand = SwarmCommand | SetCredential | StartWorker | RecordMerge
