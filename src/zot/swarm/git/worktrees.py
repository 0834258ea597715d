"""A worker's worktree: files of a commit on a new branch, in its own directory.

It is a separate repository that borrows the user's objects, so a worker can damage only its own. Changes are read from
the files; its commits are taken over if they are valid.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Container, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from zot.errors import GitFailed, describe_error
from zot.swarm.git import excluded_files
from zot.swarm.git.apply_merge import obstacle
from zot.swarm.git.safe_git import (
    Repository,
    ScratchRepository,
    check_version,
    copy_with_time,
    find_repository,
    own_config,
    scratch_repository,
    write_new,
)
from zot.swarm.worker_records import WorktreeRecord
from zot.swarm.worker_store import MAKING
from zot.system.files import make_private_dir
from zot.system.safe_open import read_whole
from zot.system.temp_files import remove_tree

TREE, INDEX, ONTO = "tree", "index", "onto.json"  # in a worker's directory
_FULL = 64 << 10
_MOST_NAMES = 1_000
_LARGEST_POINTER, _LARGEST_REFERENCES = 4096, 1 << 20
_RULES = (".gitattributes", ".gitignore")
_DIRTY = "What was uncommitted when the worker began"


class CreatedWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """``cwd`` is the worker's directory in the worktree; ``notes`` are messages for the user."""

    tree: WorktreeRecord
    cwd: Path
    notes: tuple[str, ...] = ()


class Diffstat(msgspec.Struct, frozen=True):
    files: int = 0
    added: int = 0
    removed: int = 0

    def __str__(self) -> str:
        return f"{self.files} {'file' if self.files == 1 else 'files'}, +{self.added} -{self.removed}"


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """``tree`` is a snapshot of a directory with its ``index``; ``left`` files are excluded."""

    tree: str
    index: Path
    left: tuple[str, ...] = ()


# --- creating


async def create(cwd: Path, directory: Path, name: str, worker: str, *, include_dirty: bool = False) -> CreatedWorktree:
    """A worktree in ``directory`` for the repository of ``cwd``. After GitFailed nothing is left."""
    await check_version()
    repository = await find_repository(cwd)
    path = directory / TREE
    if os.path.lexists(path):
        raise GitFailed(f"{path} is there already")
    make_private_dir(directory)
    async with scratch_repository(repository, directory) as work:
        base, branch = await work.head()
        first = await _taken_along(work, base) if include_dirty else ""
        base_commit = first or base
        inner = await excluded_files.nested_repositories(work, directory.parent)
        notes = await excluded_files.missing_from_worktree(work, base_commit, inner)
        if not branch:
            notes = (*notes, "HEAD is detached: merging needs --into BRANCH")
        own = worker if worker.startswith(f"{name}-") else f"{name}-{worker.rpartition('-')[2]}"  # with its number
        with _announced(directory, repository, _plain(own)):
            reference = await _new_branch(work, _plain(own), base_commit)
            where = {"repository": repository.top, "path": os.fspath(path), "objects": repository.objects}
            tree = WorktreeRecord(**where, branch=reference, base=base, first=first)
            try:
                path.mkdir(mode=0o700)
                init_git_dir(repository, tree, base_commit)
                await _fill(work, tree, base_commit)
            except (OSError, GitFailed) as error:
                why = "No space left on device" if _is_full(directory) else describe_error(error)
                await _clear(work, tree)
                raise GitFailed(f"the worktree of {worker} cannot be created: {why}") from error
            except BaseException:
                await _clear(work, tree)
                raise
    inside = os.path.relpath(os.path.realpath(cwd), os.path.realpath(repository.top))
    below = path if inside.startswith("..") else path / inside
    return CreatedWorktree(tree=tree, cwd=below if below.is_dir() else path, notes=notes)


@contextmanager
def _announced(directory: Path, repository: Repository, branch: str) -> Generator[None]:
    """Names the repository, so that a branch left by a kill is found. Exists until the worker has a record."""
    making = directory / MAKING
    try:
        write_new(making, os.fsencode(f"{repository.top}\0{branch}"))
        yield
    except BaseException as error:
        making.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise GitFailed(f"cannot create a worktree in {directory}: {describe_error(error)}") from error
        raise


def _is_full(directory: Path) -> bool:
    """git names only the file it could not write."""
    with suppress(OSError):
        info = os.statvfs(directory)
        return info.f_bavail * info.f_frsize < _FULL or (info.f_files > 0 and info.f_favail == 0)
    return False


def _plain(text: str) -> str:
    """A valid branch name."""
    return re.sub(r"\.lock$|^[.-]+|[.-]+$", "", re.sub(r"[^A-Za-z0-9_.-]+|\.\.+", "-", text)) or "worker"


