"""Merging workers' trees into real repositories, in which the user has changes that are not committed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.unit.swarm.repositories import everything, git, put, repository, worker
from zot.errors import GitFailed
from zot.swarm.git import apply_merge
from zot.swarm.git.merge import CommandCheck, MergeReport, MergeSource, has_unmerged, merge, merged_record
from zot.swarm.worker_operations import repair_prompt, return_conflict
from zot.swarm.worker_records import WorktreeRecord

LINES = "".join(f"line {number}\n" for number in range(1, 21))


def source(tree: WorktreeRecord, task: str = "the task") -> MergeSource:
    name = Path(tree.path).parent.name
    return MergeSource(worker=name, name=name, task=task, tree=tree)


def outcomes(report: MergeReport) -> list[str]:
    return [row.outcome for row in report.rows]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """With a staged change, an unstaged one and a new file of the user's, none of which a worker touches."""
    files = {"a.txt": LINES, "b.txt": LINES, "mine.txt": "mine\n", "staged.txt": "s\n", "old/gone.txt": "g\n"}
    place = repository(tmp_path / "repo", files)
    (place / "mine.txt").write_bytes(b"mine \xff\r\nchanged")
    put(place / "staged.txt", "staged\n")
    git(place, "add", "staged.txt")
    put(place / "staged.txt", "staged, and changed again\n")
    put(place / "new of mine.txt", "untracked\n")
    return place


def users(repo: Path) -> dict[str, object]:
    """State that must not change: the user's files, index and branch."""
    names = ("mine.txt", "staged.txt", "new of mine.txt", ".git/index", ".git/HEAD", ".git/refs/heads/main")
    return {name: ((repo / name).read_bytes(), (repo / name).stat().st_mode) for name in names}


async def test_squash_changes_the_working_tree_and_nothing_else(repo: Path, tmp_path: Path) -> None:
    tree = await worker(repo, tmp_path / "agents")
    inside = Path(tree.path)
    put(inside / "a.txt", LINES.replace("line 3\n", "line three\n"))
    git(inside, "commit", "-qam", "a commit of its own")
    put(inside / "deep/er/new.txt", "new\n")
    put(inside / "run.sh", "#!/bin/sh\n")
    (inside / "run.sh").chmod(0o755)
    os.symlink("a.txt", inside / "link")
    (inside / "old/gone.txt").unlink()
    before = users(repo)
    report = await merge([source(tree)])
    assert outcomes(report) == ["merged"] and report.into == "main" and report.commit == ""
    assert report.files == ("a.txt", "deep/er/new.txt", "link", "old/gone.txt", "run.sh")
    assert users(repo) == before
    assert (repo / "a.txt").read_text() == LINES.replace("line 3\n", "line three\n")
    assert os.access(repo / "run.sh", os.X_OK) and os.readlink(repo / "link") == "a.txt"
    assert not (repo / "old").exists()
    status = git(repo, "status", "--porcelain").splitlines()
    assert " M a.txt" in status and "?? deep/" in status and "MM staged.txt" in status and " D old/gone.txt" in status
    record = merged_record(Path(tree.path).parent)
    assert record is not None and record.into == "main"
    assert not await has_unmerged(tree)
    assert outcomes(await merge([source(tree)])) == ["nothing"]


async def test_changes_of_both_sides_in_one_file_are_put_together(repo: Path, tmp_path: Path) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), LINES.replace("line 3\n", "line three\n"))
    put(repo / "a.txt", LINES.replace("line 18\n", "line eighteen\n"))
    git(repo, "commit", "-qm", "mine", "a.txt")
    assert outcomes(await merge([source(tree)])) == ["merged"]
    both = LINES.replace("line 3\n", "line three\n").replace("line 18\n", "line eighteen\n")
    assert (repo / "a.txt").read_text() == both


