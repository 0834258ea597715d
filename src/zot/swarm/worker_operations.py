"""What becomes of a worker's work, for whoever asks: the command line, the terminal, RPC and the SDK.

Git is done here, in the process of the one who asks; the supervisor is only told what has to be in the records.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from zot.agent.config import RunConfig
from zot.errors import GitFailed, ZotError
from zot.swarm import client
from zot.swarm.git.merge import Check, How, Report, Source, has_unmerged, merge
from zot.swarm.git.safe_git import find_repository
from zot.swarm.git.worktrees import diff, left_behind, remove
from zot.swarm.inbox import Inbox
from zot.swarm.repairing import give_back, repair_prompt
from zot.swarm.worker_records import Worker
from zot.swarm.worker_store import Places
from zot.system.files import write_atomic

AT_WORK = ("queued", "running", "waiting")


async def found(home: Path, typed: str) -> Worker:
    """Who is meant, as it is at this moment; NotThere when it is nobody."""
    return await _as_it_is(home, client.named(home, typed))


async def _as_it_is(home: Path, worker: Worker) -> Worker:
    from msgspec.structs import replace

    async with client.connected_if_alive(home) as swarm:
        if swarm is None:
            return client.named(home, worker.id)
        info = (await swarm.get(worker.id)).worker
        return replace(worker, status=info.status, merged=info.merged, ended=info.ended)


def source_of(worker: Worker) -> Source:
    """ZotError when there is nothing to merge, or not yet."""
    if worker.tree is None:
        raise ZotError(f"{worker.name} has no tree of its own: what it did is in {worker.order.cwd}")
    if worker.status in AT_WORK:
        raise ZotError(f"{worker.name} is {worker.status}: wait for it, or stop it first")
    return Source(worker=worker.id, name=worker.name, task=worker.order.task, tree=worker.tree)


async def merge_workers(
    home: Path,
    workers: Sequence[Worker],
    *,
    how: How = "squash",
    into: str = "",
    check: Check | None = None,
    told: Callable[[str], None] = lambda name: None,
) -> Report:
    """All of them, one onto the other; GitFailed when nothing at all could be done. ``told`` hears whose turn it is."""
    report = await merge([source_of(worker) for worker in workers], how=how, into=into, check=check, told=told)
    for row in report.rows:
        if row.outcome == "merged":
            await client.note(home, row.worker, merged=report.into)
    return report


async def mergeable(home: Path, cwd: Path) -> tuple[list[Worker], list[str]]:
    """The workers of the repository ``cwd`` lies in that have done what they were told and have something to merge, in
    the order they ended; and what is to be said about the others of it."""
    top = (await find_repository(cwd)).top
    chosen: list[Worker] = []
    told: list[str] = []
    places = Places(home)
    for worker in places.all():
        tree = worker.tree
        if tree is None or tree.repository != top or not os.path.isdir(tree.path):
            continue
        worker = await _as_it_is(home, worker)
        if worker.status in AT_WORK:
            told.append(f"{worker.name} is {worker.status} and left out")
            continue
        try:
            if not await has_unmerged(tree):
                continue
            how = "" if worker.status not in ("failed", "lost") else f"is {worker.status}"
            if not how and Inbox(places.of(worker.id).inbox).interrupted:  # or its time or its money was up
                how = "was stopped in the middle of its task"
            if how:
                told.append(f"{worker.name} {how} and left out; merge it by its name if you want it")
            else:
                chosen.append(worker)
        except ZotError as error:
            told.append(f"{worker.name} is left out: {error}")
    return sorted(chosen, key=lambda worker: (worker.ended or worker.created, worker.id)), told


async def repair(home: Path, worker: Worker, into: str = "", config: RunConfig | None = None) -> tuple[str, ...]:
    """Give a conflict back to its worker, which is continued if need be; the files it has to mend. ``config`` is the
    worker's, with a key that its home does not have."""
    files = await give_back(source_of(worker), into)
    async with client.connected(home) as swarm:
        info = (await swarm.get(worker.id)).worker
        if info.status != "idle":
            from zot.swarm.credentials import lent

            credential = lent(config or worker.order.config, home).credential
            await swarm.resume(worker.id, credential)
        await swarm.send(worker.id, repair_prompt(files))
    return files


async def write_patch(worker: Worker, path: Path) -> bool:
    """What it changed, for ``git apply``; False when that is nothing. A file that is there is not replaced."""
    data = await diff(source_of(worker).tree, binary=True)
    if not data:
        return False
    if os.path.lexists(path):
        raise ZotError(f"{path} is there already; name another file with --output")
    write_atomic(path, data, 0o644)
    return True


# --- removing


class Unmerged(ZotError):
    """Somebody who knows that it is lost may remove it all the same."""


async def remove_worker(home: Path, worker: Worker, *, force: bool = False) -> tuple[str, ...]:
    """Record, tree and branch are gone; what could not go is told. ZotError with changes that are nowhere else."""
    if worker.status in AT_WORK:
        raise ZotError(f"{worker.name} is {worker.status}: stop it first")
    if worker.tree is not None and not force:
        await _check_merged(worker)
    if worker.status == "idle":
        async with client.connected_if_alive(home) as swarm:
            if swarm is not None:
                await swarm.stop(worker.id)
    await client.note(home, worker.id, forget=True)
    left = await remove(worker.tree) if worker.tree is not None else ()
    return (*left, *Places(home).remove(worker.id))


async def _check_merged(worker: Worker) -> None:
    assert worker.tree is not None
    if not os.path.isdir(worker.tree.path):
        return  # nothing is left of it
    try:
        unmerged = await has_unmerged(worker.tree)
        left = await left_behind(worker.tree)
    except GitFailed as error:
        raise Unmerged(
            f"what {worker.name} changed cannot be told ({error}); --force removes it all the same"
        ) from error
    if unmerged:
        raise Unmerged(f"{worker.name} has changes that are not merged; --force throws them away")
    if left:
        raise Unmerged(f"{worker.name} has what no merge takes along ({'; '.join(left)}); --force throws it away")


async def prune(home: Path, *, older_s: float = 0.0, force: bool = False) -> tuple[list[Worker], list[str]]:
    """Remove every worker that has ended so long ago and has nothing to lose; who went, and why others did not."""
    gone: list[Worker] = []
    told: list[str] = []
    for worker in Places(home).all(told):
        worker = await _as_it_is(home, worker)
        if worker.status in (*AT_WORK, "idle") or time.time() - (worker.ended or worker.created) < older_s:
            continue
        try:
            told += await remove_worker(home, worker, force=force)
        except ZotError as error:
            told.append(str(error))
        else:
            gone.append(worker)
    return gone, told