async def _new_branch(work: ScratchRepository, wanted: str, base_commit: str) -> str:
    """``zot/WANTED``, with a number if it exists; another prefix if a branch ``zot`` exists."""
    taken = await work.branches()
    room = "zot/" if "refs/heads/zot" not in taken else "zot-"
    for number in range(1, _MOST_NAMES):
        branch = f"{room}{wanted}" if number == 1 else f"{room}{wanted}-{number}"
        if f"refs/heads/{branch}" in taken:
            continue
        if await work.update_branch(f"refs/heads/{branch}", base_commit, "", "zot swarm: start"):
            return branch
        if number == 3:  # another name would not help
            break
    raise GitFailed(f"no branch {room}{wanted} could be made in {work.repository.common}")


def own_git(tree: WorktreeRecord) -> Path:
    """The worker's git directory; its content is untrusted."""
    return Path(tree.path) / ".git"


def init_git_dir(repository: Repository, tree: WorktreeRecord, commit: str) -> None:
    """A git directory with only the branch: no hooks, remotes or templates."""
    own = own_git(tree)
    own.mkdir()
    for name in ("objects/info", "objects/pack", "info", f"refs/heads/{os.path.dirname(tree.branch)}"):
        (own / name).mkdir(parents=True)
    write_new(own / "config", own_config(repository), 0o644)
    write_new(own / "HEAD", f"ref: refs/heads/{tree.branch}\n".encode(), 0o644)
    write_new(own / "refs" / "heads" / tree.branch, f"{commit}\n".encode(), 0o644)
    write_new(own / "objects" / "info" / "alternates", _borrows(repository), 0o644)
    for name in ("shallow", "info/exclude"):
        with suppress(OSError):
            write_new(own / name, read_whole(Path(repository.common) / name), 0o644)


def _borrows(repository: Repository) -> bytes:
    return os.fsencode(repository.objects) + b"\n"


def reset_git_dir(work: ScratchRepository, tree: WorktreeRecord, commit: str, index: Path) -> None:
    """Replaces the git directory with a new one on ``commit`` with ``index``."""
    if os.path.lexists(own_git(tree)):
        os.rename(own_git(tree), work.place / f"git-{os.urandom(4).hex()}")
    init_git_dir(work.repository, tree, commit)
    copy_with_time(index, own_git(tree) / "index")


async def _fill(work: ScratchRepository, tree: WorktreeRecord, commit: str) -> None:
    """Writes the files and two indexes: one for the worker, one to compare with later."""
    index = work.place / "index-of-tree"
    await work.git("read-tree", "-m", "-u", "--no-recurse-submodules", commit, index=index, top=tree.path)
    own = Path(tree.path).parent / INDEX
    own.unlink(missing_ok=True)
    copy_with_time(index, own)
    copy_with_time(index, own_git(tree) / "index")


async def _taken_along(work: ScratchRepository, base: str) -> str:
    """A commit of the origin's uncommitted and new files; empty if there are none."""
    index = work.place / "index"
    await work.copy_index(Path(work.repository.own) / "index", index, base)
    taken = await snapshot(work, index, work.repository.top)
    if taken.tree == await work.line("rev-parse", f"{base}^{{tree}}"):
        return ""
    return await work.commit(taken.tree, (base,), _DIRTY)


# --- reading


async def snapshot(work: ScratchRepository, index: Path, top: str) -> Snapshot:
    """The files below ``top``, tracked or new and not ignored, as a tree. ``index`` is the start and is updated.
    Nested repositories are skipped and submodules unchanged: running git in them could run their programs."""
    await work.git("update-index", "-q", "--ignore-submodules", "--really-refresh", index=index, top=top, codes=(0, 1))
    tracked = await work.git("diff-files", "-z", "--name-only", "--ignore-submodules=all", index=index, top=top)
    others = await work.git("ls-files", "-z", "--others", "--exclude-standard", index=index, top=top)
    new = [name for name in others.split(b"\0") if name]
    taken = [name for name in (*tracked.split(b"\0"), *new) if name and not name.endswith(b"/")]
    if taken:
        # git refuses names behind a link or file that took the place of their directory
        gone = {name for name in taken if obstacle(top, os.fsdecode(name))}
        if gone:
            given = b"".join(name + b"\0" for name in gone)
            await work.git("update-index", "-z", "--force-remove", "--stdin", given=given, index=index, top=top)
        given = b"".join(name + b"\0" for name in dict.fromkeys(taken) if name not in gone)
        words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
        await work.git(*words, given=given, index=index, top=top)
    left = tuple(os.fsdecode(name) for name in new if name.endswith(b"/"))
    return Snapshot(tree=await work.line("write-tree", index=index), index=index, left=left)