async def test_conflict_leaves_target_unchanged_and_shows_both_sides(repo: Path, tmp_path: Path) -> None:
    """iface-263: `merge` with conflicts leaves the target untouched and exits 3."""
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), LINES.replace("line 3\n", "line three\n"))
    (Path(tree.path) / "b.txt").unlink()
    put(repo / "a.txt", LINES.replace("line 3\n", "the third line\n"))
    put(repo / "b.txt", "kept\n")
    git(repo, "commit", "-qm", "mine", "a.txt", "b.txt")
    before = everything(repo)
    for how in ("squash", "no-ff"):
        report = await merge([source(tree)], how=how)
        (row,) = report.rows
        assert row.outcome == "conflict" and report.files == ()
        assert [conflict.path for conflict in row.conflicts] == ["a.txt", "b.txt"]
        sides = f"<<<<<<< yours\nthe third line\n=======\nline three\n>>>>>>> {tree.branch}"
        assert row.conflicts[0].sides == sides
        assert "deleted" in row.conflicts[1].why
        assert everything(repo) == before
    assert await has_unmerged(tree)


@pytest.mark.parametrize("how", ["squash", "no-ff"])
@pytest.mark.parametrize("what", ["changed", "staged", "new", "overlooked", "a link in the way", "a file in the way"])
async def test_a_file_with_uncommitted_changes_is_never_written(
    repo: Path, tmp_path: Path, what: str, how: str
) -> None:
    """iface-264: `merge` into a dirty overlapping tree is refused."""
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), LINES.replace("line 3\n", "line three\n"))
    put(Path(tree.path, "sub/new.txt"), "by the worker\n")
    named = "a.txt"
    if what == "new":
        put(repo / "sub/new.txt", "by the user\n")
        named = "sub/new.txt"
    elif what == "a link in the way":
        (tmp_path / "elsewhere").mkdir()
        os.symlink(tmp_path / "elsewhere", repo / "sub")
        named = "sub"
    elif what == "a file in the way":
        put(repo / "sub", "a file\n")
        named = "sub"
    else:
        put(repo / "a.txt", LINES.replace("line 18\n", "line eighteen\n"))
        if what == "staged":
            git(repo, "add", "a.txt")
            put(repo / "a.txt", LINES)
        if what == "overlooked":
            git(repo, "update-index", "--assume-unchanged", "a.txt")
    before = everything(repo)
    report = await merge([source(tree)], how="no-ff" if how == "no-ff" else "squash")
    assert [(row.outcome, row.files) for row in report.rows] == [("uncommitted", (named,))]
    assert everything(repo) == before
    assert list((tmp_path / "elsewhere").iterdir() if what == "a link in the way" else ()) == []


async def test_uncommitted_changes_present_at_start_do_not_block_merge(repo: Path, tmp_path: Path) -> None:
    put(repo / "a.txt", LINES.replace("line 18\n", "line eighteen\n"))
    tree = await worker(repo, tmp_path / "agents", include_dirty=True)
    put(Path(tree.path, "a.txt"), LINES.replace("line 18\n", "line eighteen\n").replace("line 3\n", "line three\n"))
    put(Path(tree.path, "new of mine.txt"), "untracked\nand more\n")
    before = users(repo)
    report = await merge([source(tree)])
    assert outcomes(report) == ["merged"] and report.files == ("a.txt", "new of mine.txt")
    assert "line three\n" in (repo / "a.txt").read_text() and "line eighteen\n" in (repo / "a.txt").read_text()
    assert (repo / "new of mine.txt").read_text() == "untracked\nand more\n"
    after = users(repo)
    assert {**after, "new of mine.txt": 0} == {**before, "new of mine.txt": 0}
    put(repo / "a.txt", "went on\n")  # but when the user went on in such a file, it is one
    put(Path(tree.path, "a.txt"), "all new\n")
    assert [(row.outcome, row.files) for row in (await merge([source(tree)])).rows] == [("uncommitted", ("a.txt",))]
    assert (repo / "a.txt").read_text() == "went on\n"


