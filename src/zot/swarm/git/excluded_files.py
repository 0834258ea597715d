"""Files a worktree or merge excludes: submodules, LFS contents, nested repositories. They are reported, not fetched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.swarm.git.safe_git import ScratchRepository

SUBMODULE, LINK = "160000", "120000"
_NAMED = 8  # entries of a list in a message


class Entries(msgspec.Struct, frozen=True):
    """Submodules and LFS pointers among the files of a tree or index."""

    submodules: tuple[str, ...]
    uses_lfs: bool


async def missing_from_worktree(work: ScratchRepository, commit: str, repositories: Iterable[str]) -> tuple[str, ...]:
    """Notes on files a worktree of ``commit`` excludes; ``repositories`` are nested in the origin."""
    rows = ((mode, blob, name) for name, (mode, blob) in (await work.entries(commit)).items())
    found = await _looked_at(work, rows)
    notes: list[str] = []
    if found.submodules:
        notes.append(f"submodules are not checked out: {named(found.submodules)}")
    if found.uses_lfs:
        notes.append("Git LFS files are not fetched: the worktree has their pointers")
    if inner := [name.rstrip("/") for name in repositories]:
        notes.append(f"nested repositories are excluded: {named(inner)}")
    return tuple(notes)


async def nested_repositories(work: ScratchRepository, besides: Path) -> list[str]:
    """Nested repositories that are no submodules, without ``besides`` and ignored ones."""
    top = work.repository.top
    index = Path(work.repository.own) / "index"
    done = await work.try_git("ls-files", "-z", "--others", "--exclude-standard", index=index, top=top)
    names = [os.fsdecode(name) for name in done.out.split(b"\0") if name.endswith(b"/")] if done.code == 0 else []
    ours = os.path.join(os.path.realpath(besides), "")
    return [name for name in names if not os.path.join(os.path.realpath(top), name).startswith(ours)]


async def excluded_from_merge(
    work: ScratchRepository, index: Path, top: str, repositories: Sequence[str], change: tuple[str, str] | None = None
) -> tuple[str, ...]:
    """Notes on files in a worker's tree that no merge takes; with a ``change`` also its Git LFS files."""
    notes: list[str] = []
    if repositories:
        own = named(name.rstrip("/") for name in repositories)
        notes.append(f"a nested repository is excluded: {own}")
    found = await _looked_at(work, _staged(await work.git("ls-files", "-z", "--stage", index=index, top=top)))
    if filled := [name for name in found.submodules if _has_files(os.path.join(top, name))]:
        notes.append(f"changes in submodules are excluded: {named(filled)}")
    if found.uses_lfs and change is not None and (pointers := await _in_lfs(work, index, top, change)):
        notes.append(f"Git LFS is not run, so these files are taken as they are: {named(pointers)}")
    return tuple(notes)


def _staged(out: bytes) -> Iterable[tuple[str, str, str]]:
    for row in out.split(b"\0"):
        if row:
            about, _, name = row.partition(b"\t")
            mode, blob, _ = about.decode().split(" ")
            yield mode, blob, os.fsdecode(name)


async def _looked_at(work: ScratchRepository, rows: Iterable[tuple[str, str, str]]) -> Entries:
    submodules: list[str] = []
    attributes: list[str] = []
    for mode, blob, name in rows:
        if mode == SUBMODULE:
            submodules.append(name)
        elif name.rpartition("/")[2] == ".gitattributes" and mode != LINK:
            attributes.append(blob)
    given = "".join(f"{blob}\n" for blob in attributes).encode()
    uses_lfs = bool(attributes) and b"filter=lfs" in await work.git("cat-file", "--batch", given=given)
    return Entries(tuple(submodules), uses_lfs)


async def _in_lfs(work: ScratchRepository, index: Path, top: str, change: tuple[str, str]) -> list[str]:
    given = await work.git("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=d", *change)
    out = await work.git("check-attr", "-z", "--cached", "--stdin", "filter", given=given, index=index, top=top)
    fields = out.split(b"\0")
    pairs = zip(fields[0::3], fields[2::3], strict=False)
    return [os.fsdecode(name) for name, value in pairs if value == b"lfs"]


def _has_files(directory: str) -> bool:
    with suppress(OSError), os.scandir(directory) as entries:
        return any(True for _ in entries)
    return False


def named(paths: Iterable[str]) -> str:
    """The first names of a list, and how many more."""
    every = sorted(paths)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return ", ".join(every[:_NAMED]) + more
