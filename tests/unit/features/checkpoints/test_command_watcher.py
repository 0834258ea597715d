"""Changes made by commands: detected from the files, restored from the store or git, or reported as unknown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.features.checkpoints.conftest import Project
from zot.features.checkpoints import command_watcher
from zot.features.checkpoints.change_log import UntrackedCommand

Git = Callable[..., str]


def old(*paths: Path) -> None:
    """Older than the index that is written next, so that git trusts the times."""
    for path in paths:
        os.utime(path, (1_000_000_000, 1_000_000_000))


async def test_a_command_in_a_plain_directory_is_undone(project: Project) -> None:
    for name in ("changed", "deleted", "moved"):
        (project.cwd / name).write_text(f"{name} before\n")
    (project.cwd / "link").symlink_to("changed")
    prompt = project.prompt()
    await project.bash("echo more >> changed; rm deleted link; mv moved there; mkdir sub; echo new > sub/new")
    assert project.verdicts(prompt) == {
        **{"changed": "restore", "deleted": "recreate", "moved": "recreate", "link": "recreate"},
        **{"there": "remove", "new": "remove"},
    }
    report = project.rewind(prompt)
    assert report.failed == ()
    assert (project.cwd / "changed").read_text() == "changed before\n"
    assert (project.cwd / "deleted").read_text() == "deleted before\n"
    assert os.readlink(project.cwd / "link") == "changed"
    assert not (project.cwd / "there").exists()


async def test_tracked_content_is_read_from_git(project: Project, git: Git) -> None:
    tracked, dirty, untracked = (project.cwd / name for name in ("tracked", "dirty", "untracked"))
    tracked.write_text("tracked\n" * 200_000)  # more than would be kept before a command
    dirty.write_text("committed\n")
    (project.cwd / ".gitignore").write_text("build\n")
    old(tracked, dirty)
    git("add", ".")
    git("commit", "-qm", "x")
    dirty.write_text("not committed\n")
    untracked.write_text("untracked\n")
    (project.cwd / "build").mkdir()
    prompt = project.prompt()
    await project.bash("echo x > tracked; git checkout -q dirty; rm untracked; echo o > build/out")
    assert project.verdicts(prompt) == {"tracked": "restore", "dirty": "restore", "untracked": "recreate"}
    project.rewind(prompt)
    assert tracked.read_text() == "tracked\n" * 200_000
    assert dirty.read_text() == "not committed\n"
    assert untracked.read_text() == "untracked\n"
    assert (project.cwd / "build" / "out").read_text() == "o\n"  # git ignores it, and so do we


async def test_regenerated_files_are_ignored(project: Project) -> None:
    prompt = project.prompt()
    await project.bash(
        "mkdir -p pkg/__pycache__ node_modules/x; touch pkg/__pycache__/a.pyc node_modules/x/y; touch made"
    )
    assert project.verdicts(prompt).keys() == {"made"}


async def test_a_command_that_stages_and_commits_hides_nothing(project: Project, git: Git) -> None:
    file = project.cwd / "a"
    file.write_text("one\n")
    old(file)
    git("add", ".")
    git("commit", "-qm", "x")
    prompt = project.prompt()
    await project.bash("echo two > a; git -c user.name=a -c user.email=a@b commit -qam y")
    project.rewind(prompt)
    assert file.read_text() == "one\n"


async def test_programs_of_a_repository_are_not_run(project: Project, git: Git, tmp_path: Path) -> None:
    """The watcher must not start programs named in the repository's settings, as git status would."""
    file, trap = project.cwd / "a", tmp_path / "trap"
    (project.cwd / ".gitattributes").write_text("* filter=trap diff=trap\n")
    file.write_text("one\n")
    old(file)
    git("add", ".")
    for key in ("core.fsmonitor", "filter.trap.clean", "filter.trap.smudge", "diff.trap.textconv"):
        git("config", key, f"touch {trap}; cat")
    prompt = project.prompt()
    await project.bash("echo two > a")
    project.rewind(prompt)
    assert file.read_text() == "one\n"
    assert not trap.exists()


async def test_tools_and_commands_take_turns(project: Project) -> None:
    (project.cwd / "a").write_text("0")
    first = project.prompt()
    await project.write("a", "1")
    second = project.prompt()
    await project.bash("printf 2 > a")
    third = project.prompt()
    await project.edit("a", "2", "3")
    await project.bash("true")
    for prompt, text in ((third, "2"), (second, "1"), (first, "0")):
        project.rewind(prompt)
        assert (project.cwd / "a").read_text() == text


async def test_user_changes_between_commands_are_not_attributed(project: Project) -> None:
    prompt = project.prompt()
    await project.bash("echo x > one")
    (project.cwd / "two").write_text("by hand")
    await project.bash("true")
    assert project.verdicts(prompt) == {"one": "remove"}


async def test_cancelled_command_is_checked(project: Project) -> None:
    prompt = project.prompt()
    heard = asyncio.Event()
    project.progress = lambda text: heard.set()
    task = asyncio.create_task(project.bash("echo x > one; echo done; exec sleep 60"))
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert project.verdicts(prompt) == {"one": "remove"}


async def test_file_too_large_to_store_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_watcher, "LARGEST_BEFORE", 10)
    (project.cwd / "large").write_text("x" * 11)
    prompt = project.prompt()
    await project.bash("echo x > large")
    (item,) = project.plan(prompt).items
    assert item.verdict == "lost"
    assert "larger than" in item.why


async def test_huge_project_is_skipped_with_a_notice(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_watcher, "MOST_FILES", 3)
    for number in range(5):
        (project.cwd / str(number)).touch()
    prompt = project.prompt()
    await project.bash("echo x > 1")
    await project.bash("echo x > 2")
    assert project.plan(prompt).items == ()
    assert project.plan(prompt).blind == ("the project has more than 3 files: changes by commands are unknown",)
    assert isinstance(project.happened[0], UntrackedCommand)


async def test_a_large_product_is_recognised_but_not_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_watcher, "LARGEST_BEFORE", 10)
    prompt = project.prompt()
    await project.bash("echo 'more than ten bytes' > product; echo small > other")
    assert [entry.stat().st_size for entry in project.place.objects.all()] == [6]
    assert project.verdicts(prompt) == {"product": "remove", "other": "remove"}
    report = project.rewind(prompt)
    assert report.failed == ()
    assert os.listdir(project.cwd) == []
    (undo,) = {event.prompt for event in project.events()} - {prompt}
    project.rewind(undo)
    assert (project.cwd / "product").read_text() == "more than ten bytes\n"


async def test_command_cancelled_before_start_leaves_no_gap(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = project.prompt()
    task = asyncio.create_task(project.bash("true"))
    real = command_watcher.look

    def cancelling(*rest: Any) -> Any:
        task.get_loop().call_soon_threadsafe(task.cancel)
        return real(*rest)

    monkeypatch.setattr(command_watcher, "look", cancelling)
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    (project.cwd / "by hand").touch()
    await project.bash("echo x > one")
    assert project.verdicts(prompt) == {"one": "remove"}
