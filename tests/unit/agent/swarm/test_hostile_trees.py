"""A worker owns its tree, and may write there whatever git would run or obey. Ours runs nothing of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.agent.swarm.repositories import everything, git, put, repository, worker
from zot.agent.swarm.merging import Source, merge
from zot.agent.swarm.records import Tree
from zot.agent.swarm.safe_git import desk, find_repository
from zot.agent.swarm.worktrees import commit_leftovers, create, diff, diffstat, remove
from zot.errors import GitFailed


class Trap:
    """A program that leaves a mark when somebody runs it."""

    def __init__(self, place: Path) -> None:
        self.mark = place / "it-ran"
        self.program = place / "trap.sh"
        put(self.program, f"#!/bin/sh\ntouch '{self.mark}'\ncat\nexit 0\n")
        self.program.chmod(0o755)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def hooks_of_the_repository(repo: Path, tree: Tree, trap: Trap) -> None:
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit"):
        put(repo / ".git/hooks" / name, trap.program.read_text())
        (repo / ".git/hooks" / name).chmod(0o755)


def settings_of_the_repository(repo: Path, tree: Tree, trap: Trap) -> None:
    run = str(trap.program)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "core.editor", "core.sshCommand", "gpg.program"):
        git(repo, "config", name, run)
    git(repo, "config", "core.hooksPath", str(trap.program.parent))
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "alias.diff-tree", f"!{run}")
    git(repo, "config", "core.fsmonitorHookVersion", "2")


def drivers_by_attributes(repo: Path, tree: Tree, trap: Trap) -> None:
    for name in ("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command"):
        git(repo, "config", name, str(trap.program))
    git(repo, "config", "merge.x.driver", f"{trap.program} %A")
    put(Path(tree.path, ".gitattributes"), "* filter=x diff=x merge=x\n[attr]binary filter=x\n")


def a_file_that_is_included(repo: Path, tree: Tree, trap: Trap) -> None:
    put(Path(tree.path, "more"), f"[core]\n\tfsmonitor = {trap.program}\n\thooksPath = {trap.program.parent}\n")
    git(repo, "config", "include.path", str(Path(tree.path, "more")))
    git(repo, "config", "includeIf.gitdir:/**.path", str(Path(tree.path, "more")))


def another_repository_in_place_of_git(repo: Path, tree: Tree, trap: Trap) -> None:
    shutil.rmtree(Path(tree.path, ".git"))
    git(Path(tree.path), "init", "-q")
    git(Path(tree.path), "config", "core.fsmonitor", str(trap.program))
    git(Path(tree.path), "config", "core.hooksPath", str(trap.program.parent))


def a_pointer_elsewhere(repo: Path, tree: Tree, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    git(other, "config", "core.fsmonitor", str(trap.program))
    shutil.rmtree(Path(tree.path, ".git"))
    Path(tree.path, ".git").write_text(f"gitdir: {other}/.git\n")


def a_common_directory_elsewhere(repo: Path, tree: Tree, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    git(other, "config", "core.fsmonitor", str(trap.program))
    Path(tree.path, ".git/config.worktree").write_text(f"[core]\n\tfsmonitor = {trap.program}\n")
    Path(tree.path, ".git/commondir").write_text(f"{other}/.git\n")


def its_own_settings_and_hooks(repo: Path, tree: Tree, trap: Trap) -> None:
    for name in ("core.fsmonitor", "diff.external", "filter.x.clean", "core.pager", "uploadpack.packObjectsHook"):
        git(Path(tree.path), "config", name, str(trap.program))
    put(Path(tree.path, ".gitattributes"), "* filter=x\n")
    for name in ("post-index-change", "reference-transaction", "pre-commit"):
        put(Path(tree.path, ".git/hooks", name), trap.program.read_text())
        Path(tree.path, ".git/hooks", name).chmod(0o755)


def a_link_in_place_of_git(repo: Path, tree: Tree, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    shutil.rmtree(Path(tree.path, ".git"))
    os.symlink(other / ".git", Path(tree.path, ".git"))


def objects_elsewhere(repo: Path, tree: Tree, trap: Trap) -> None:
    other = repository(trap.program.parent / "other")
    put(other / "a.txt", "private\n")
    git(other, "commit", "-qam", "private")
    with Path(tree.path, ".git/objects/info/alternates").open("a") as file:
        file.write(f"{other}/.git/objects\n")
    Path(tree.path, ".git/refs/heads", tree.branch).write_text(git(other, "rev-parse", "HEAD") + "\n")


def a_commit_that_is_not_sound(repo: Path, tree: Tree, trap: Trap) -> None:
    made = git(Path(tree.path), "commit-tree", "-p", tree.base, "-m", "x", f"{tree.base}^{{tree}}")
    Path(tree.path, ".git/refs/heads", tree.branch).write_text(made + "\n")
    loose = Path(tree.path, ".git/objects", made[:2], made[2:])
    loose.chmod(0o600)
    loose.write_bytes(b"x" + loose.read_bytes()[1:])


def a_repository_inside(repo: Path, tree: Tree, trap: Trap) -> None:
    inner = repository(Path(tree.path, "inner"))
    git(inner, "config", "core.fsmonitor", str(trap.program))
    git(Path(tree.path), "add", "inner")


def a_repository_in_place_of_a_submodule(repo: Path, tree: Tree, trap: Trap) -> None:
    inner = repository(Path(tree.path, "sub", "x").parent / "inner")
    for name in inner.iterdir():
        name.rename(inner.parent / name.name)
    git(inner.parent, "config", "core.fsmonitor", str(trap.program))


def its_own_index(repo: Path, tree: Tree, trap: Trap) -> None:
    git(Path(tree.path), "update-index", "--assume-unchanged", "a.txt")
    git(Path(tree.path), "update-index", "--skip-worktree", "src/b.txt")


ORIGINAL = {"a.txt": "one\ntwo\nthree\n", "src/b.txt": "b\n"}
TRICKS: list[Callable[[Path, Tree, Trap], None]] = [
    hooks_of_the_repository,
    settings_of_the_repository,
    drivers_by_attributes,
    a_file_that_is_included,
    another_repository_in_place_of_git,
    a_pointer_elsewhere,
    a_common_directory_elsewhere,
    a_repository_inside,
    a_repository_in_place_of_a_submodule,
    its_own_index,
    its_own_settings_and_hooks,
    a_link_in_place_of_git,
    objects_elsewhere,
    a_commit_that_is_not_sound,
]


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
async def test_nothing_of_it_is_run(tmp_path: Path, trap: Trap, trick: Callable[[Path, Tree, Trap], None]) -> None:
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
    async with desk(await find_repository(repo), Path(tree.path).parent) as work:
        done = await commit_leftovers(work, tree, "x")
    changes = Source(worker="w-1", name="w", task="x", tree=tree)
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


async def test_a_branch_that_stands_for_the_users_does_not_move_it(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    put(repo / "a.txt", "later\n")
    git(repo, "commit", "-qam", "later")
    head = git(repo, "rev-parse", "main")
    git(repo, "symbolic-ref", f"refs/heads/{tree.branch}", "refs/heads/main")
    put(Path(tree.path, "src/b.txt"), "mine\n")
    async with desk(await find_repository(repo), Path(tree.path).parent) as work:
        made = await commit_leftovers(work, tree, "x")
    assert git(repo, "rev-parse", "main") == head
    assert git(repo, "rev-parse", f"{made}^") == tree.base
    git(repo, "symbolic-ref", f"refs/heads/{tree.branch}", "refs/heads/main")
    await remove(tree)
    assert git(repo, "rev-parse", "main") == head


@pytest.mark.parametrize("name", ["a.txt", ".gitattributes", "src/.gitignore"])
async def test_a_pipe_in_place_of_a_file_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    before = everything(repo)
    path = Path(tree.path, name)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(GitFailed, match=name) as error:
        await diff(tree)
    assert "\n" not in str(error.value)
    assert everything(repo) == before


async def test_a_file_where_other_systems_would_see_git_is_not_taken(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "src/.GIT/config"), "x\n")
    put(Path(tree.path, "src/c.txt"), "c\n")
    assert (await diffstat(tree)).files == 1


async def test_a_tree_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    private = tmp_path / "private"
    put(private / "secret", "s\n")
    Path(tree.path).rename(tmp_path / "moved")
    os.symlink(private, tree.path)
    with pytest.raises(GitFailed, match="is gone"):
        await diff(tree)
    await remove(tree)
    assert (private / "secret").read_text() == "s\n"


async def test_links_in_a_tree_are_links_in_the_diff(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    put(tmp_path / "private/secret", "not for the diff\n")
    os.symlink(tmp_path / "private", Path(tree.path, "dir"))
    os.symlink(tmp_path / "private/secret", Path(tree.path, "file"))
    text = await diff(tree)
    assert b"not for the diff" not in text and text.count(b"new file mode 120000") == 2
