"""Hostile files in a worker's tree: git executes nothing from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from attack.worker_trees import TRICKS, Trap, tried
from tests.unit.swarm.repositories import everything, git, put, repository, worker
from zot.errors import GitFailed
from zot.swarm.git.safe_git import find_repository, scratch_repository
from zot.swarm.git.worktrees import commit_all, diff, diffstat, remove
from zot.swarm.worker_records import WorktreeRecord


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
async def test_hostile_tree_executes_nothing(
    tmp_path: Path, trick: Callable[[Path, WorktreeRecord, Trap], None]
) -> None:
    await tried(tmp_path, trick)


async def test_symbolic_branch_does_not_move_the_users(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    put(repo / "a.txt", "later\n")
    git(repo, "commit", "-qam", "later")
    head = git(repo, "rev-parse", "main")
    git(repo, "symbolic-ref", f"refs/heads/{tree.branch}", "refs/heads/main")
    put(Path(tree.path, "src/b.txt"), "mine\n")
    async with scratch_repository(await find_repository(repo), Path(tree.path).parent) as work:
        made = await commit_all(work, tree, "x")
    assert git(repo, "rev-parse", "main") == head
    assert git(repo, "rev-parse", f"{made}^") == tree.base
    git(repo, "symbolic-ref", f"refs/heads/{tree.branch}", "refs/heads/main")
    await remove(tree)
    assert git(repo, "rev-parse", "main") == head


@pytest.mark.parametrize("name", ["a.txt", ".gitattributes", "src/.gitignore"])
async def test_pipe_instead_of_file_is_one_line(tmp_path: Path, name: str) -> None:
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
    with pytest.raises(GitFailed, match="is missing"):
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
