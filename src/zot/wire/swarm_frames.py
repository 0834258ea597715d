"""The swarm on the wire: what the supervisor's socket and, beside its other commands, ``zot rpc`` understand.

A module of its own, because most who speak RPC never speak of a swarm. Commands name a worker in ``worker``, by its
id, a unique beginning of it, or its name; events name it in ``id``, in full.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.wire.rpc_frames import Command, Image, UsageTotals

# --- commands


class SwarmStart(Command, frozen=True, kw_only=True, tag="swarm_start"):
    """Start a worker; answered as soon as it is recorded, before it runs. ``max_…`` and ``timeout_s`` are its own
    limits, 0 is none; ``swarm`` names a budget made by ``swarm_budget``. ``mode`` is ``worktree`` in a repository and
    ``shared`` elsewhere when left out; a shared worker only reads unless ``write``. A worker in a worktree is always in
    the jail; ``jail`` is for the others. What it is told nothing about it has from the zot that starts it: model,
    directory, jail, permission mode."""

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
    """Make the budget that workers with this ``swarm`` share, or change its limits; 0 is none."""

    swarm: str
    max_cost: float = 0.0
    max_steps: int = 0
    max_agents: int = 0
    timeout_s: float = 0.0


class SwarmList(Command, frozen=True, kw_only=True, tag="swarm_list"):
    """The workers that live, or with ``all`` every one there is a record of. ``session`` leaves out those of other
    conversations, ``swarm`` those of other budgets."""

    all: bool = False
    session: str = ""
    swarm: str = ""


class SwarmGet(Command, frozen=True, kw_only=True, tag="swarm_get"):
    """One worker, with its diffstat and everything it last said."""

    worker: str


class SwarmSend(Command, frozen=True, kw_only=True, tag="swarm_send"):
    """A further prompt for a worker, taken when its turn comes. Acknowledged when it is on disk."""

    worker: str
    text: str
    images: tuple[Image, ...] = ()


class SwarmStop(Command, frozen=True, kw_only=True, tag="swarm_stop"):
    """End a worker and everything it started, or with ``all`` every one."""

    worker: str = ""
    all: bool = False


class SwarmResume(Command, frozen=True, kw_only=True, tag="swarm_resume"):
    """Continue a worker that runs no more, from its session. Its task is not said again."""

    worker: str


class SwarmApprove(Command, frozen=True, kw_only=True, tag="swarm_approve"):
    """The answer to an ``approval_request`` of a worker."""

    worker: str
    request_id: str
    decision: Literal["once", "prefix", "tool", "all", "deny", "session", "never"]
    reason: str = ""


class SwarmDiff(Command, frozen=True, kw_only=True, tag="swarm_diff"):
    """What a worker changed in its tree, against the commit it began from."""

    worker: str


class SwarmMerge(Command, frozen=True, kw_only=True, tag="swarm_merge"):
    """Bring a worker's changes into the origin. ``check`` is a command that has to succeed in the merged tree first.
    With ``repair`` a conflict is put into the worker's own tree, and it is told to mend it."""

    worker: str
    how: Literal["squash", "no-ff", "patch"] = "squash"
    into: str = ""
    check: str = ""
    repair: bool = False


class SwarmRemove(Command, frozen=True, kw_only=True, tag="swarm_remove"):
    """Delete a worker's record, tree and branch. Refused while it runs, and with unmerged changes unless ``force``."""

    worker: str
    force: bool = False


class SwarmSubscribe(Command, frozen=True, kw_only=True, tag="swarm_subscribe"):
    """From now on ``swarm_event`` brings every event of this worker; with ``past``, what it said before comes first.
    Without a worker, ``swarm_update`` of all workers only. ``off`` ends it."""

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
    """A worker in a list. Times are seconds since 1970, 0 when not yet."""

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
    last: str = ""  # the beginning of the last thing it said
    reason: str = ""
    merged: str = ""
    notes: tuple[str, ...] = ()  # what its tree does not have of the origin, a line each


class SwarmStarted(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_start`` and ``swarm_resume``."""

    worker: WorkerInfo


class SwarmWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_list``, oldest first, and of ``swarm_stop``: those that were stopped."""

    workers: tuple[WorkerInfo, ...]


class SwarmWorker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``swarm_get``."""

    worker: WorkerInfo
    answer: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0
    waiting: int = 0  # prompts it has not taken yet


class SwarmDiffData(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_diff``, in git's unified format."""

    diff: str


class SwarmRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``swarm_remove``, where something could not be removed: a line for each."""

    left: tuple[str, ...]


class SwarmMerged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``swarm_merge``. With ``conflicts`` nothing was changed."""

    into: str
    files: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    patch: str = ""  # the file that was written
    said: str = ""  # by the check
    left: tuple[str, ...] = ()  # what is in its tree and not part of the merge, a line each
    mending: tuple[str, ...] = ()  # files its worker was told to mend


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
    """Something changed about a worker; for a subscriber."""

    id: str
    status: str
    worker: WorkerInfo


class SwarmEvent(msgspec.Struct, frozen=True, kw_only=True, tag="swarm_event"):
    """An event of a worker one subscribed to, as it came."""

    id: str
    event: Any
