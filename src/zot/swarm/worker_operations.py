"""Merge, repair, remove and prune workers; used by CLI, terminal, RPC and SDK. Git runs in the client's process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from zot.agent.config import RunConfig
from zot.errors import GitFailed, ZotError
from zot.swarm import client
from zot.swarm.git.merge import Check, How, MergeReport, MergeSource, has_unmerged, merge, merge_lock
from zot.swarm.git.safe_git import ScratchRepository, copy_with_time, find_repository, scratch_repository
from zot.swarm.git.three_way import Target, changes_merged, find_target, unchanged_edits
from zot.swarm.git.worktrees import (
    INDEX,
    ONTO,
    Onto,
    base_commit,
    commit_all,
    diff,
    left_behind,
    remove,
    reset_git_dir,
    snapshot_worktree,
)
from zot.swarm.inbox import Inbox
from zot.swarm.worker_records import WorkerRecord
from zot.swarm.worker_store import WorkerStore
from zot.system.files import write_atomic

AT_WORK = ("queued", "running", "waiting")


async def get_worker(home: Path, typed: str) -> WorkerRecord:
    """The worker with its present state; NotThere if there is none."""
    return await _as_it_is(home, client.load_worker(home, typed))


async def _as_it_is(home: Path, worker: WorkerRecord) -> WorkerRecord:
    from msgspec.structs import replace

    async with client.connect_if_running(home) as swarm:
        if swarm is None:
            return client.load_worker(home, worker.id)
        info = (await swarm.get(worker.id)).worker
        return replace(worker, status=info.status, merged=info.merged, ended=info.ended)


def merge_source(worker: WorkerRecord) -> MergeSource:
    """ZotError if there is nothing to merge, or the worker still runs."""
    if worker.tree is None:
        raise ZotError(f"{worker.name} has no worktree; its changes are in {worker.spec.cwd}")
    if worker.status in AT_WORK:
        raise ZotError(f"{worker.name} is {worker.status}: wait for it, or stop it first")
    return MergeSource(worker=worker.id, name=worker.name, task=worker.spec.task, tree=worker.tree)


async def merge_workers(
    home: Path,
    workers: Sequence[WorkerRecord],
    *,
    how: How = "squash",
    into: str = "",
    check: Check | None = None,
    on_worker: Callable[[str], None] = lambda name: None,
) -> MergeReport:
    """Merges all in order; GitFailed if none could be merged. ``on_worker`` receives progress."""
    report = await merge(
        [merge_source(worker) for worker in workers], how=how, into=into, check=check, on_worker=on_worker
    )
    for row in report.rows:
        if row.outcome == "merged":
            await client.mark_merged(home, row.worker, merged=report.into)
    return report


async def mergeable(home: Path, cwd: Path) -> tuple[list[WorkerRecord], list[str]]:
    """Finished workers of the repository of ``cwd`` with changes, in the order they ended; and notes on the others."""
    top = (await find_repository(cwd)).top
    chosen: list[WorkerRecord] = []
    notes: list[str] = []
    places = WorkerStore(home)
    for worker in places.all():
        tree = worker.tree
        if tree is None or tree.repository != top or not os.path.isdir(tree.path):
            continue
        worker = await _as_it_is(home, worker)
        if worker.status in AT_WORK:
            notes.append(f"{worker.name} is {worker.status}; skipped")
            continue
        try:
            if not await has_unmerged(tree):
                continue
            how = "" if worker.status not in ("failed", "lost") else f"is {worker.status}"
            if not how and Inbox(places.of(worker.id).inbox).interrupted:  # or it reached its time or cost limit
                how = "was stopped during its task"
            if how:
                notes.append(f"{worker.name} {how} and was skipped; merge it by name if you want it")
            else:
                chosen.append(worker)
        except ZotError as error:
            notes.append(f"{worker.name} skipped: {error}")
    return sorted(chosen, key=lambda worker: (worker.ended or worker.created, worker.id)), notes


async def repair(home: Path, worker: WorkerRecord, into: str = "", config: RunConfig | None = None) -> tuple[str, ...]:
    """Returns a conflict to its worker, which is continued if needed; the files to repair."""
    files = await return_conflict(merge_source(worker), into)
    async with client.connect_or_start(home) as swarm:
        info = (await swarm.get(worker.id)).worker
        if info.status != "idle":
            from zot.swarm.worker_config import resume_credential

            credential = resume_credential(config or worker.spec.config, home)
            await swarm.resume(worker.id, credential)
        await swarm.send(worker.id, repair_prompt(files))
    return files


async def return_conflict(source: MergeSource, into: str = "") -> tuple[str, ...]:
    """Merges the repository's state into the worker's tree with conflict markers; the files that have some."""
    repository = await find_repository(source.tree.repository)
    async with merge_lock(source.directory.parent), scratch_repository(repository, source.directory) as work:
        target = await find_target(work, into)
        tip = await commit_all(work, source.tree, source.task)
        onto, ours = await _beginning(work, target, source)
        merged, conflicts = await changes_merged(
            work, base_commit(source.tree), ours, f"{tip}^{{tree}}", source.tree.branch
        )
        if not conflicts:
            raise GitFailed(f"no conflict left; merge {source.name}")
        now = await snapshot_worktree(work, source.tree)
        words = ("read-tree", "-m", "-u", "--no-recurse-submodules", now.tree, merged)
        await work.git(*words, index=now.index, top=source.tree.path)
        files = tuple(conflict.path for conflict in conflicts)
        index = work.place / "index-of-onto"
        await work.git("read-tree", onto, index=index)
        words = ("update-index", "-q", "--ignore-submodules", "--refresh")
        await work.git(*words, index=index, top=source.tree.path, codes=(0, 1))
        (source.directory / INDEX).unlink(missing_ok=True)
        copy_with_time(index, source.directory / INDEX)
        reset_git_dir(work, source.tree, tip, index)
        write_atomic(source.directory / ONTO, msgspec.json.encode(Onto(onto, files)))
        return files


async def _beginning(work: ScratchRepository, target: Target, source: MergeSource) -> tuple[str, str]:
    """The target's commit and tree."""
    tree = await work.line("rev-parse", f"{target.commit}^{{tree}}")
    if not target.top:
        return target.commit, tree
    taken, ours = await unchanged_edits(work, target, [source.tree])
    if ours == tree:
        return target.commit, tree
    return await work.commit(ours, (target.commit,), f"With uncommitted changes in {len(taken)} files"), ours


