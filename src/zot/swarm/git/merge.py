"""Merges workers' changes into the user's repository: computed in a scratch repository, then applied in one step.

Workers are merged one after another. A conflict, a failed check or an uncommitted file skips that worker.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec

from zot.errors import GitFailed
from zot.swarm.git import apply_merge
from zot.swarm.git.excluded_files import excluded_from_merge, named
from zot.swarm.git.safe_git import Repository, ScratchRepository, find_repository, scratch_repository
from zot.swarm.git.three_way import (
    YOURS,
    Conflict,
    Target,
    changed,
    changes_merged,
    export_tree,
    find_target,
    three_way,
    unchanged_edits,
    uncommitted,
)
from zot.swarm.git.worktrees import base_commit, commit_all, repair_files, snapshot_worktree
from zot.swarm.worker_records import WorktreeRecord
from zot.system.files import make_private_dir, try_lock, write_atomic, zot_home
from zot.system.processes import spawn
from zot.system.safe_open import create_unnamed, open_to_append, read_whole
from zot.system.secret_variables import looks_like_secret

How = Literal["squash", "no-ff"]
Outcome = Literal["merged", "nothing", "conflict", "uncommitted", "check failed", "refused"]

MERGED = "merged.json"  # in a worker's directory
_MARKERS = re.compile(rb"^(<{7}|>{7}) .*$", re.MULTILINE)
_LINE = re.compile(r"\s+")


class MergeSource(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's changes: ``name`` labels conflicts, ``task`` is the commit message."""

    worker: str
    name: str
    task: str
    tree: WorktreeRecord

    @property
    def directory(self) -> Path:
        return Path(self.tree.path).parent


class MergeResult(msgspec.Struct, frozen=True, kw_only=True):
    """``files`` changed or conflict; ``said`` is the check's output; ``left`` is excluded."""

    worker: str
    name: str
    outcome: Outcome
    files: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    said: str = ""
    left: tuple[str, ...] = ()


class MergeReport(msgspec.Struct, frozen=True, kw_only=True):
    """``files`` changed on ``into``; ``commit`` was made, if any; ``finished`` are earlier merges that were killed."""

    into: str
    rows: tuple[MergeResult, ...]
    files: tuple[str, ...] = ()
    commit: str = ""
    finished: tuple[str, ...] = ()


class MergedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's last merge: which tree went into which branch."""

    into: str
    tree: str
    at: float


Check = Callable[[Path], Awaitable[tuple[bool, str]]]  # in a directory with the merged files: whether it passed


async def merge(
    sources: Sequence[MergeSource],
    *,
    how: How = "squash",
    into: str = "",
    check: Check | None = None,
    on_worker: Callable[[str], None] = lambda name: None,
) -> MergeReport:
    """Merges all in this order. GitFailed if the target cannot be used. ``on_worker`` receives progress."""
    repository = await find_repository(sources[0].tree.repository)
    directory = sources[0].directory
    async with merge_lock(directory.parent):
        finished = await _finish_killed(repository, directory.parent)
        async with scratch_repository(repository, directory) as work:
            target = await find_target(work, into)
            tips, left, refused = await _tips(work, sources)
        async with scratch_repository(repository, directory, looks=True) as work:
            course = _Course(work, target, how, tips, check)
            await course.begin(sources)
            rows: list[MergeResult] = []
            for source in sources:
                on_worker(source.name)
                rows.append(refused.get(source.worker) or await course.add(source))
            files = await course.land(directory)
    rows = [_encodable(msgspec.structs.replace(row, left=left.get(row.worker, ()))) for row in rows]
    for source, row in zip(sources, rows, strict=True):
        if row.outcome == "merged":
            record = MergedRecord(into=target.name, tree=course.trees[source.worker], at=time.time())
            write_atomic(source.directory / MERGED, msgspec.json.encode(record))
    return MergeReport(
        into=target.name,
        rows=tuple(rows),
        files=tuple(map(_shown, files)),
        commit=course.commit,
        finished=tuple(map(_shown, finished)),
    )


