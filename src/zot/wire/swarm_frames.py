"""Swarm commands and events, for the supervisor's socket and for ``zot rpc``.

A separate module, because most RPC clients use no workers. Commands name a worker in ``worker``, by its id, a unique
prefix of the id, or its name; events have the full ``id``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.wire.rpc_frames import Command, Image, UsageTotals

# --- commands


class SwarmStart(Command, frozen=True, kw_only=True, tag="swarm_start"):
    """Start a worker. The response arrives when the worker is recorded, before it runs. ``max_…`` and ``timeout_s`` are
    its limits; 0 is no limit. ``swarm`` names a budget created with ``swarm_budget``. ``mode`` defaults to ``worktree``
    in a repository and to ``shared`` elsewhere; a shared worker can only read, unless ``write`` is set. A worker in a
    worktree is always jailed; ``jail`` jails a shared one. Model, directory, jail and permission mode default to those
    of the zot that starts it."""

    task: str
    name: str = ""
    cwd: str = ""
    mode: Literal["", "shared", "worktree"] = ""
    write: bool = False
    include_dirty: bool = False
    provider: str = ""
    model: str = ""
    reasoning: str = ""
    script: str = ""
    tools: tuple[str, ...] | None = None
    ask: bool = False
    jail: bool = False
    permission_mode: str = ""
    extensions: bool = True
    max_steps: int = 0
    max_cost: float = 0.0
    timeout_s: float | None = None
    engine: str = "local"
    swarm: str = ""
    key: str = ""
    once: bool = False
    restarts: int = 0
    session: str = ""


class SwarmBudget(Command, frozen=True, kw_only=True, tag="swarm_budget"):
    """Create the budget that workers with this ``swarm`` share, or change its limits; 0 is no limit."""

    swarm: str
    max_cost: float = 0.0
    max_steps: int = 0
    max_agents: int = 0
    timeout_s: float = 0.0


class SwarmList(Command, frozen=True, kw_only=True, tag="swarm_list"):
    """List the active workers, or with ``all`` every recorded one. ``session`` limits the list to workers of one
    conversation, ``swarm`` to those of one budget."""

    all: bool = False
    session: str = ""
    swarm: str = ""


class SwarmGet(Command, frozen=True, kw_only=True, tag="swarm_get"):
    """Get one worker, with the size of its changes and its complete last answer."""

    worker: str


class SwarmSend(Command, frozen=True, kw_only=True, tag="swarm_send"):
    """Send a further prompt to a worker, which starts it when it is idle. The response arrives when the prompt is
    saved."""

    worker: str
    text: str
    images: tuple[Image, ...] = ()


class SwarmStop(Command, frozen=True, kw_only=True, tag="swarm_stop"):
    """Stop a worker and all its processes, or with ``all`` every worker."""

    worker: str = ""
    all: bool = False


class SwarmResume(Command, frozen=True, kw_only=True, tag="swarm_resume"):
    """Continue a worker that no longer runs, from its session. Its task is not repeated."""

    worker: str


class SwarmApprove(Command, frozen=True, kw_only=True, tag="swarm_approve"):
    """Answer an ``approval_request`` of a worker."""

    worker: str
    request_id: str
    decision: Literal["once", "prefix", "tool", "all", "deny", "session", "never"]
    reason: str = ""


class SwarmDiff(Command, frozen=True, kw_only=True, tag="swarm_diff"):
    """Get a worker's changes in its worktree, relative to the commit it started from."""

    worker: str


class SwarmMerge(Command, frozen=True, kw_only=True, tag="swarm_merge"):
    """Merge a worker's changes into the repository it was started from. ``check`` is a command that must succeed in the
    merged files first. With ``repair``, conflicts are written into the worker's worktree and the worker is asked to
    resolve them."""

    worker: str
    how: Literal["squash", "no-ff", "patch"] = "squash"
    into: str = ""
    check: str = ""
    repair: bool = False


class SwarmRemove(Command, frozen=True, kw_only=True, tag="swarm_remove"):
    """Delete a worker's record, worktree and branch. Fails while it runs, and with unmerged changes unless ``force`` is
    set."""

    worker: str
    force: bool = False


class SwarmSubscribe(Command, frozen=True, kw_only=True, tag="swarm_subscribe"):
    """Receive every event of this worker as ``swarm_event``; with ``past``, its earlier events come first. Without a
    worker: receive ``swarm_update`` for all workers. ``off`` unsubscribes."""

    worker: str = ""
    past: bool = False
    off: bool = False


SwarmCommand = (
    SwarmStart
    | SwarmBudget
    | SwarmList
    | SwarmGet
    | SwarmSend
    | SwarmStop
    | SwarmResume
    | SwarmApprove
    | SwarmDiff
    | SwarmMerge
    | SwarmRemove
    | SwarmSubscribe
)

# --- data of responses


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worker. Times are in seconds since 1970; 0 means not yet."""

    id: str
    name: str
    status: Literal["queued", "running", "waiting", "idle", "done", "failed", "stopped", "lost"]
    task: str
    mode: Literal["shared", "worktree"]
    cwd: str
    created: float
    started: float = 0.0
    ended: float = 0.0
    provider: str = ""
    model: str = ""
    engine: str = "local"
    swarm: str = ""
    key: str = ""
    session: str = ""
    branch: str = ""
    pid: int = 0
    attempt: int = 0
    steps: int = 0
    usage: UsageTotals
    activity: str = ""
    last: str = ""  # the beginning of its last answer
    reason: str = ""
    merged: str = ""
    notes: tuple[str, ...] = ()  # what its worktree does not contain, one line each


class SwarmStarted(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_start`` and ``swarm_resume``."""

    worker: WorkerInfo


class SwarmWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_list``, oldest first, and of ``swarm_stop``: the stopped workers."""

    workers: tuple[WorkerInfo, ...]


class SwarmWorker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``swarm_get``."""

    worker: WorkerInfo
    answer: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0
    waiting: int = 0  # queued prompts


class SwarmDiffData(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_diff``, in git's unified format."""

    diff: str


class SwarmRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_remove`` if something could not be removed."""

    left: tuple[str, ...]


class SwarmMerged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``swarm_merge``. With ``conflicts``, nothing was changed."""

    into: str
    files: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    patch: str = ""  # the written file
    said: str = ""  # output of the check
    left: tuple[str, ...] = ()  # files in its worktree that are not part of the merge
    mending: tuple[str, ...] = ()  # files the worker was asked to repair


SWARM_DATA: dict[str, type[msgspec.Struct]] = {
    "swarm_start": SwarmStarted,
    "swarm_resume": SwarmStarted,
    "swarm_list": SwarmWorkers,
    "swarm_stop": SwarmWorkers,
    "swarm_get": SwarmWorker,
    "swarm_diff": SwarmDiffData,
    "swarm_merge": SwarmMerged,
    "swarm_remove": SwarmRemoved,
}

# --- events


class SwarmUpdate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="swarm_update"):
    """A worker changed; sent to subscribers."""

    id: str
    status: str
    worker: WorkerInfo


class SwarmEvent(msgspec.Struct, frozen=True, kw_only=True, tag="swarm_event"):
    """An event of a subscribed worker, unchanged."""

    id: str
    event: Any