class Onto(msgspec.Struct, frozen=True):
    """A merge into the worktree for conflict repair; later changes count from it."""

    commit: str
    files: tuple[str, ...]


def base_commit(tree: WorktreeRecord) -> str:
    """The base of its changes: its start, or the last merge into it."""
    onto = _onto(tree)
    return onto.commit if onto is not None else tree.first or tree.base


def repair_files(tree: WorktreeRecord) -> tuple[str, ...]:
    """Files its worker was asked to repair."""
    onto = _onto(tree)
    return onto.files if onto is not None else ()


def _onto(tree: WorktreeRecord) -> Onto | None:
    try:
        return msgspec.json.decode(read_whole(Path(tree.path).parent / ONTO), type=Onto)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None


async def snapshot_worktree(work: ScratchRepository, tree: WorktreeRecord) -> Snapshot:
    """A snapshot of a worker's worktree."""
    if not os.path.isdir(tree.path) or os.path.islink(tree.path):
        raise GitFailed(f"the worktree {tree.path} is missing")
    await asyncio.to_thread(_check_rules, tree.path)
    index = work.place / "index"
    index.unlink(missing_ok=True)
    await work.copy_index(Path(tree.path).parent / INDEX, index, base_commit(tree))
    return await snapshot(work, index, tree.path)


def _check_rules(top: str) -> None:
    """Refuses pipes under names that git opens in every directory."""
    waiting = [top]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name in _RULES and not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                    raise GitFailed(f"{os.path.relpath(entry.path, top)} is a pipe or a device, not a file")


async def left_behind(tree: WorktreeRecord) -> tuple[str, ...]:
    """Notes on files in the worktree that diffs and merges exclude."""
    async with scratch_repository(await find_repository(tree.repository), Path(tree.path).parent, looks=True) as work:
        now = await snapshot_worktree(work, tree)
        return await excluded_files.excluded_from_merge(work, now.index, tree.path, now.left)


async def diffstat(tree: WorktreeRecord) -> Diffstat:
    """Counts of a worker's changes, including uncommitted ones."""
    async with scratch_repository(await find_repository(tree.repository), Path(tree.path).parent, looks=True) as work:
        now = await snapshot_worktree(work, tree)
        numbers = await work.git("diff-tree", "-r", "-z", "--numstat", *_PLAIN, base_commit(tree), now.tree)
        rows = [row.split(b"\t") for row in numbers.split(b"\0") if row.count(b"\t") == 2]
        counts = [[int(field) if field.isdigit() else 0 for field in row[:2]] for row in rows]
        return Diffstat(len(rows), sum(added for added, _ in counts), sum(removed for _, removed in counts))


async def diff(tree: WorktreeRecord, *, binary: bool = False) -> bytes:
    """The same in git's unified format; with ``binary``, so that ``git apply`` can use all of it."""
    async with scratch_repository(await find_repository(tree.repository), Path(tree.path).parent, looks=True) as work:
        now = await snapshot_worktree(work, tree)
        words = ("--binary", "--full-index") if binary else ()
        return await work.git("diff-tree", "-r", "-p", "-M", *words, *_PLAIN, base_commit(tree), now.tree)


_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")


# --- changing


async def commit_all(work: ScratchRepository, tree: WorktreeRecord, message: str, now: Snapshot | None = None) -> str:
    """A commit with all of a worker's work on its branch: its valid commits, and the rest in the swarm's name."""
    now = now or await snapshot_worktree(work, tree)
    start = tree.first or tree.base
    reference = f"refs/heads/{tree.branch}"
    was = await work.tip(reference)
    tip = was if was and await _is_ancestor(work, start, was) else start
    parents = await _with_own_commits(work, tree, tip)
    onto = base_commit(tree)
    if onto not in (start, *parents) and not await _is_ancestor(work, onto, parents[0]):
        parents.append(onto)
    made = parents[0]
    if len(parents) > 1 or now.tree != await work.line("rev-parse", f"{made}^{{tree}}"):
        made = await work.commit(now.tree, parents, message or "Work of a worker")
    if made != was:
        if not was:  # it is missing or symbolic
            await work.forget(reference)
        if not await work.update_branch(reference, made, was, "zot swarm: what was done"):
            raise GitFailed(f"the branch {tree.branch} moved during the merge; try again")
    return made