def _shown(path: str) -> str:
    """A path for reports, which are JSON: bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _encodable(row: MergeResult) -> MergeResult:
    conflicts = tuple(msgspec.structs.replace(one, path=_shown(one.path)) for one in row.conflicts)
    files, left = (tuple(map(_shown, paths)) for paths in (row.files, row.left))
    return msgspec.structs.replace(row, files=files, left=left, conflicts=conflicts, said=_shown(row.said))


async def _tips(
    work: ScratchRepository, sources: Sequence[MergeSource]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[str, MergeResult]]:
    """Each worker's commit and excluded files; workers without a usable worktree are skipped."""
    tips: dict[str, str] = {}
    left: dict[str, tuple[str, ...]] = {}
    refused: dict[str, MergeResult] = {}
    for source in sources:
        try:
            now = await snapshot_worktree(work, source.tree)
            tips[source.worker] = await commit_all(work, source.tree, source.task, now)
            change = base_commit(source.tree), now.tree
            left[source.worker] = await excluded_from_merge(work, now.index, source.tree.path, now.left, change)
        except GitFailed as error:
            refused[source.worker] = _row(source, "refused", output=str(error))
    return tips, left, refused


class _Course:
    """A running merge: ``tree`` is the result so far, ``commit`` its commit when commits are made."""

    def __init__(
        self, work: ScratchRepository, target: Target, how: How, tips: dict[str, str], check: Check | None
    ) -> None:
        self._work = work
        self._target = target
        self._how = how
        self._tips = tips
        self._check = check
        self._start = ""
        self._taken: dict[str, str] = {}
        self.tree = ""
        self.commit = ""
        self.trees: dict[str, str] = {}
        self._makes_commits = how == "no-ff" or not target.top

    async def begin(self, sources: Sequence[MergeSource]) -> None:
        """Starts from the target's commit with the uncommitted changes that workers began with."""
        self._start = self.tree = await self._work.line("rev-parse", f"{self._target.commit}^{{tree}}")
        if self._target.top and not self._makes_commits:
            trees = [source.tree for source in sources]
            self._taken, self.tree = await unchanged_edits(self._work, self._target, trees)
            self._start = self.tree

    async def add(self, source: MergeSource) -> MergeResult:
        tip = self._tips[source.worker]
        theirs = self.trees[source.worker] = await self._work.line("rev-parse", f"{tip}^{{tree}}")
        marked: list[str] = []  # files returned with conflict markers that still have them
        for path in repair_files(source.tree):
            done = await self._work.try_git("cat-file", "blob", f"{theirs}:{path}")
            if done.code == 0 and len(set(_MARKERS.findall(done.out))) == 2:
                marked.append(path)
        if marked:
            return _row(source, "conflict", conflicts=tuple(Conflict(path=path, why=_UNMENDED) for path in marked))
        result, conflicts = await self._merged(source, tip, theirs)
        files = await changed(self._work, self.tree, result)
        if self._target.top:
            files, dirty = await self._compared(source, files, result)
            if dirty:
                return _row(source, "uncommitted", dirty)
        if conflicts:
            return _row(source, "conflict", conflicts=conflicts)
        if not files:
            return _row(source, "nothing")
        if self._check is None:
            passed, output = True, ""
        else:
            async with export_tree(self._work, result) as place:
                passed, output = await self._check(place)
        if not passed:
            return _row(source, "check failed", files, output=output)
        self.tree = result
        if self._makes_commits:
            parents = [self.commit or self._target.commit, *((tip,) if self._how == "no-ff" else ())]
            first = _LINE.sub(" ", source.task).strip()[:60]
            message = f"Merge {source.tree.branch}: {first}\n" if self._how == "no-ff" else f"{source.task.strip()}\n"
            self.commit = await self._work.commit(result, parents, message, self._work.repository.author)
        return _row(source, "merged", files, output=output)

    async def _merged(self, source: MergeSource, tip: str, theirs: str) -> tuple[str, tuple[Conflict, ...]]:
        work, name = self._work, source.tree.branch
        if self._how != "no-ff":  # exactly what the diff shows, regardless of the worker's commit parents
            return await changes_merged(work, base_commit(source.tree), self.tree, theirs, name)
        await work.git("update-ref", f"refs/heads/{YOURS}", self.commit or self._target.commit)
        await work.git("update-ref", f"refs/heads/{name}", tip)
        return await three_way(work, YOURS, name)

    async def _compared(
        self, source: MergeSource, files: Sequence[str], result: str
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Files that still differ from the result, and those of them with uncommitted changes."""
        dirty = await uncommitted(self._work, self._target, files)
        if not dirty:
            return tuple(files), ()
        row, wanted = self._work.row, await self._work.entries(result)
        now = await self._target.now(self._work, dirty)
        there = {path for path in dirty if now[path] == row(wanted.get(path))}
        began = await self._work.entries(source.tree.first) if source.tree.first and self._taken else {}
        taken = {path for path in dirty if path in self._taken and row(began.get(path)) == self._taken[path]}
        new = tuple(path for path in files if path not in there)
        return new, tuple(path for path in dirty if path not in there | taken)

    async def land(self, directory: Path) -> tuple[str, ...]:
        """Applies the result to the working tree or branch."""
        files = await changed(self._work, self._start, self.tree)
        if not files:
            return ()
        if self.commit:
            known = [f"^{old}" for old in (self._target.commit, *self._tips.values())]
            given = "\n".join([self.commit, *known, ""]).encode()
            packed = await self._work.git("pack-objects", "--revs", "--stdout", "-q", given=given)
            async with scratch_repository(self._work.repository, self._work.place) as real:
                await real.git("unpack-objects", "-q", given=packed)
        if self._target.top:
            files = await _land_files(self._work, self._target, self._start, self.tree, files, self.commit, directory)
        elif not await self._work.update_branch(
            self._target.reference, self.commit, self._target.commit, "zot swarm: merge"
        ):
            raise GitFailed(f"nothing was merged: the branch {self._target.name} moved during the merge; try again")
        return files


_UNMENDED = "it still has the conflict markers that the worker was to resolve"


def _row(
    source: MergeSource,
    outcome: Outcome,
    files: tuple[str, ...] = (),
    conflicts: tuple[Conflict, ...] = (),
    output: str = "",
) -> MergeResult:
    return MergeResult(
        worker=source.worker, name=source.name, outcome=outcome, files=files, conflicts=conflicts, said=output
    )


# --- applying


async def _land_files(
    work: ScratchRepository, target: Target, old: str, new: str, files: Sequence[str], commit: str, directory: Path
) -> tuple[str, ...]:
    top = target.top
    before = {path: _state_below(top, path) for path in files}
    entries = await work.entries(new)
    doubtful = await target.differs(work, old, files)
    now = await target.now(work, doubtful) if doubtful else {}
    there = {path for path in doubtful if now[path] == work.row(entries.get(path))}
    if moved := [path for path in doubtful if path not in there]:
        raise GitFailed(f"nothing was merged: {named(moved)} changed during the merge; try again")
    fresh = work.place / "fresh"
    index = work.place / "index-of-fresh"
    await work.git("read-tree", new, index=index)
    wanted = [path for path in files if path in entries and entries[path][0] != "160000"]
    given = b"".join(os.fsencode(path) + b"\0" for path in wanted)
    fresh.mkdir()
    await work.git("checkout-index", "-z", "--stdin", f"--prefix={fresh}/", given=given, index=index, top=str(fresh))
    changes = [
        apply_merge.MergeChange(path=path, before=before[path], after=apply_merge.state(os.path.join(fresh, path)))
        for path in files
        if path not in there and entries.get(path, ("",))[0] != "160000"
    ]
    lines = "\0".join([*(f"{work.row(entries.get(path))}\t{path}" for path in files), ""]) if commit else ""
    reference = target.reference if commit else ""
    journal = apply_merge.MergeJournal(
        top=top, changes=tuple(changes), reference=reference, old=target.commit, new=commit, entries=lines
    )
    apply_merge.prepare(directory, journal, fresh)
    if commit and not await work.update_branch(reference, commit, target.commit, "zot swarm: merge"):
        apply_merge.finish(directory)
        raise GitFailed(f"nothing was merged: the branch {target.name} moved during the merge; try again")
    try:
        apply_merge.apply_files(directory, journal)
    except apply_merge.PartiallyApplied:
        raise  # the journal stays, for the next merge
    except GitFailed:
        if not commit or await work.update_branch(reference, target.commit, commit, "zot swarm: taken back"):
            apply_merge.finish(directory)
        raise
    await _update_index(work, journal)
    apply_merge.finish(directory)
    return tuple(change.path for change in changes)


def _state_below(top: str, path: str) -> str:
    """A file behind a link is not the file of that path."""
    return "" if apply_merge.obstacle(top, path) else apply_merge.state(os.path.join(top, path))


async def _update_index(work: ScratchRepository, journal: apply_merge.MergeJournal) -> None:
    """Updates the user's index after a commit, only for the changed files."""
    if journal.entries:
        index = Path(work.repository.own) / "index"
        given = journal.entries.encode(errors="surrogateescape")
        await work.git("update-index", "-z", "--index-info", given=given, index=index, top=journal.top)
        await work.git("update-index", "-q", "--refresh", index=index, top=journal.top, codes=(0, 1))


async def _finish_killed(repository: Repository, agents: Path) -> tuple[str, ...]:
    notes: list[str] = []
    for directory, journal in apply_merge.pending_journals(agents, repository.top):
        async with scratch_repository(repository, directory) as work:
            if journal.reference and await work.tip(journal.reference) == journal.old:
                apply_merge.finish(directory)  # killed before anything changed
                continue
            left = apply_merge.resume(directory, journal)
            await _update_index(work, journal)
        apply_merge.finish(directory)
        but = f", except {named(left)}, changed since" if left else ""
        notes.append(f"finished an interrupted merge of {directory.name}{but}")
    return tuple(notes)


@asynccontextmanager
async def merge_lock(agents: Path) -> AsyncGenerator[None]:
    """One merge at a time; the lock is released when its process ends."""
    make_private_dir(agents)
    fd = open_to_append(agents.parent / ".merge.lock", os.O_RDWR)
    try:
        if not try_lock(fd):
            raise GitFailed("another merge is running; try again later")
        yield
        fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)