async def test_no_ff_merges_as_user_and_preserves_uncommitted_changes(repo: Path, tmp_path: Path) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), LINES.replace("line 3\n", "line three\n"))
    git(Path(tree.path), "commit", "-qam", "its own commit")
    put(Path(tree.path, "x/new.txt"), "new\n")
    head = git(repo, "rev-parse", "HEAD")
    status = git(repo, "status", "--porcelain")
    report = await merge([source(tree, "mend the third line\nplease")], how="no-ff")
    assert outcomes(report) == ["merged"]
    assert git(repo, "rev-parse", "HEAD") == report.commit
    assert git(repo, "log", "-1", "--format=%P") == f"{head} {git(repo, 'rev-parse', tree.branch)}"
    assert git(repo, "log", "-1", "--format=%an|%s") == f"a person|Merge {tree.branch}: mend the third line please"
    assert git(repo, "status", "--porcelain") == status
    assert (repo / "x/new.txt").read_text() == "new\n" and (repo / "mine.txt").read_bytes() == b"mine \xff\r\nchanged"
    assert git(repo, "fsck", "--no-dangling") == ""


async def test_other_branch_gets_a_commit_without_file_changes(repo: Path, tmp_path: Path) -> None:
    git(repo, "branch", "next")
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "by the worker\n")
    put(repo / "a.txt", "uncommitted\n")  # of no matter there
    before = users(repo)
    report = await merge([source(tree, "what it did")], into="next")
    assert outcomes(report) == ["merged"] and report.into == "next"
    assert (
        git(repo, "show", "next:a.txt") == "by the worker"
        and git(repo, "log", "-1", "--format=%s", "next") == "what it did"
    )
    assert git(repo, "rev-list", "--count", "main..next") == "1"
    assert users(repo) == before and (repo / "a.txt").read_text() == "uncommitted\n"
    with pytest.raises(GitFailed, match="no branch nowhere"):
        await merge([source(tree)], into="nowhere")
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"), "next")
    with pytest.raises(GitFailed, match="is checked out in"):
        await merge([source(tree)], into="next")


async def test_a_detached_head_needs_a_branch(repo: Path, tmp_path: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "by the worker\n")
    with pytest.raises(GitFailed, match="is detached; name the branch with --into BRANCH"):
        await merge([source(tree)])
    assert outcomes(await merge([source(tree)], into="main")) == ["merged"]


async def test_the_check_sees_the_merged_files_and_decides(repo: Path, tmp_path: Path) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "by the worker\n")
    put(repo / "b.txt", "by the user\n")
    git(repo, "commit", "-qm", "mine", "b.txt")
    before = everything(repo)
    report = await merge([source(tree)], check=CommandCheck("cat a.txt b.txt; ls -A | grep -c git; exit 4"))
    assert outcomes(report) == ["check failed"]
    assert report.rows[0].said == "by the worker\nby the user\n0"
    assert everything(repo) == before
    report = await merge([source(tree)], check=CommandCheck("grep -q worker a.txt && grep -q user b.txt"))
    assert outcomes(report) == ["merged"]


async def test_a_check_that_hangs_is_ended_with_all_it_started(repo: Path, tmp_path: Path) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "by the worker\n")
    report = await merge([source(tree)], check=CommandCheck("echo begun; sleep 1000 & sleep 1000", timeout_s=0.5))
    assert outcomes(report) == ["check failed"] and report.rows[0].said == "begun\n(stopped after 0 s)"