async def _with_own_commits(work: ScratchRepository, tree: WorktreeRecord, tip: str) -> list[str]:
    """The parent of its work: ``tip``, or its own HEAD if that is ahead."""
    own = head_of(own_git(tree))
    if not own or own == tip or not await _take_over(work, tree, own):
        return [tip]
    if not await _is_ancestor(work, tree.first or tree.base, own) or await _is_ancestor(work, own, tip):
        return [tip]
    return [own] if await _is_ancestor(work, tip, own) else [tip, own]


async def _take_over(work: ScratchRepository, tree: WorktreeRecord, commit: str) -> bool:
    """Copies a commit of the worker into the user's repository; False if missing or invalid."""
    if (await work.try_git("cat-file", "-e", f"{commit}^{{commit}}")).code == 0:
        return True
    objects = own_git(tree) / "objects"
    real = [path for path in (own_git(tree), objects, objects / "info") if path.is_dir() and not path.is_symlink()]
    try:
        borrows = read_whole(objects / "info" / "alternates", _LARGEST_POINTER)
    except OSError:
        return False
    if len(real) != 3 or borrows != _borrows(work.repository):
        return False  # a link to another place
    return await work.import_commit(os.fspath(objects), commit, tree.first or tree.base)


async def _is_ancestor(work: ScratchRepository, old: str, new: str) -> bool:
    return (await work.try_git("merge-base", "--is-ancestor", old, new)).code == 0


def head_of(directory: Path) -> str:
    """A checkout's HEAD commit, read from files: git would use its untrusted configuration."""
    if directory.is_symlink():
        return ""
    try:
        text = _text(directory / "HEAD", directory)
        for _ in range(5):
            if not text.startswith("ref: "):
                break
            name = text[5:].strip()
            if not name.startswith("refs/") or ".." in name:
                text = ""
            else:
                try:
                    text = _text(directory / name, directory)
                except OSError:
                    packed = _text(directory / "packed-refs", directory).splitlines()
                    text = next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
    except OSError:
        return ""
    return text if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) else ""


def _text(path: Path, within: Path) -> str:
    return read_whole(path, _LARGEST_REFERENCES, within).decode("utf-8", "replace").strip()


async def put(work: ScratchRepository, tree: WorktreeRecord, head: str, whole: str) -> None:
    """Sets the tree to ``whole`` on ``head``. A missing worktree is not recreated; the branch has the work."""
    there = os.path.isdir(tree.path) and not os.path.islink(tree.path)
    reference = f"refs/heads/{tree.branch}"
    if there:
        index = (await snapshot_worktree(work, tree)).index
        await work.git("read-tree", "--reset", "-u", "--no-recurse-submodules", whole, index=index, top=tree.path)
        await work.git("read-tree", "-m", head, index=index, top=tree.path)
        reset_git_dir(work, tree, head, index)
    if not await work.update_branch(
        reference, head if there else whole, await work.tip(reference), "zot swarm: work elsewhere"
    ):
        raise GitFailed(f"the branch {tree.branch} moved during the merge; try again")


async def remove(tree: WorktreeRecord) -> tuple[str, ...]:
    """Deletes worktree and branch; returns what could not be deleted. Idempotent."""
    remove_tree(tree.path)
    try:
        repository = await find_repository(tree.repository)
    except GitFailed:
        return ()  # the repository, and with it the branch, is missing
    async with scratch_repository(repository, Path(tree.path).parent) as work:
        return await _clear(work, tree)


async def remove_unfinished(directory: Path, taken: Container[str]) -> None:
    """Removes what a killed ``create`` left, and its branch unless ``taken``."""
    remove_tree(directory / TREE)
    try:
        top, _, branch = os.fsdecode(read_whole(directory / MAKING, _LARGEST_POINTER)).partition("\0")
        repository = await find_repository(top)
    except (OSError, GitFailed):
        return  # nothing was created, or the repository is missing
    own = re.compile(rf"refs/heads/(zot[/-]{re.escape(branch)}(?:-\d+)?)")
    async with scratch_repository(repository, directory) as work:
        for reference, where in (await work.branches()).items():
            found = own.fullmatch(reference)
            if found is not None and not where and found[1] not in taken:
                await work.forget(reference)


async def _clear(work: ScratchRepository, tree: WorktreeRecord) -> tuple[str, ...]:
    remove_tree(tree.path)
    (Path(tree.path).parent / INDEX).unlink(missing_ok=True)
    branches = await work.branches()
    if where := branches.get(f"refs/heads/{tree.branch}", ""):
        return (f"the branch {tree.branch} stays: it is checked out in {where}",)
    await work.forget(f"refs/heads/{tree.branch}")
    return (f"cannot remove {tree.path}",) if os.path.lexists(tree.path) else ()
