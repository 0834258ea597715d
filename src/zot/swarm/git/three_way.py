"""Three-way merges on trees; no working tree, index or branch is touched."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Container, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from zot.errors import GitFailed
from zot.swarm.git import apply_merge
from zot.swarm.git.safe_git import ScratchRepository
from zot.swarm.worker_records import WorktreeRecord
from zot.system.temp_files import locked_temp_dir, temporary_name


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """``top`` is the user's working tree, empty for a branch that is not checked out."""

    name: str
    reference: str
    commit: str
    top: str = ""

    async def now(self, work: ScratchRepository, paths: Sequence[str]) -> dict[str, str]:
        """The files as git would store them: ``MODE OBJECT``, 0 for a missing one."""
        index = await _own_index(work, self)
        present = [path for path in paths if not apply_merge.obstacle(self.top, path) and not self._has_directory(path)]
        if present:
            given = b"".join(os.fsencode(path) + b"\0" for path in present)
            words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
            await work.git(*words, given=given, index=index, top=self.top)
        known = await _listed(work, index)
        return {path: known.get(path) or work.row(None) for path in paths}

    def _has_directory(self, path: str) -> bool:
        """True for a directory, which git has no object for: its files are separate."""
        place = os.path.join(self.top, path)
        return os.path.isdir(place) and not os.path.islink(place)

    async def differs(self, work: ScratchRepository, tree: str, paths: Sequence[str]) -> list[str]:
        """Files that differ from ``tree``. Time and size in the index are trusted, so that no filter runs."""
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
    """The merge target; GitFailed if it cannot be used."""
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
        raise GitFailed(f"no branch {name} in {top}")
    if where := branches[reference]:
        raise GitFailed(f"the branch {name} is checked out in {where}; merge it there")
    tip = await work.tip(reference)
    if not tip:
        raise GitFailed(f"the branch {name} is a symbolic reference; name its target")
    return Target(name=name, reference=reference, commit=tip)


def _check_quiet(work: ScratchRepository) -> None:
    """GitFailed if a git operation is in progress there."""
    own = work.repository.own
    if os.path.lexists(os.path.join(own, "index.lock")):
        raise GitFailed(f"git is running in {work.repository.top} (index.lock); try again later")
    for name, what in (("MERGE_HEAD", "merge"), ("rebase-merge", "rebase"), ("rebase-apply", "rebase")):
        if os.path.lexists(os.path.join(own, name)):
            raise GitFailed(f"a {what} is in progress in {work.repository.top}; finish it first")


async def uncommitted(work: ScratchRepository, target: Target, files: Iterable[str]) -> list[str]:
    """Files with uncommitted changes, staged or not, or untracked ones."""
    index = await _own_index(work, target)
    out = await work.git(
        *("diff-index", "--cached", "-z", "--name-only", "--ignore-submodules=all", target.commit), index=index
    )
    staged = {os.fsdecode(name) for name in out.split(b"\0") if name}
    stale = set(await _stale(work, index, target.top))
    known = await _listed(work, index)
    found: list[str] = []
    for path in files:
        blocked = apply_merge.obstacle(target.top, path)
        there = not blocked and _has_own_files(target.top, path, known)
        if path in staged or path in stale or (path not in known and there):
            found.append(path)
        elif blocked:
            found += [blocked] if blocked not in known else []
    return list(dict.fromkeys(found))


def _has_own_files(top: str, path: str, known: Container[str]) -> bool:
    """True for a file, and for a directory with files that git does not know: a merge deletes only the others."""
    place = os.path.join(top, path)
    if os.path.islink(place) or not os.path.isdir(place):
        return os.path.lexists(place)
    below = (os.path.join(directory, name) for directory, _, names in os.walk(place) for name in names)
    return any(os.path.relpath(file, top) not in known for file in below)


async def _own_index(work: ScratchRepository, target: Target) -> Path:
    """A copy of the user's index without assume-unchanged and skip-worktree flags."""
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


YOURS = "yours"  # label of the user's side in conflict markers
_MOST_SHOWN = 40  # lines of a conflict


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """``why`` is git's message; ``sides`` are the lines of both sides with markers, if any."""

    path: str
    why: str
    sides: str = ""


