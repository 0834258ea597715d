"""Attacks by a worker of a swarm: it owns its tree, and writes there, and in git's configuration, what git would run.

Our git looks at the tree, commits what is in it, merges it and removes it. Whoever gets something to run, wins.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from attack.table import attack
from tests.unit.swarm.repositories import git, put, repository, worker
from zot.swarm.git.merge import MergeSource, merge
from zot.swarm.git.safe_git import find_repository, scratch_repository
from zot.swarm.git.worktrees import commit_all, create, diff, diffstat, remove
from zot.swarm.worker_records import WorktreeRecord


class Trap:
    """A program that leaves a mark when somebody runs it."""

    def __init__(self, place: Path) -> None:
        self.mark = place / "it-ran"
        self.program = place / "trap.sh"
        put(self.program, f"#!/bin/sh\ntouch '{self.mark}'\ncat\nexit 0\n")
        self.program.chmod(0o755)


def hooks_of_the_repository(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit"):
        put(repo / ".git/hooks" / name, trap.program.read_text())
        (repo / ".git/hooks" / name).chmod(0o755)


def settings_of_the_repository(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    run = str(trap.program)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "core.editor", "core.sshCommand", "gpg.program"):
        git(repo, "config", name, run)
    git(repo, "config", "core.hooksPath", str(trap.program.parent))
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "alias.diff-tree", f"!{run}")
    git(repo, "config", "core.fsmonitorHookVersion", "2")


def drivers_by_attributes(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    for name in ("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command"):
        git(repo, "config", name, str(trap.program))
    git(repo, "config", "merge.x.driver", f"{trap.program} %A")
    put(Path(tree.path, ".gitattributes"), "* filter=x diff=x merge=x\n[attr]binary filter=x\n")


def an_included_file(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    put(Path(tree.path, "more"), f"[core]\n\tfsmonitor = {trap.program}\n\thooksPath = {trap.program.parent}\n")
    git(repo, "config", "include.path", str(Path(tree.path, "more")))
    git(repo, "config", "includeIf.gitdir:/**.path", str(Path(tree.path, "more")))


def another_repository_instead_of_git(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    shutil.rmtree(Path(tree.path, ".git"))
    git(Path(tree.path), "init", "-q")
    git(Path(tree.path), "config", "core.fsmonitor", str(trap.program))
    git(Path(tree.path), "config", "core.hooksPath", str(trap.program.parent))


def a_git_file_that_points_elsewhere(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    git(other, "config", "core.fsmonitor", str(trap.program))
    shutil.rmtree(Path(tree.path, ".git"))
    Path(tree.path, ".git").write_text(f"gitdir: {other}/.git\n")


def a_common_directory_elsewhere(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    git(other, "config", "core.fsmonitor", str(trap.program))
    Path(tree.path, ".git/config.worktree").write_text(f"[core]\n\tfsmonitor = {trap.program}\n")
    Path(tree.path, ".git/commondir").write_text(f"{other}/.git\n")


def its_own_settings_and_hooks(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    for name in ("core.fsmonitor", "diff.external", "filter.x.clean", "core.pager", "uploadpack.packObjectsHook"):
        git(Path(tree.path), "config", name, str(trap.program))
    put(Path(tree.path, ".gitattributes"), "* filter=x\n")
    for name in ("post-index-change", "reference-transaction", "pre-commit"):
        put(Path(tree.path, ".git/hooks", name), trap.program.read_text())
        Path(tree.path, ".git/hooks", name).chmod(0o755)


def a_link_instead_of_git(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    shutil.rmtree(Path(tree.path, ".git"))
    os.symlink(other / ".git", Path(tree.path, ".git"))


def objects_elsewhere(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    put(other / "a.txt", "private\n")
    git(other, "commit", "-qam", "private")
    with Path(tree.path, ".git/objects/info/alternates").open("a") as file:
        file.write(f"{other}/.git/objects\n")
    Path(tree.path, ".git/refs/heads", tree.branch).write_text(git(other, "rev-parse", "HEAD") + "\n")


def an_invalid_commit(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    made = git(Path(tree.path), "commit-tree", "-p", tree.base, "-m", "x", f"{tree.base}^{{tree}}")
    Path(tree.path, ".git/refs/heads", tree.branch).write_text(made + "\n")
    loose = Path(tree.path, ".git/objects", made[:2], made[2:])
    loose.chmod(0o600)
    loose.write_bytes(b"x" + loose.read_bytes()[1:])


def a_repository_inside(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    inner = repository(Path(tree.path, "inner"))
    git(inner, "config", "core.fsmonitor", str(trap.program))
    git(Path(tree.path), "add", "inner")


def a_repository_instead_of_a_submodule(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    inner = repository(Path(tree.path, "sub", "x").parent / "inner")
    for name in inner.iterdir():
        name.rename(inner.parent / name.name)
    git(inner.parent, "config", "core.fsmonitor", str(trap.program))


def its_own_index(repo: Path, tree: WorktreeRecord, trap: Trap) -> None:
    git(Path(tree.path), "update-index", "--assume-unchanged", "a.txt")
    git(Path(tree.path), "update-index", "--skip-worktree", "src/b.txt")


ORIGINAL = {"a.txt": "one\ntwo\nthree\n", "src/b.txt": "b\n"}
TRICKS: list[Callable[[Path, WorktreeRecord, Trap], None]] = [
    hooks_of_the_repository,
    settings_of_the_repository,
    drivers_by_attributes,
    an_included_file,
    another_repository_instead_of_git,
    a_git_file_that_points_elsewhere,
    a_common_directory_elsewhere,
    a_repository_inside,
    a_repository_instead_of_a_submodule,
    its_own_index,
    its_own_settings_and_hooks,
    a_link_instead_of_git,
    objects_elsewhere,
    an_invalid_commit,
]


async def tried(scratch: Path, trick: Callable[[Path, WorktreeRecord, Trap], None]) -> None:
    """Play it, and do all that is done with a worker's tree; AssertionError says what happened."""
    tmp_path, trap = scratch, Trap(scratch)
    repo = repository(tmp_path / "repo")
    inner = repository(tmp_path / "inner")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repo, "commit", "-qam", "a submodule")
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "changed\n")
    put(Path(tree.path, "src/b.txt"), "changed\n")
    trick(repo, tree, trap)
    trap.mark.unlink(missing_ok=True)  # the trick's own git
    assert "changed" in (await diff(tree)).decode()
    assert (await diffstat(tree)).files >= 2
    async with scratch_repository(await find_repository(repo), Path(tree.path).parent) as work:
        done = await commit_all(work, tree, "x")
    changes = MergeSource(worker="w-1", name="w", task="x", tree=tree)
    assert (await merge([changes])).rows[0].outcome == "merged"
    assert (repo / "src/b.txt").read_text() == "changed\n"
    for name in ("a.txt", "src/b.txt"):  # as before, without asking git
        put(repo / name, ORIGINAL[name])
    assert (await merge([changes], how="no-ff")).rows[0].outcome == "merged"
    put(repo / "a.txt", "the user's\n")
    second = await create(repo, tmp_path / "agents/s-1", "s", "s-1", include_dirty=True)
    assert await remove(second.tree) == () == await remove(tree)
    assert not trap.mark.exists(), f"{trick.__name__} was run"
    assert git(repo, "-c", "alias.diff-tree=", "cat-file", "blob", f"{done}:src/b.txt") == "changed"
    assert git(repo, "merge-base", "--is-ancestor", tree.base, done) == ""
    assert "private" not in git(repo, "log", "--format=%s", done)
    assert "160000" not in git(repo, "diff-tree", "--no-ext-diff", "-r", tree.base, done)


for trick in TRICKS:

    @attack("swarm", f"a worker's tree: {trick.__name__.replace('_', ' ')}", expect="nothing in it runs", quick=False)
    def row(scratch: Path, trick: Callable[[Path, WorktreeRecord, Trap], None] = trick) -> str:
        try:
            asyncio.run(tried(scratch, trick))
        except AssertionError as error:
            return str(error) or "it did not go as it should"
        return ""
