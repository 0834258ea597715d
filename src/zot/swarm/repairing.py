"""A conflict given back to the worker: its tree gets what is in the repository by now, with markers where both changed.

From then on its work is counted from there, so that what it makes of the conflict merges as any other change does.
"""

from __future__ import annotations

import msgspec

from zot.errors import GitFailed
from zot.swarm.git.merge import MergeSource, merge_lock
from zot.swarm.git.merge_target import Target, find_target
from zot.swarm.git.safe_git import ScratchRepository, copy_with_time, find_repository, scratch_repository
from zot.swarm.git.three_way import changes_merged, unchanged_edits
from zot.swarm.git.worktrees import INDEX, ONTO, Onto, base_commit, commit_all, reset_git_dir, snapshot_worktree
from zot.system.files import write_atomic


async def return_conflict(source: MergeSource, into: str = "") -> tuple[str, ...]:
    """The files with markers in them; GitFailed when there is no conflict any more."""
    repository = await find_repository(source.tree.repository)
    async with merge_lock(source.directory.parent), scratch_repository(repository, source.directory) as work:
        target = await find_target(work, into)
        tip = await commit_all(work, source.tree, source.task)
        onto, ours = await _beginning(work, target, source)
        merged, conflicts = await changes_merged(
            work, base_commit(source.tree), ours, f"{tip}^{{tree}}", source.tree.branch
        )
        if not conflicts:
            raise GitFailed(f"there is no conflict any more: merge {source.name}")
        now = await snapshot_worktree(work, source.tree)
        words = ("read-tree", "-m", "-u", "--no-recurse-submodules", now.tree, merged)
        await work.git(*words, index=now.index, top=source.tree.path)
        files = tuple(conflict.path for conflict in conflicts)
        await _count_from(work, source, tip, onto, files)
        return files


async def _beginning(work: ScratchRepository, target: Target, source: MergeSource) -> tuple[str, str]:
    """What is there: a commit, and its tree."""
    tree = await work.line("rev-parse", f"{target.commit}^{{tree}}")
    if not target.top:
        return target.commit, tree
    taken, ours = await unchanged_edits(work, target, [source.tree])
    if ours == tree:
        return target.commit, tree
    return await work.commit(ours, (target.commit,), f"With uncommitted changes in {len(taken)} files"), ours


async def _count_from(
    work: ScratchRepository, source: MergeSource, tip: str, onto: str, files: tuple[str, ...]
) -> None:
    index = work.place / "index-of-onto"
    await work.git("read-tree", onto, index=index)
    words = ("update-index", "-q", "--ignore-submodules", "--refresh")
    await work.git(*words, index=index, top=source.tree.path, codes=(0, 1))
    (source.directory / INDEX).unlink(missing_ok=True)
    copy_with_time(index, source.directory / INDEX)
    reset_git_dir(work, source.tree, tip, index)
    write_atomic(source.directory / ONTO, msgspec.json.encode(Onto(onto, files)))


def repair_prompt(files: tuple[str, ...]) -> str:
    """What the worker is told."""
    return (
        "Your changes conflict with what is in the repository by now. Both are merged into your working tree; these "
        f"files have conflict markers (<<<<<<<, =======, >>>>>>>): {', '.join(files)}. Mend each so that both "
        "intentions hold, remove the markers, run what tests there are, and say in a few words what you decided."
    )