async def test_ten_workers_on_same_files_are_merged_or_reported(tmp_path: Path) -> None:
    """Ten workers edit overlapping files: compatible ones are merged into a tree whose tests pass, the others are
    reported with their conflict, and the user's uncommitted change survives byte for byte.
    """
    code = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(1, 11))
    test = "import code_\nfor n in range(1, 11):\n    assert getattr(code_, f'f{n}')() in (n, n * 10), n\n"
    repo = repository(tmp_path / "repo", {"code_.py": code, "test.py": test, "notes.txt": "notes\n"})
    (repo / "notes.txt").write_bytes(b"my own\r\nnotes \xfe")
    put(repo / "scratch.txt", "untracked\n")
    sources: list[MergeSource] = []
    for number in range(1, 11):
        tree = await worker(repo, tmp_path / "agents", f"w{number}")
        path = Path(tree.path, "code_.py")
        result = 10 * number if number != 7 else 71  # one of them is wrong
        path.write_text(code.replace(f"    return {number}\n", f"    return {result}\n"))
        if number in (2, 3):  # two of them write the same new file, differently
            put(Path(tree.path, "more.py"), f"X = {number}\n")
        if number % 2:
            git(Path(tree.path), "commit", "-qam", "mine")
        sources.append(source(tree))
    mine = {name: (repo / name).read_bytes() for name in ("notes.txt", "scratch.txt", ".git/index")}
    report = await merge(sources, check=CommandCheck(f"{sys.executable} -B test.py"))
    assert {name: (repo / name).read_bytes() for name in mine} == mine
    expected = ["merged"] * 10
    expected[2], expected[6] = "conflict", "check failed"
    assert outcomes(report) == expected
    assert [conflict.path for conflict in report.rows[2].conflicts] == ["more.py"]
    assert "AssertionError: 7" in report.rows[6].said
    assert report.files == ("code_.py", "more.py")
    passed, said = await CommandCheck(f"{sys.executable} -B test.py")(repo)
    assert passed, said
    assert git(repo, "status", "--porcelain").splitlines() == [
        *(" M code_.py", " M notes.txt", "?? more.py", "?? scratch.txt")
    ]


async def test_several_with_no_ff_are_a_chain_of_merges(repo: Path, tmp_path: Path) -> None:
    sources: list[MergeSource] = []
    for number in (3, 18):
        tree = await worker(repo, tmp_path / "agents", f"w{number}")
        put(Path(tree.path, "a.txt"), LINES.replace(f"line {number}\n", f"changed {number}\n"))
        sources.append(source(tree))
    status = git(repo, "status", "--porcelain")
    assert outcomes(await merge(sources, how="no-ff")) == ["merged", "merged"]
    assert git(repo, "rev-list", "--merges", "--count", "HEAD") == "2"
    assert git(repo, "status", "--porcelain") == status


async def test_unusable_tree_does_not_delay_the_others(repo: Path, tmp_path: Path) -> None:
    first, second = await worker(repo, tmp_path / "agents", "x"), await worker(repo, tmp_path / "agents", "y")
    os.mkfifo(Path(first.path, ".gitattributes"))
    put(Path(second.path, "a.txt"), "by the second\n")
    report = await merge([source(first), source(second)])
    assert outcomes(report) == ["refused", "merged"] and "pipe" in report.rows[0].said


async def test_returned_conflict_merges_after_its_fix(repo: Path, tmp_path: Path) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), LINES.replace("line 3\n", "line three\n"))
    put(repo / "a.txt", LINES.replace("line 3\n", "the third line\n"))
    put(repo / "b.txt", "by the user\n")
    git(repo, "commit", "-qm", "mine", "a.txt", "b.txt")
    before = users(repo)
    assert await return_conflict(source(tree)) == ("a.txt",)
    assert "a.txt" in repair_prompt(("a.txt",))
    assert users(repo) == before
    inside = Path(tree.path, "a.txt")
    assert "<<<<<<< yours\nthe third line\n=======\nline three\n>>>>>>> zot/" in inside.read_text()
    assert Path(tree.path, "b.txt").read_text() == "by the user\n"
    (row,) = (await merge([source(tree)])).rows
    assert row.outcome == "conflict" and "still has the conflict markers" in row.conflicts[0].why
    inside.write_text(LINES.replace("line 3\n", "the third line, three\n"))
    for how in ("squash", "no-ff"):
        report = await merge([source(tree)], how="no-ff" if how == "no-ff" else "squash")
        assert outcomes(report) == ["merged"] and report.files == ("a.txt",), how
        assert (repo / "a.txt").read_text() == LINES.replace("line 3\n", "the third line, three\n")
        git(repo, "checkout", "-q", "a.txt")


# --- killed or failing in the last step


class Killed(BaseException):
    pass