async def changes_merged(
    work: ScratchRepository, base: str, ours: str, theirs: str, name: str
) -> tuple[str, tuple[Conflict, ...]]:
    """``theirs`` brought into ``ours``, both trees, by exactly what it changed since the commit ``base``."""
    root = await work.commit(f"{base}^{{tree}}", (), "base")
    await work.git("update-ref", f"refs/heads/{YOURS}", await work.commit(ours, (root,), "yours"))
    await work.git("update-ref", f"refs/heads/{name}", await work.commit(theirs, (root,), "theirs"))
    return await three_way(work, YOURS, name)


async def three_way(work: ScratchRepository, ours: str, theirs: str) -> tuple[str, tuple[Conflict, ...]]:
    """The merged tree, with labelled markers at conflicts."""
    done = await work.try_git("merge-tree", "--write-tree", "-z", "--messages", ours, theirs)
    if done.code not in (0, 1):
        raise GitFailed(f"git cannot merge {theirs}: {done.err_text.strip().splitlines()[:1]}")
    fields = done.out.split(b"\0")
    tree = fields[0].decode()
    if done.code == 0:
        return tree, ()
    end = fields.index(b"", 1)
    paths = dict.fromkeys(os.fsdecode(field.partition(b"\t")[2]) for field in fields[1:end])
    messages = _messages(fields[end + 1 :])
    return tree, tuple([await _conflict(work, tree, path, messages) for path in paths])


def _messages(fields: list[bytes]) -> list[tuple[list[str], str]]:
    """The paths and the message of each conflict."""
    found: list[tuple[list[str], str]] = []
    rest = iter(fields)
    for count in rest:
        if not count.isdigit():
            break
        paths = [os.fsdecode(next(rest, b"")) for _ in range(int(count))]
        kind, text = next(rest, b""), next(rest, b"")
        if kind.startswith(b"CONFLICT"):
            found.append((paths, text.decode(errors="replace").strip()))
    return found


async def _conflict(work: ScratchRepository, tree: str, path: str, messages: list[tuple[list[str], str]]) -> Conflict:
    why = next((text for paths, text in messages if path in paths), f"both sides changed {path}")
    done = await work.try_git("cat-file", "blob", f"{tree}:{path}")
    sides = _between_markers(done.out.decode(errors="replace")) if done.code == 0 and b"\0" not in done.out else ""
    return Conflict(path=path, why=why, sides=sides)


def _between_markers(text: str) -> str:
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = inside or line.startswith("<<<<<<< ")
        if inside:
            lines.append(line)
        inside = inside and not line.startswith(">>>>>>> ")
    more = [f"… {len(lines) - _MOST_SHOWN} more lines"] if len(lines) > _MOST_SHOWN else []
    return "\n".join([*lines[:_MOST_SHOWN], *more])


async def changed(work: ScratchRepository, old: str, new: str) -> tuple[str, ...]:
    out = await work.git("diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new)
    return tuple(apply_merge.check_path(os.fsdecode(name)) for name in out.split(b"\0") if name)


async def unchanged_edits(
    work: ScratchRepository, target: Target, trees: Iterable[WorktreeRecord]
) -> tuple[dict[str, str], str]:
    """The user's uncommitted changes that a worker began with and that are unchanged, and a tree with them."""
    wanted: dict[str, set[str]] = {}
    for tree in trees:
        if tree.first:
            entries = await work.entries(tree.first)
            for path in await changed(work, tree.base, tree.first):
                wanted.setdefault(path, set()).add(work.row(entries.get(path)))
    now = await target.now(work, list(wanted))
    kept = {path: now[path] for path, began in wanted.items() if now[path] in began}
    index = work.place / "index-of-start"
    await work.git("read-tree", target.commit, index=index)
    if kept:
        given = b"".join(f"{entry}\t".encode() + os.fsencode(path) + b"\0" for path, entry in kept.items())
        await work.git("update-index", "-z", "--index-info", given=given, index=index)
    return kept, await work.line("write-tree", index=index)


@asynccontextmanager
async def export_tree(work: ScratchRepository, tree: str) -> AsyncGenerator[Path]:
    """The files of a tree in a temporary directory without git, one level below the locked directory: a jail takes its
    own lock on its root."""
    with locked_temp_dir(Path(temporary_name(os.fspath(work.place.parent / "merged")))) as place:
        index, files = place.with_name(f"{place.name}.index"), place / "files"
        files.mkdir(mode=0o700)
        try:
            await work.git("read-tree", tree, index=index)
            await work.git("checkout-index", "-a", f"--prefix={files}/", index=index, top=os.fspath(files))
            yield files
        finally:
            index.unlink(missing_ok=True)
