"""Moves a worktree to another machine and back as a git bundle; uncommitted changes travel as a commit."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from zot.errors import GitFailed
from zot.swarm.git.safe_git import (
    Repository,
    ScratchRepository,
    copy_with_time,
    find_repository,
    scratch_repository,
    write_new,
)
from zot.swarm.git.worktrees import head_of, put, snapshot, snapshot_worktree
from zot.swarm.worker_records import WorktreeRecord
from zot.system.files import make_private_dir, write_atomic

_REFS = "refs/zot/carried"
_UNCOMMITTED = "What was not committed"
_PARTIAL = "{} is a partial clone and cannot be sent; complete it with `git fetch --refetch --no-filter`"


class TreeBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of a worktree: its commit, and a commit of all its files (the same if nothing is
    uncommitted). ``bundle`` has the objects missing on the other side; ``shallow`` lists boundary commits."""

    branch: str
    head: str
    whole: str
    bundle: bytes = b""
    shallow: bytes = b""

    @property
    def key(self) -> str:
        """Equal for workers that start from the same commits and history."""
        cut = f"-{hashlib.sha256(self.shallow).hexdigest()[:16]}" if self.shallow else ""
        return f"{self.head[:16]}-{self.whole[:16]}{cut}"

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.head, self.whole)))


# --- in the repository of the user


async def seen_from(tree: WorktreeRecord) -> TreeBundle:
    """The current state of a worktree, without the bundle."""
    async with scratch_repository(await find_repository(tree.repository), _beside(tree)) as work:
        head = await work.tip(f"refs/heads/{tree.branch}")
        if not head:
            raise GitFailed(f"the branch {tree.branch} is missing")
        content = (await snapshot_worktree(work, tree)).tree
        whole = await _whole(work, head, content)
        return TreeBundle(branch=tree.branch, head=head, whole=whole, shallow=work.shallow())


async def bundled(tree: WorktreeRecord, carried: TreeBundle) -> TreeBundle:
    """With a bundle of everything another machine needs, including the available history."""
    repository = await find_repository(tree.repository)
    async with scratch_repository(repository, _beside(tree)) as work:
        try:
            return msgspec.structs.replace(carried, bundle=await _bundle(work, carried, ()))
        except GitFailed as error:
            if repository.is_partial:
                raise GitFailed(_PARTIAL.format(repository.top)) from error
            raise


async def receive(tree: WorktreeRecord, worker: str, carried: TreeBundle) -> None:
    """Stores objects from a node under references that keep them; the worktree does not change."""
    async with scratch_repository(await find_repository(tree.repository), _beside(tree)) as work:
        if carried.bundle:
            file = work.place / "bundle"
            write_new(file, carried.bundle)
            await work.git("bundle", "unbundle", os.fspath(file))
        await work.git("rev-list", "--objects", "--quiet", *carried.commits, "--not", tree.first or tree.base)
        for name, commit in (("head", carried.head), ("whole", carried.whole)):
            reference = f"{_kept(worker)}/{name}"
            if not await work.update_branch(reference, commit, await work.tip(reference), "zot swarm: from a node"):
                raise GitFailed(f"{reference} cannot be moved")


async def apply_received(tree: WorktreeRecord, worker: str) -> bool:
    """Sets the worktree to the last received state; False if there is none."""
    async with scratch_repository(await find_repository(tree.repository), _beside(tree)) as work:
        head, whole = [await work.tip(f"{_kept(worker)}/{name}") for name in ("head", "whole")]
        if not head or not whole:
            return False
        await put(work, tree, head, whole)
        for name in ("head", "whole"):
            await work.forget(f"{_kept(worker)}/{name}")
        return True


def _kept(worker: str) -> str:
    return f"refs/zot/swarm/{worker}"


def _beside(tree: WorktreeRecord) -> Path:
    return Path(tree.path).parent


# --- on a node