def repair_prompt(files: tuple[str, ...]) -> str:
    """The prompt for the worker."""
    return (
        "Your changes conflict with what is in the repository by now. Both are merged into your working tree; these "
        f"files have conflict markers (<<<<<<<, =======, >>>>>>>): {', '.join(files)}. Fix each so that both "
        "intentions hold, remove the markers, run what tests there are, and say in a few words what you decided."
    )


async def write_patch(worker: WorkerRecord, path: Path) -> bool:
    """Writes a patch for ``git apply``; False without changes. Never replaces a file."""
    data = await diff(merge_source(worker).tree, binary=True)
    if not data:
        return False
    if os.path.lexists(path):
        raise ZotError(f"{path} already exists; name another file with --output")
    write_atomic(path, data, 0o644)
    return True


# --- removing


class UnmergedChanges(ZotError):
    """The worker has changes that are not merged; ``force`` removes it anyway."""


async def remove_worker(home: Path, worker: WorkerRecord, *, force: bool = False) -> tuple[str, ...]:
    """Deletes record, worktree and branch; returns failures. ZotError with unmerged changes."""
    if worker.status in AT_WORK:
        raise ZotError(f"{worker.name} is {worker.status}: stop it first")
    if worker.tree is not None and not force:
        await _check_merged(worker)
    if worker.status == "idle":
        async with client.connect_if_running(home) as swarm:
            if swarm is not None:
                await swarm.stop(worker.id)
    await client.mark_merged(home, worker.id, forget=True)
    left = await remove(worker.tree) if worker.tree is not None else ()
    return (*left, *WorkerStore(home).remove(worker.id))


async def _check_merged(worker: WorkerRecord) -> None:
    assert worker.tree is not None
    if not os.path.isdir(worker.tree.path):
        return  # already deleted
    try:
        unmerged = await has_unmerged(worker.tree)
        left = await left_behind(worker.tree)
    except GitFailed as error:
        raise UnmergedChanges(
            f"cannot read the changes of {worker.name} ({error}); --force deletes it anyway"
        ) from error
    if unmerged:
        raise UnmergedChanges(f"{worker.name} has unmerged changes; --force deletes them")
    if left:
        raise UnmergedChanges(
            f"{worker.name} contains files a merge would not keep ({'; '.join(left)}); --force deletes them"
        )


async def prune(home: Path, *, older_s: float = 0.0, force: bool = False) -> tuple[list[WorkerRecord], list[str]]:
    """Removes workers that ended long enough ago without unmerged changes; removed ones, and why others stay."""
    gone: list[WorkerRecord] = []
    notes: list[str] = []
    for worker in WorkerStore(home).all(notes):
        worker = await _as_it_is(home, worker)
        if worker.status in (*AT_WORK, "idle") or time.time() - (worker.ended or worker.created) < older_s:
            continue
        try:
            notes += await remove_worker(home, worker, force=force)
        except ZotError as error:
            notes.append(str(error))
        else:
            gone.append(worker)
    return gone, notes