# --- merge records


def merged_record(directory: Path) -> MergedRecord | None:
    """A worker's last merge."""
    try:
        return msgspec.json.decode(read_whole(directory / MERGED, 4096), type=MergedRecord)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None


async def has_unmerged(tree: WorktreeRecord) -> bool:
    """Whether it has unmerged changes."""
    repository = await find_repository(tree.repository)
    async with scratch_repository(repository, Path(tree.path).parent, looks=True) as work:
        now = (await snapshot_worktree(work, tree)).tree
        if now == await work.line("rev-parse", f"{base_commit(tree)}^{{tree}}"):
            return False
    record = merged_record(Path(tree.path).parent)
    return record is None or record.tree != now


TIMEOUT_S = 1800.0
_MOST_SAID = 8_000  # bytes of its output, from the end


class CommandCheck:
    """``await check(directory)``: whether it passed, and the end of its output. The command runs files that a worker
    wrote, so it runs in a jail of that directory, as the worker did."""

    def __init__(self, command: str, timeout_s: float = TIMEOUT_S, home: Path | None = None) -> None:
        self.command = command
        self._timeout_s = timeout_s
        self._home = home or zot_home()

    async def __call__(self, directory: Path) -> tuple[bool, str]:
        output = create_unnamed(directory.parent)
        if output < 0:
            output = os.memfd_create("check") if hasattr(os, "memfd_create") else os.dup(2)
        from zot.features.jail.feature import JailOptions, confine  # most merges have no check

        jail = None
        try:
            jail = confine(directory, self._home, JailOptions(False, (), (), "reduced"))
            env = {key: text for key, text in os.environ.items() if key[:4] != "GIT_" and not looks_like_secret(key)}
            tree = spawn(
                ["/bin/sh", "-c", self.command],
                cwd=directory,
                env={**env, "PWD": os.fspath(directory)},
                stdout=output,
                stderr=output,
                jail=jail,
            )
            try:
                async with asyncio.timeout(self._timeout_s):
                    code = await tree.wait()
            except TimeoutError:
                return False, f"{_last(output)}\n(stopped after {self._timeout_s:.0f} s)".lstrip()
            finally:
                await tree.stop()
            return code == 0 and not tree.jail_failed, _last(output)
        finally:
            os.close(output)
            if jail is not None:
                jail.close()


def _last(output: int) -> str:
    size = os.fstat(output).st_size
    data = os.pread(output, _MOST_SAID, max(0, size - _MOST_SAID))
    text = data.decode(errors="replace").strip()
    return f"…{text}" if size > _MOST_SAID else text