class NodeTree:
    """A checkout on a node, and a scratch repository that borrows only its objects."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "tree"
        self._directory = directory
        self._index = directory / "index"
        self._work: ScratchRepository
        self._base: tuple[str, ...] = ()
        self._last: tuple[str, str] = ("", "")
        self._branch = ""

    async def unpack(self, carried: TreeBundle) -> None:
        """Creates the checkout: branch, commit and uncommitted changes."""
        own = self.path / ".git"
        repository = _laid(own, carried)
        filling = ScratchRepository(repository, self._room("filling"), looks=False)
        bundle = filling.place / "bundle"
        write_new(bundle, carried.bundle)
        await filling.git("bundle", "unbundle", os.fspath(bundle))
        bundle.unlink()
        index, top = own / "index", os.fspath(self.path)
        await filling.git("read-tree", "-m", "-u", "--no-recurse-submodules", carried.whole, index=index, top=top)
        if carried.head != carried.whole:
            await filling.git("read-tree", "-m", carried.head, index=index, top=top)
        copy_with_time(index, self._index)
        self._work = ScratchRepository(repository, self._room("looking"), looks=True)
        self._branch, self._base = carried.branch, carried.commits
        self._last = (carried.head, await self._work.line("rev-parse", "--verify", f"{carried.whole}^{{tree}}"))

    async def look(self) -> TreeBundle | None:
        """Changes since the last snapshot, as a bundle on top of the start; None if unchanged."""
        head = head_of(self.path / ".git") or self._base[0]
        content = (await snapshot(self._work, self._index, os.fspath(self.path))).tree
        if (head, content) == self._last:
            return None
        carried = TreeBundle(branch=self._branch, head=head, whole=await _whole(self._work, head, content))
        carried = msgspec.structs.replace(carried, bundle=await _bundle(self._work, carried, self._base))
        self._last = (head, content)
        return carried

    def _room(self, name: str) -> Path:
        place = self._directory / name
        make_private_dir(place)
        return place


def _laid(own: Path, carried: TreeBundle) -> Repository:
    """A git directory with only the branch: ``git init`` without templates."""
    for name in ("objects", "info", f"refs/heads/{os.path.dirname(carried.branch)}"):
        make_private_dir(own / name)
    wide = len(carried.head) == 64
    format = "\tobjectformat = sha256\n" if wide else ""
    config = (
        f"[core]\n\trepositoryformatversion = {int(wide)}\n\tbare = false\n[extensions]\n{format}[gc]\n\tauto = 0\n"
    )
    write_atomic(own / "config", config.encode())
    write_atomic(own / "HEAD", f"ref: refs/heads/{carried.branch}\n".encode())
    write_atomic(own / "refs" / "heads" / carried.branch, f"{carried.head}\n".encode())
    if carried.shallow:
        write_atomic(own / "shallow", carried.shallow)
    place = os.fspath(own)
    return Repository(
        top=os.fspath(own.parent), own=place, common=place, format="sha256" if wide else "sha1", settings={}
    )


# --- both


async def _whole(work: ScratchRepository, head: str, content: str) -> str:
    """A commit with that content on top of ``head``, or ``head`` if unchanged."""
    if content == await work.line("rev-parse", "--verify", f"{head}^{{tree}}"):
        return head
    return await work.commit(content, (head,), _UNCOMMITTED)


async def _bundle(work: ScratchRepository, carried: TreeBundle, known: tuple[str, ...]) -> bytes:
    """Empty if the other side has everything. Bundles carry references, so the commits get temporary ones."""
    if known and not await work.line("rev-list", "--max-count=1", *carried.commits, "--not", *known):
        return b""
    names = (f"{_REFS}/head", f"{_REFS}/whole")
    for name, commit in zip(names, (carried.head, carried.whole), strict=True):
        await work.git("update-ref", name, commit)
    return await work.git("bundle", "create", "--quiet", "-", *names, *(f"^{commit}" for commit in known))