@pytest.mark.parametrize("how", ["squash", "no-ff"])
@pytest.mark.parametrize("after", range(5))
async def test_a_merge_killed_in_the_middle_is_finished_by_the_next(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, how: str
) -> None:
    tree = await worker(repo, tmp_path / "agents")
    for name in ("a.txt", "b.txt", "c/d.txt"):
        put(Path(tree.path, name), f"{name} by the worker\n")
    (Path(tree.path) / "old/gone.txt").unlink()
    before, whole, steps = users(repo), apply_merge._change, iter(range(100))

    def change(top: str, change: apply_merge.MergeChange, content: Path) -> bool:
        if next(steps) == after:
            raise Killed
        return whole(top, change, content)

    monkeypatch.setattr(apply_merge, "_change", change)
    if after < 4:
        with pytest.raises(Killed):
            await merge([source(tree)], how="no-ff" if how == "no-ff" else "squash")
    else:
        monkeypatch.setattr(apply_merge, "finish", lambda directory: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            await merge([source(tree)], how="no-ff" if how == "no-ff" else "squash")
    monkeypatch.undo()
    put(Path(tree.path, "e.txt"), "later\n")
    report = await merge([source(tree)])
    assert report.finished == ("finished an interrupted merge of w-1",)
    assert outcomes(report) == ["merged"] and report.files == ("e.txt",)
    assert (repo / "a.txt").read_text() == "a.txt by the worker\n" and not (repo / "old").exists()
    assert (repo / "c/d.txt").read_text() == "c/d.txt by the worker\n"
    after_it = users(repo)
    assert (repo / "mine.txt").read_bytes() == b"mine \xff\r\nchanged"
    if how == "squash":
        assert after_it == before
    else:
        assert git(repo, "status", "--porcelain").splitlines()[:2] == [" M mine.txt", "MM staged.txt"]


async def test_failed_write_is_rolled_back(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = await worker(repo, tmp_path / "agents")
    for name in ("a.txt", "b.txt", "c/d.txt"):
        put(Path(tree.path, name), f"{name} by the worker\n")
    (Path(tree.path) / "old/gone.txt").unlink()
    before, whole = everything(repo), apply_merge._put_file

    def put_file(target: str, change: apply_merge.MergeChange, data: bytes) -> None:
        if target.endswith("d.txt"):
            raise OSError(28, "No space left on device", target)
        whole(target, change, data)

    monkeypatch.setattr(apply_merge, "_put_file", put_file)
    for how in ("squash", "no-ff"):
        with pytest.raises(GitFailed, match=r"nothing was merged: .*No space left on device"):
            await merge([source(tree)], how="no-ff" if how == "no-ff" else "squash")
        assert everything(repo) == before
    monkeypatch.undo()
    assert outcomes(await merge([source(tree)])) == ["merged"]


async def test_file_changed_at_last_moment_is_not_overwritten(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "by the worker\n")
    put(Path(tree.path, "b.txt"), "by the worker\n")
    prepared = apply_merge.prepare

    def prepare(directory: Path, journal: apply_merge.MergeJournal, fresh: Path) -> None:
        prepared(directory, journal, fresh)
        put(repo / "b.txt", "saved by an editor just now\n")

    monkeypatch.setattr(apply_merge, "prepare", prepare)
    with pytest.raises(GitFailed, match=r"b\.txt changed during the merge"):
        await merge([source(tree)])
    assert (repo / "b.txt").read_text() == "saved by an editor just now\n" and (repo / "a.txt").read_text() == LINES


async def test_second_concurrent_merge_is_rejected(repo: Path, tmp_path: Path) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "by the worker\n")

    async def check(place: Path) -> tuple[bool, str]:
        with pytest.raises(GitFailed, match="another merge is running"):
            await merge([source(tree)])
        return True, ""

    assert outcomes(await merge([source(tree)], check=check)) == ["merged"]


@pytest.mark.parametrize("what", ["MERGE_HEAD", "rebase-merge", "index.lock"])
async def test_git_at_work_in_the_repository_is_waited_for(repo: Path, tmp_path: Path, what: str) -> None:
    tree = await worker(repo, tmp_path / "agents")
    put(Path(tree.path, "a.txt"), "by the worker\n")
    put(repo / ".git" / what, "x")
    with pytest.raises(GitFailed, match=r"in progress|is running"):
        await merge([source(tree)])


async def test_line_endings_follow_repository_configuration(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a.bat": "one\ntwo\n", ".gitattributes": "*.bat text eol=crlf\n"})
    (repo / "a.bat").unlink()
    git(repo, "checkout", "-q", "a.bat")
    assert (repo / "a.bat").read_bytes() == b"one\r\ntwo\r\n"
    tree = await worker(repo, tmp_path / "agents")
    assert Path(tree.path, "a.bat").read_bytes() == b"one\r\ntwo\r\n"
    Path(tree.path, "a.bat").write_bytes(b"one\r\nthree\r\n")
    assert outcomes(await merge([source(tree)])) == ["merged"]
    assert (repo / "a.bat").read_bytes() == b"one\r\nthree\r\n"
    assert git(repo, "diff", "--stat").strip().endswith("1 file changed, 1 insertion(+), 1 deletion(-)")


@pytest.mark.parametrize("how", ["squash", "no-ff"])
async def test_merge_of_a_name_that_is_not_utf8(tmp_path: Path, how: Literal["squash", "no-ff"]) -> None:
    repo = repository(tmp_path / "repo")
    tree = await worker(repo, tmp_path / "agents")
    Path(tree.path, os.fsdecode(b"caf\xe9.txt")).write_text("new\n")
    report = await merge([source(tree)], how=how)
    assert outcomes(report) == ["merged"] and report.files == ("caf�.txt",)
    assert (repo / os.fsdecode(b"caf\xe9.txt")).read_text() == "new\n"
    assert b"caf" in msgspec.json.encode(report)


def test_journal_of_a_name_that_is_not_utf8_is_read_back(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / "fresh").mkdir()
    (tmp_path / "fresh" / name).write_text("new\n")
    after = apply_merge.state(str(tmp_path / "fresh" / name))
    journal = apply_merge.MergeJournal(
        top=str(tmp_path), changes=(apply_merge.MergeChange(path=name, after=after),), entries=f"1\t{name}\0"
    )
    apply_merge.prepare(tmp_path / "agents" / "w", journal, tmp_path / "fresh")
    assert apply_merge.pending_journals(tmp_path / "agents", str(tmp_path)) == [(tmp_path / "agents" / "w", journal)]


@pytest.mark.parametrize("how", ["squash", "no-ff"])
async def test_directory_and_link_in_each_others_place_are_merged(
    tmp_path: Path, how: Literal["squash", "no-ff"]
) -> None:
    repo = repository(tmp_path / "repo", {"d/a": "a\n", "d/deep/b": "b\n", "e/a": "other\n"})
    os.symlink("e", repo / "l")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "a link")
    tree = await worker(repo, tmp_path / "agents")
    inside = Path(tree.path)
    shutil.rmtree(inside / "d")
    os.symlink("e", inside / "d")
    (inside / "l").unlink()
    put(inside / "l/a", "no link\n")
    report = await merge([source(tree)], how=how)
    assert outcomes(report) == ["merged"], report
    assert os.readlink(repo / "d") == "e" and (repo / "e/a").read_text() == "other\n"
    assert not (repo / "l").is_symlink() and (repo / "l/a").read_text() == "no link\n"


async def test_directory_with_own_files_is_not_replaced_by_a_link(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"d/a": "a\n", "e/a": "other\n"})
    tree = await worker(repo, tmp_path / "agents")
    shutil.rmtree(Path(tree.path, "d"))
    os.symlink("e", Path(tree.path, "d"))
    put(repo / "d/mine", "mine\n")
    assert outcomes(await merge([source(tree)])) == ["uncommitted"]
    assert (repo / "d/mine").read_text() == "mine\n" and (repo / "d/a").read_text() == "a\n"
