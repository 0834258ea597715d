"""Where a merge goes: the branch that is checked out, with its working tree, or another branch, which has none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from zot.errors import GitFailed
from zot.swarm.git import apply_merge
from zot.swarm.git.safe_git import ScratchRepository


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """``top`` is the user's working tree, empty for a branch that nobody has checked out."""

    name: str
    reference: str
    commit: str
    top: str = ""

    async def now(self, work: ScratchRepository, paths: Sequence[str]) -> dict[str, str]:
        """What git would keep of these files as they are: ``MODE OBJECT``, in which 0 is for a missing one."""
        index = await _own_index(work, self)
        present = [path for path in paths if not apply_merge.obstacle(self.top, path)]
        if present:
            given = b"".join(os.fsencode(path) + b"\0" for path in present)
            words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
            await work.git(*words, given=given, index=index, top=self.top)
        known = await _listed(work, index)
        return {path: known.get(path) or work.row(None) for path in paths}

    async def differs(self, work: ScratchRepository, tree: str, paths: Sequence[str]) -> list[str]:
        """Which of these files are not as in ``tree``. Those whose time and size git's index knows are believed, so
        that nothing has to be filtered; the rest is read."""
        index = await _own_index(work, self)
        wanted = await work.entries(tree)
        known = await _listed(work, index)
        stale = set(await _stale(work, index, self.top))
        doubtful = [path for path in paths if path in stale or known.get(path) != work.row(wanted.get(path))]
        if not doubtful:
            return []
        now = await self.now(work, doubtful)
        return [path for path in doubtful if now[path] != work.row(wanted.get(path))]


async def find_target(work: ScratchRepository, into: str) -> Target:
    """GitFailed when nothing can be merged there."""
    commit, branch = await work.head()
    top = work.repository.top
    if not into and not branch:
        raise GitFailed(f"HEAD of {top} is detached; name the branch with --into BRANCH")
    reference = f"refs/heads/{into.removeprefix('refs/heads/')}" if into else branch
    name = reference.removeprefix("refs/heads/")
    if reference == branch:
        _check_quiet(work)
        return Target(name=name, reference=reference, commit=commit, top=top)
    branches = await work.branches()
    if reference not in branches:
        raise GitFailed(f"there is no branch {name} in {top}")
    if where := branches[reference]:
        raise GitFailed(f"the branch {name} is checked out in {where}; merge it there")
    tip = await work.tip(reference)
    if not tip:
        raise GitFailed(f"the branch {name} only stands for another one; name that")
    return Target(name=name, reference=reference, commit=tip)


def _check_quiet(work: ScratchRepository) -> None:
    """Nothing of git's is under way there."""
    own = work.repository.own
    if os.path.lexists(os.path.join(own, "index.lock")):
        raise GitFailed(f"git is at work in {work.repository.top} (index.lock); try again when it is done")
    for name, what in (("MERGE_HEAD", "merge"), ("rebase-merge", "rebase"), ("rebase-apply", "rebase")):
        if os.path.lexists(os.path.join(own, name)):
            raise GitFailed(f"a {what} of yours is under way in {work.repository.top}; finish it first")


async def uncommitted(work: ScratchRepository, target: Target, files: Iterable[str]) -> list[str]:
    """Which of these files have changes of the user's in them, staged or not, or stand where none is known to git."""
    index = await _own_index(work, target)
    out = await work.git(
        *("diff-index", "--cached", "-z", "--name-only", "--ignore-submodules=all", target.commit), index=index
    )
    staged = {os.fsdecode(name) for name in out.split(b"\0") if name}
    stale = set(await _stale(work, index, target.top))
    known = await _listed(work, index)
    found: list[str] = []
    for path in files:
        there = os.path.lexists(os.path.join(target.top, path))
        if path in staged or path in stale or (path not in known and there):
            found.append(path)
        elif blocked := apply_merge.obstacle(target.top, path):
            found += [blocked] if blocked not in known else []
    return list(dict.fromkeys(found))


async def _own_index(work: ScratchRepository, target: Target) -> Path:
    """A copy of the user's index in which every file counts, whatever was to be overlooked."""
    index = work.place / "index-of-target"
    index.unlink(missing_ok=True)
    await work.copy_index(Path(work.repository.own) / "index", index, target.commit)
    out = await work.git("ls-files", "-z", "-v", index=index)
    hidden = [row[2:] for row in out.split(b"\0") if row and (row[:1] in b"sS" or row[:1].islower())]
    for switch in ("--no-assume-unchanged", "--no-skip-worktree") if hidden else ():
        given = b"".join(name + b"\0" for name in hidden)
        await work.git("update-index", "-z", switch, "--stdin", given=given, index=index, top=target.top)
    return index


async def _stale(work: ScratchRepository, index: Path, top: str) -> list[str]:
    await work.git("update-index", "-q", "--ignore-submodules", "--really-refresh", index=index, top=top, codes=(0, 1))
    out = await work.git("diff-files", "-z", "--name-only", "--ignore-submodules=all", index=index, top=top)
    return [os.fsdecode(name) for name in out.split(b"\0") if name]


async def _listed(work: ScratchRepository, index: Path) -> dict[str, str]:
    out = await work.git("ls-files", "-z", "--stage", index=index)
    rows = (row.partition(b"\t") for row in out.split(b"\0") if row)
    return {os.fsdecode(name): about.decode().rpartition(" ")[0] for about, _, name in rows}
