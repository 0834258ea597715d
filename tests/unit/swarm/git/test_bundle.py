"""A worker's tree goes to a node and returns with its commits and its uncommitted changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from zot.errors import GitFailed
from zot.swarm.git import bundle, worktrees
from zot.swarm.git.bundle import NodeTree
from zot.swarm.worker_records import WorktreeRecord


def git(place: Path, *words: str) -> str:
    own = ("-c", "user.name=Somebody", "-c", "user.email=some@body.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *own, *words], cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    (place / "inside").mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    (place / "kept.txt").write_text("kept\n")
    (place / "goes.txt").write_text("goes\n")
    (place / "inside" / "run.sh").write_text("#!/bin/sh\n")
    (place / "inside" / "run.sh").chmod(0o755)
    (place / ".gitignore").write_text("*.o\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    return place


async def tree_of(repository: Path, tmp_path: Path, worker: str = "w") -> WorktreeRecord:
    return (await worktrees.create(repository, tmp_path / worker, "name", worker)).tree


async def sent(tree: WorktreeRecord, node: Path) -> NodeTree:
    node.mkdir()
    there = NodeTree(node)
    await there.unpack(await bundle.bundled(tree, await bundle.seen_from(tree)))
    return there


async def brought_back(tree: WorktreeRecord, there: NodeTree) -> None:
    seen = await there.look()
    assert seen is not None
    await bundle.receive(tree, "w", seen)
    assert await bundle.apply_received(tree, "w")


async def test_commits_and_uncommitted_changes_round_trip(repository: Path, tmp_path: Path) -> None:
    tree = await tree_of(repository, tmp_path)
    there = await sent(tree, tmp_path / "node")
    assert git(there.path, "status", "--porcelain") == ""
    assert git(there.path, "symbolic-ref", "--short", "HEAD") == tree.branch
    (there.path / "committed.txt").write_text("committed\n")
    git(there.path, "add", "committed.txt")
    git(there.path, "commit", "-qm", "on the node")
    (there.path / "kept.txt").write_text("changed\n")
    (there.path / "goes.txt").unlink()
    (there.path / "new.txt").write_text("new\n")
    (there.path / "left.o").write_text("ignored\n")
    await brought_back(tree, there)
    home = Path(tree.path)
    assert git(home, "log", "--format=%s") == "on the node\nfirst"
    assert git(home, "status", "--porcelain") == " D goes.txt\n M kept.txt\n?? new.txt"
    assert (home / "kept.txt").read_text() == "changed\n"
    assert not (home / "goes.txt").exists() and not (home / "left.o").exists()
    assert git(repository, "status", "--porcelain") == "" and git(repository, "branch", "--show-current") == "main"
    assert git(repository, "for-each-ref", "refs/zot") == ""


async def test_a_second_attempt_begins_where_the_first_was_seen_last(repository: Path, tmp_path: Path) -> None:
    tree = await tree_of(repository, tmp_path)
    first = await sent(tree, tmp_path / "node")
    (first.path / "half.txt").write_text("half\n")
    (first.path / "goes.txt").unlink()
    await brought_back(tree, first)
    second = await sent(tree, tmp_path / "other")
    assert git(second.path, "status", "--porcelain") == " D goes.txt\n?? half.txt"
    assert await second.look() is None
    (second.path / "half.txt").unlink()
    git(second.path, "checkout", "-q", "--", "goes.txt")
    await brought_back(tree, second)
    assert git(Path(tree.path), "status", "--porcelain") == ""


async def test_hostile_git_directory_of_worker_is_not_executed(repository: Path, tmp_path: Path) -> None:
    tree = await tree_of(repository, tmp_path)
    there = await sent(tree, tmp_path / "node")
    trap = tmp_path / "sprung"
    own = there.path / ".git"
    (own / "hooks").mkdir(exist_ok=True)
    for name in ("pre-commit", "reference-transaction", "post-index-change"):
        (own / "hooks" / name).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (own / "hooks" / name).chmod(0o755)
    with (own / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "touch {trap}"\n[filter "x"]\n\tclean = "touch {trap}; cat"\n')
    (there.path / ".gitattributes").write_text("* filter=x\n")
    (there.path / "kept.txt").write_text("changed\n")
    await brought_back(tree, there)
    assert (Path(tree.path) / "kept.txt").read_text() == "changed\n"
    assert not trap.exists()


async def test_broken_git_directory_loses_commits_not_files(repository: Path, tmp_path: Path) -> None:
    tree = await tree_of(repository, tmp_path)
    there = await sent(tree, tmp_path / "node")
    (there.path / "kept.txt").write_text("changed\n")
    (there.path / ".git" / "HEAD").write_text("ref: refs/heads/../../outside\n")
    await brought_back(tree, there)
    assert git(Path(tree.path), "status", "--porcelain") == " M kept.txt"


def _with_history(repository: Path, tmp_path: Path, *how: str) -> Path:
    """A clone that has not all of four commits, and of a branch beside them."""
    for number in (2, 3, 4):
        (repository / "kept.txt").write_text(f"kept {number}\n")
        git(repository, "commit", "-qam", f"number {number}")
    git(repository, "switch", "-qc", "other", "HEAD~2")
    for number in (5, 6, 7):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"number {number}")
    git(repository, "switch", "-q", "main")
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", *how, f"file://{repository}", "clone")
    return tmp_path / "clone"


async def test_a_shallow_clone_travels_as_far_as_its_history_goes(repository: Path, tmp_path: Path) -> None:
    clone = _with_history(repository, tmp_path, "--depth=2", "--no-single-branch")
    tree = await tree_of(clone, tmp_path)
    there = await sent(tree, tmp_path / "node")
    assert git(there.path, "log", "--format=%s") == "number 4\nnumber 3"
    assert git(there.path, "fsck", "--connectivity-only") == ""
    (there.path / "committed.txt").write_text("committed\n")
    git(there.path, "add", "committed.txt")
    git(there.path, "commit", "-qm", "on the node")
    (there.path / "new.txt").write_text("new\n")
    await brought_back(tree, there)
    home = Path(tree.path)
    assert git(home, "log", "--format=%s") == "on the node\nnumber 4\nnumber 3"
    assert git(home, "status", "--porcelain") == "?? new.txt"
    second = await sent(tree, tmp_path / "other")
    assert git(second.path, "log", "--format=%s") == "on the node\nnumber 4\nnumber 3"


async def test_bundle_of_formerly_shallow_clone_is_rebuilt(repository: Path, tmp_path: Path) -> None:
    clone = _with_history(repository, tmp_path, "--depth=2")
    tree = await tree_of(clone, tmp_path)
    before = await bundle.seen_from(tree)
    git(clone, "fetch", "-q", "--unshallow")
    after = await bundle.seen_from(tree)
    assert (before.head, before.whole) == (after.head, after.whole) and before.key != after.key
    there = await sent(tree, tmp_path / "node")
    assert git(there.path, "log", "--format=%s") == "number 4\nnumber 3\nnumber 2\nfirst"


async def test_partial_clone_error_explains_how_to_bundle(repository: Path, tmp_path: Path) -> None:
    clone = _with_history(repository, tmp_path, "--filter=blob:none")
    tree = await tree_of(clone, tmp_path)
    with pytest.raises(GitFailed, match=r"^[^\n]*git fetch --refetch --no-filter[^\n]*$"):
        await sent(tree, tmp_path / "node")
    git(clone, "fetch", "-q", "--refetch", "--no-filter")
    there = await sent(tree, tmp_path / "other")
    assert git(there.path, "show", "HEAD~2:kept.txt") == "kept 2"
