"""Changes put together by git's own three-way merge, on trees alone: no working tree, index or branch is touched."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from zot.errors import GitFailed
from zot.swarm.git import apply_merge
from zot.swarm.git.merge_target import Target
from zot.swarm.git.safe_git import ScratchRepository
from zot.swarm.worker_records import WorktreeRecord
from zot.system.temp_files import held_directory, temporary_name

YOURS = "yours"  # how conflict markers call the user's side
_MOST_SHOWN = 40  # lines of a conflict


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """``why`` is git's sentence; ``sides`` are the lines of both between the usual markers, if there are any."""

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
    """The merged tree, with markers in it where there are conflicts; the names are what the markers say."""
    done = await work.try_git("merge-tree", "--write-tree", "-z", "--messages", ours, theirs)
    if done.code not in (0, 1):
        raise GitFailed(f"git cannot merge {theirs}: {done.said.strip().splitlines()[:1]}")
    fields = done.out.split(b"\0")
    tree = fields[0].decode()
    if done.code == 0:
        return tree, ()
    end = fields.index(b"", 1)
    paths = dict.fromkeys(os.fsdecode(field.partition(b"\t")[2]) for field in fields[1:end])
    told = _messages(fields[end + 1 :])
    return tree, tuple([await _conflict(work, tree, path, told) for path in paths])


def _messages(fields: list[bytes]) -> list[tuple[list[str], str]]:
    """Of each: the paths it is about, and what it says."""
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


async def _conflict(work: ScratchRepository, tree: str, path: str, told: list[tuple[list[str], str]]) -> Conflict:
    why = next((text for paths, text in told if path in paths), f"both sides changed {path}")
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
    """Uncommitted changes of the user that a worker began with and that are unchanged: each path with its entry, and
    the target's tree with them in it."""
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
    """The files of a tree in a directory of their own, without git, gone at the end."""
    with held_directory(Path(temporary_name(os.fspath(work.place.parent / "merged")))) as place:
        index = place.with_name(f"{place.name}.index")
        try:
            await work.git("read-tree", tree, index=index)
            await work.git("checkout-index", "-a", f"--prefix={place}/", index=index, top=os.fspath(place))
            yield place
        finally:
            index.unlink(missing_ok=True)
