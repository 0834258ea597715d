"""Repositories in a project: existing ones stay unchanged, those created by a command are checked."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from zot.system.jail import git_repositories, protected_paths
from zot.system.jail.git_repositories import RepositoryScanner
from zot.system.jail.policy import PROTECTED, policy_for
from zot.system.jail.protected_paths import hold_protected_paths, sweep


def git(*words: str | Path) -> None:
    subprocess.run(["git", *map(str, words)], check=True, capture_output=True)


def test_a_harmless_repository_stays(tmp_path: Path) -> None:
    looked = RepositoryScanner([str(tmp_path)])
    looked.begin()
    git("init", tmp_path / "a" / "b")
    git("-C", tmp_path / "a" / "b", "config", "user.name", "Ann")
    git("-C", tmp_path / "a" / "b", "remote", "add", "origin", "https://example.org/x.git")
    git("init", "--bare", tmp_path / "bare")
    assert looked.end() == [] and (tmp_path / "a" / "b" / ".git").is_dir()


def test_repository_created_after_a_removal_is_new(tmp_path: Path) -> None:
    """A file system may give it the number of the one that is gone."""
    git("init", tmp_path)
    looked = RepositoryScanner([str(tmp_path)])
    for attempt in range(8):
        (tmp_path / f"n{attempt}").mkdir()
        looked.begin()
        shutil.rmtree(tmp_path / ".git", ignore_errors=True)
        git("init", tmp_path / f"n{attempt}")
        git("-C", tmp_path / f"n{attempt}", "config", "core.fsmonitor", "x")
        [told] = looked.end()
        assert "it was renamed" in told and not (tmp_path / f"n{attempt}" / ".git").exists()
        git("init", tmp_path)


@pytest.mark.parametrize(
    "key",
    ["core.fsmonitor", "core.hooksPath", "core.sshCommand", "filter.x.clean", "include.path", "alias.x", "core.pager"],
)
def test_repository_naming_a_program_is_set_aside(tmp_path: Path, key: str) -> None:
    looked = RepositoryScanner([str(tmp_path)])
    looked.begin()
    git("init", tmp_path / "n")
    git("-C", tmp_path / "n", "config", key, "x")
    [told] = looked.end()
    assert os.listdir(tmp_path / "n") == [".git-from-the-jail"]
    assert "renamed to .git-from-the-jail" in told and ".".join(key.lower().split(".")[::2][-2:])[:4] in told
    assert looked.end() == []
    looked.begin()
    os.rename(tmp_path / "n" / ".git-from-the-jail", tmp_path / "n" / ".git")
    os.rename(tmp_path / "n" / ".git" / "HEAD-from-the-jail", tmp_path / "n" / ".git" / "HEAD")
    assert len(looked.end()) == 1, "a second command cannot bring it back"


@pytest.mark.parametrize(
    "line", ["[core] fsmonitor = x", "[core]\nfsmonitor=\\\nx", "[co\\\nre]", "[include]path=x", "\0"]
)
def test_a_configuration_that_is_written_oddly_is_not_trusted(tmp_path: Path, line: str) -> None:
    looked = RepositoryScanner([str(tmp_path)])
    looked.begin()
    git("init", tmp_path / "n")
    (tmp_path / "n" / ".git" / "config").write_text(line)
    assert len(looked.end()) == 1 and not (tmp_path / "n" / ".git").exists()


def test_existing_repository_is_unchanged_and_reported_once(tmp_path: Path) -> None:
    git("init", tmp_path / "n")
    git("-C", tmp_path / "n", "config", "core.hooksPath", "mine")
    looked = RepositoryScanner([str(tmp_path)])
    looked.begin()
    os.rename(tmp_path / "n", tmp_path / "moved")
    assert looked.end() == []
    looked.begin()
    git("-C", tmp_path / "moved", "config", "core.hooksPath", "theirs")
    [told] = looked.end()
    assert "was changed: git would now use core.hookspath in config" in told and (tmp_path / "moved" / ".git").is_dir()
    looked.begin()
    assert looked.end() == []


def test_too_large_scan_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_repositories, "LONGEST_LOOK_S", -1.0)
    looked = RepositoryScanner([str(tmp_path)])
    assert looked.begin() == [] and looked.gave_up
    [told] = looked.end()
    assert told.startswith(f"{tmp_path} is too large to scan") and "\n" not in told
    looked.begin()
    assert looked.end() == [], "once is enough"


def test_command_cannot_make_the_project_too_large_to_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = RepositoryScanner([str(tmp_path)])
    assert looked.begin() == [] and not looked.gave_up
    monkeypatch.setattr(git_repositories, "LONGEST_LOOK_S", -1.0)
    git("init", tmp_path / "planted")
    (tmp_path / "planted" / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\n")
    (told,) = looked.end()
    assert "hooks/post-checkout" in told and not (tmp_path / "planted" / ".git").exists()


def test_auto_executed_files_in_subdirectories_are_moved_aside(tmp_path: Path) -> None:
    for name in ("old/.vscode", "src", "node_modules/x"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "old" / ".vscode" / "tasks.json").write_text("{}")
    looked = RepositoryScanner([str(tmp_path)])
    looked.begin()
    assert looked.files == [str(tmp_path / "old" / ".vscode")]
    for name in ("src/.vscode", "node_modules/x/.vscode", "src/.github/workflows"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "src" / ".envrc").write_text("echo")
    told = looked.end()
    assert len(told) == 3 and not (tmp_path / "src" / ".vscode").exists()
    assert (tmp_path / "src" / ".envrc-from-the-jail").exists()
    assert (tmp_path / "src" / ".github" / "workflows-from-the-jail").exists()
    assert (tmp_path / "node_modules" / "x" / ".vscode").exists()
    looked.begin()
    (tmp_path / "old" / ".vscode" / "tasks.json").write_text('{"changed": 1}')
    assert ["was changed" in line for line in looked.end()] == [True]


def test_nested_repositories_are_held_and_nothing_remains(tmp_path: Path) -> None:
    project = tmp_path / "project"
    git("init", project)
    git("init", project / "old")
    before = sorted(str(path) for path in project.rglob("*"))
    policy = policy_for(project, home=str(tmp_path / "home"))
    nested = RepositoryScanner([str(project)]).begin()
    with hold_protected_paths(policy, nested) as covers:
        assert {str(project / ".git"), str(project / "old" / ".git")} == set(covers.pinned)
        assert {str(project / path / ".git" / "commondir") for path in (".", "old")} <= {
            os.path.normpath(p) for p in covers.kept
        }
        git("-C", project, "status")
        git("-C", project / "old", "-c", "user.name=a", "-c", "user.email=b", "commit", "--allow-empty", "-m", "x")
        git("-C", project, "worktree", "list")
    assert not [path for path in project.rglob("*") if path.name == "commondir"]
    assert sorted(str(path) for path in project.rglob("*") if "old" not in path.parts) == [
        path for path in before if "old" not in Path(path).parts
    ]


def test_nested_leftovers_of_killed_run_are_removed(tmp_path: Path) -> None:
    git("init", tmp_path / "project" / "old")
    policy = policy_for(tmp_path / "project", home=str(tmp_path / "home"))
    protected_paths.cover(policy, RepositoryScanner([policy.root]).begin())
    assert (tmp_path / "project" / "old" / ".git" / "commondir").read_text() == ".\n"
    sweep(policy.root, PROTECTED)
    assert os.listdir(tmp_path / "project") == ["old"]
    assert not (tmp_path / "project" / "old" / ".git" / "commondir").exists()
