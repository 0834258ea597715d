"""Trees of workers, made of real repositories by the real git."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.swarm.repositories import everything, git, made, put, repository, worker
from zot.errors import GitFailed
from zot.swarm.git.safe_git import find_repository, scratch_repository
from zot.swarm.git.worktrees import commit_all, create, diff, diffstat, left_behind, remove
from zot.swarm.worker_records import WorktreeRecord


async def leftovers(tree: WorktreeRecord, message: str = "the task") -> str:
    async with scratch_repository(await find_repository(tree.repository), Path(tree.path).parent) as work:
        return await commit_all(work, tree, message)


async def test_worktree_has_files_of_head_and_its_own_branch(tmp_path: Path) -> None:
    """iface-258: A worktree worker changes no file of the origin working tree."""
    repo = repository(tmp_path / "repo")
    put(repo / "a.txt", "changed by hand\n")
    put(repo / "new.txt", "new\n")
    before = everything(repo)
    tree = await worker(repo, tmp_path / "agents", "fix-it")
    assert tree.branch == "zot/fix-it-1"
    assert Path(tree.path, "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not Path(tree.path, "new.txt").exists()
    assert git(Path(tree.path), "status", "--porcelain") == ""
    assert git(Path(tree.path), "rev-parse", "--abbrev-ref", "HEAD") == tree.branch
    put(Path(tree.path, "a.txt"), "by the worker\n")
    git(Path(tree.path), "commit", "-qam", "mine")
    put(Path(tree.path, "src/b.txt"), "left\n")
    made = await leftovers(tree)
    assert everything(repo) == before
    assert git(repo, "log", "--format=%an %s", f"{tree.base}..{made}") == "zot swarm the task\na person mine"
    git(Path(tree.path), "commit", "-qam", "mine, too")
    put(Path(tree.path, "src/b.txt"), "left again\n")
    again = await leftovers(tree)
    assert git(repo, "show", f"{again}:src/b.txt") == "left again" and git(repo, "fsck", "--no-dangling") == ""
    assert "mine, too" in git(repo, "log", "--format=%s", again)
    assert everything(repo) == before
    assert git(repo, "status", "--porcelain") == " M a.txt\n?? new.txt"


async def test_uncommitted_changes_are_copied_on_request(tmp_path: Path) -> None:
    repo = repository(
        tmp_path / "repo", {"a.txt": "a\n", "gone.txt": "x\n", "staged.txt": "x\n", ".gitignore": "*.o\n"}
    )
    put(repo / "a.txt", "changed\n")
    put(repo / "sub/new.txt", "new\n")
    put(repo / "x.o", "ignored\n")
    (repo / "gone.txt").unlink()
    put(repo / "staged.txt", "staged\n")
    git(repo, "add", "staged.txt")
    before = everything(repo)
    tree = await worker(repo, tmp_path / "agents", include_dirty=True)
    assert everything(repo) == before
    assert git(Path(tree.path), "ls-files").split() == [".gitignore", "a.txt", "staged.txt", "sub/new.txt"]
    assert not Path(tree.path, "x.o").exists() and not Path(tree.path, "gone.txt").exists()
    assert Path(tree.path, "a.txt").read_text() == "changed\n"
    assert Path(tree.path, "staged.txt").read_text() == "staged\n"
    assert tree.first and git(repo, "rev-parse", f"{tree.first}^") == tree.base
    assert git(repo, "log", "-1", "--format=%an", tree.first) == "zot swarm"
    assert await diff(tree) == b""  # the worker has not done anything yet


async def test_nothing_uncommitted_makes_no_first_commit(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    assert (await worker(repo, tmp_path / "agents", include_dirty=True)).first == ""


async def test_the_diff_has_committed_uncommitted_and_new_files(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a.txt": "a\n", "b.txt": "b\n", ".gitignore": "*.o\n"})
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "a\nb\n")
    git(Path(tree.path), "commit", "-qam", "mine")
    put(Path(tree.path, "b.txt"), "changed\n")
    put(Path(tree.path, "new dir/ü\n.txt"), "new\n")
    put(Path(tree.path, "x.o"), "ignored\n")
    objects = sorted(path.name for path in (repo / ".git/objects").rglob("*"))
    text = (await diff(tree)).decode()
    assert "+b\n" in text and "-b\n+changed\n" in text and "new dir/" in text and "x.o" not in text
    stat = await diffstat(tree)
    assert (stat.files, stat.added, stat.removed) == (3, 3, 1)
    assert str(stat) == "3 files, +3 -1"
    assert sorted(path.name for path in (repo / ".git/objects").rglob("*")) == objects  # looking leaves nothing


async def test_remaining_changes_are_committed_with_task_as_message(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "mine\n")
    (Path(tree.path) / "src/b.txt").unlink()
    os.symlink("a.txt", Path(tree.path, "link"))
    put(Path(tree.path, "run"), "#!/bin/sh\n")
    os.chmod(Path(tree.path, "run"), 0o755)
    made = await leftovers(tree, "mend the list\n\nall of it")
    assert git(repo, "rev-parse", tree.branch) == made
    assert git(repo, "log", "-1", "--format=%an|%B", made) == "zot swarm|mend the list\n\nall of it"
    assert git(repo, "ls-tree", "-r", "--name-only", made).split() == ["a.txt", "link", "run"]
    assert git(repo, "ls-tree", made, "run").startswith("100755") and git(repo, "ls-tree", made, "link")[:6] == "120000"
    assert await leftovers(tree) == made  # nothing more to commit


@pytest.mark.parametrize("within", ["the same second", "later"])
async def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path, within: str) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    path = Path(tree.path, "a.txt")
    info = path.stat()
    path.write_text("eno\ntwo\nthree\n")
    if within == "the same second":
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert (await diffstat(tree)).files == 1


async def test_missing_repository_is_one_line_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match=r"is not in a git repository; make one with `git init`, or .* --shared"):
        await create(tmp_path, tmp_path / "agents/x-1", "x", "x-1")
    git(tmp_path, "init", "-q", "--bare", "bare")
    with pytest.raises(GitFailed, match="is a bare repository"):
        await create(tmp_path / "bare", tmp_path / "agents/x-2", "x", "x-2")
    with pytest.raises(GitFailed, match="is not a directory"):
        await create(tmp_path / "none", tmp_path / "agents/x-3", "x", "x-3")


async def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "repo")
    with pytest.raises(GitFailed, match="has no commit yet"):
        await create(tmp_path / "repo", tmp_path / "agents/x-1", "x", "x-1")
    assert not (tmp_path / "agents/x-1/tree").exists()


async def test_detached_head_works_and_is_reported(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    git(repo, "checkout", "-q", "--detach")
    found = await made(repo, tmp_path / "agents")
    assert found.tree.base == git(repo, "rev-parse", "HEAD")
    assert found.notes == ("HEAD is detached: merging needs --into BRANCH",)


async def test_submodules_and_lfs_pointers_are_reported_and_unchanged(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    repo = repository(tmp_path / "repo", {"a.txt": "a\n", ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    put(repo / "x.bin", pointer)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "more")
    for part in ("clean", "smudge", "process"):
        git(repo, "config", f"filter.lfs.{part}", "touch RAN; false")
    git(repo, "config", "filter.lfs.required", "true")
    found = await made(repo, tmp_path / "agents")
    assert found.notes == (
        "submodules are not checked out: sub",
        "Git LFS files are not fetched: the worktree has their pointers",
    )
    assert Path(found.tree.path, "x.bin").read_text() == pointer
    assert list(Path(found.tree.path, "sub").iterdir()) == []
    put(Path(found.tree.path, "a.txt"), "b\n")
    assert (await diffstat(found.tree)).files == 1
    assert await left_behind(found.tree) == ()
    put(Path(found.tree.path, "sub/new.txt"), "nobody would see it\n")
    assert await left_behind(found.tree) == ("changes in submodules are excluded: sub",)


async def test_nested_repositories_are_reported_except_worktrees(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a.txt": "a\n", ".gitignore": "ignored/\n"})
    for name in ("vendor/x", "tools", "ignored/y"):
        repository(repo / name)
    for dirty in (False, True):
        found = await made(repo, repo / ".zot" / "agents", f"w{dirty:d}", include_dirty=dirty)
        assert found.notes == ("nested repositories are excluded: tools, vendor/x",)
        assert not Path(found.tree.path, "tools").exists()


async def test_a_worker_of_a_directory_below_works_there(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    found = await create(repo / "src", tmp_path / "agents/w-1", "w", "w-1")
    assert found.cwd == Path(found.tree.path) / "src"
    (repo / "untracked").mkdir()
    found = await create(repo / "untracked", tmp_path / "agents/w-2", "w", "w-2")
    assert found.cwd == Path(found.tree.path)


async def test_existing_branch_name_gets_a_number(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    git(repo, "branch", "zot/w-1")
    assert (await worker(repo, tmp_path / "agents")).branch == "zot/w-1-2"
    git(repo, "branch", "-m", "zot/w-1", "other")
    git(repo, "update-ref", "-d", "refs/heads/zot/w-1-2")
    git(repo, "branch", "zot")
    assert (await worker(repo, tmp_path / "more")).branch == "zot-w-1"


async def test_other_formats_of_repositories(tmp_path: Path) -> None:
    """SHA-256, a shallow clone, an index in two parts, and a working tree that is itself one of several."""
    hashed = repository(tmp_path / "hashed", None, "--object-format=sha256")
    assert len((await worker(hashed, tmp_path / "a1")).base) == 64
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{hashed}", "shallow")
    assert (await diffstat(await worker(tmp_path / "shallow", tmp_path / "a2"))).files == 0
    git(hashed, "update-index", "--split-index")
    put(hashed / "a.txt", "changed\n")
    tree = await worker(hashed, tmp_path / "a3", include_dirty=True)
    assert Path(tree.path, "a.txt").read_text() == "changed\n"
    git(hashed, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    put(tmp_path / "linked/a.txt", "of the linked one\n")
    tree = await worker(tmp_path / "linked", tmp_path / "a4", include_dirty=True)
    assert Path(tree.path, "a.txt").read_text() == "of the linked one\n"


async def test_a_full_disk_in_the_middle_leaves_nothing(tmp_path: Path, small_disk: Path) -> None:
    repo = repository(tmp_path / "repo", {f"f{number}": "x" * 40_000 + str(number) for number in range(60)})
    before = everything(repo)
    with pytest.raises(GitFailed, match="No space left on device"):
        await create(repo, small_disk / "w-1", "w", "w-1")
    assert everything(repo) == before
    assert git(repo, "branch", "--list", "zot/*") == ""
    assert [path.name for path in (small_disk / "w-1").iterdir()] == []


async def test_a_git_that_dies_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a": "a" * 1000, "b": "b" * 200_000, "c": "c"})
    before = everything(repo)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(GitFailed, match="the worktree of w-1 cannot be created: git read-tree"):
            await worker(repo, tmp_path / "agents")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert everything(repo) == before and git(repo, "branch", "--list", "zot/*") == ""
    assert list((tmp_path / "agents/w-1").iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)], capture_output=True).returncode:
        pytest.skip("no small disk can be made here; a git that dies is tried all the same")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


async def test_removing_takes_tree_and_branch_and_may_be_done_twice(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    before = everything(repo)
    tree = await worker(repo, tmp_path / "agents")
    (Path(tree.path) / "locked").mkdir()
    put(Path(tree.path) / "locked/x", "x")
    os.chmod(Path(tree.path) / "locked", 0o500)
    assert await remove(tree) == () == await remove(tree)
    assert not Path(tree.path).exists() and git(repo, "branch", "--list", "zot/*") == ""
    assert everything(repo) == before


async def test_a_branch_the_user_has_checked_out_stays(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    git(repo, "checkout", "-q", tree.branch)
    assert await remove(tree) == (f"the branch {tree.branch} stays: it is checked out in {repo}",)
    assert git(repo, "rev-parse", "HEAD")


async def test_tree_of_missing_repository_is_removed(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    repo.rename(tmp_path / "elsewhere")
    with pytest.raises(GitFailed, match="is not a directory"):
        await diffstat(tree)
    assert await remove(tree) == ()
    assert not Path(tree.path).exists()


ENDING = """
import asyncio, sys
from pathlib import Path
from zot.swarm.git.worktrees import create
from zot.system import process_setup
from zot.system.processes import spawn

async def end_commands(over):
    while not over.is_set():
        child = spawn(["/bin/sleep", "100"], cwd=Path("/"), env={})
        await asyncio.sleep(0.02)
        await child.stop(0.0)

async def main(repo, agents):
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(end_commands(over))
        for number in range(5):
            await create(repo, agents / f"w-{number}", "w", f"w-{number}")
        over.set()

process_setup.harden_process()
asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
"""


def test_git_is_not_taken_for_something_a_command_left_behind(tmp_path: Path) -> None:
    """The supervisor ends whatever a worker has started, while trees are made for others."""
    repo = repository(tmp_path / "repo", {f"d{number}/f.txt": "x\n" for number in range(300)})
    words = [sys.executable, "-c", ENDING, str(repo), str(tmp_path / "agents")]
    done = subprocess.run(words, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
