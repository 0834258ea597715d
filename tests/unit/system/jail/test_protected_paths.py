"""Protected names that are missing are held while a command runs, and nothing of it stays behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zot.errors import ConfigError
from zot.system.jail.policy import PROTECTED, policy_for
from zot.system.jail.protected_paths import hold_protected_paths, repository, sweep


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_names_are_reserved_and_released(project: Path, tmp_path: Path) -> None:
    (project / ".mcp.json").write_text("{}")
    with hold_protected_paths(policy_for(project, home=str(tmp_path))) as covers:
        assert str(project / ".zot") in covers.empty
        assert covers.kept == (str(project / ".mcp.json"),)
        assert sorted(os.listdir(project)) == sorted(PROTECTED)
    assert os.listdir(project) == [".mcp.json"]


def test_a_directory_of_the_users_own_stays(project: Path, tmp_path: Path) -> None:
    (project / ".vscode").mkdir()
    with hold_protected_paths(policy_for(project, home=str(tmp_path))) as covers:
        assert str(project / ".vscode") in covers.kept
    assert os.listdir(project) == [".vscode"]


def test_two_jails_in_one_project_do_not_disturb_each_other(project: Path, tmp_path: Path) -> None:
    policy = policy_for(project, home=str(tmp_path))
    with hold_protected_paths(policy):
        with hold_protected_paths(policy) as inner:
            assert str(project / ".zot") in inner.empty
        assert (project / ".zot").is_dir(), "the first one still needs it"
    assert os.listdir(project) == []


def test_leftovers_of_killed_run_are_removed(project: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom zot.system.jail.protected_paths import hold_protected_paths\n"
        "from zot.system.jail.policy import policy_for\n"
        "with hold_protected_paths(policy_for(sys.argv[1], home='/nowhere')):\n"
        "    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, project], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"held\n"
        sweep(str(project), PROTECTED)
        assert (project / ".zot").is_dir(), "it is still at work"
        child.kill()
    sweep(str(project), PROTECTED)
    assert os.listdir(project) == []


def test_git_does_not_see_them(project: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", project], check=True)
    with hold_protected_paths(policy_for(project, home=str(tmp_path))):
        status = subprocess.run(["git", "-C", project, "status", "--short"], capture_output=True, check=True)
        subprocess.run(["git", "-C", project, "add", "-A"], check=True)
    assert status.stdout == b"" == status.stderr


@pytest.mark.parametrize("name", [".zot", ".claude", ".git"])
def test_a_link_in_a_protected_place_is_refused(project: Path, tmp_path: Path, name: str) -> None:
    (project / name).symlink_to(tmp_path)
    with (
        pytest.raises(ConfigError, match="is a link"),
        hold_protected_paths(policy_for(project, home=str(tmp_path / "home"))),
    ):
        pass
    assert sorted(os.listdir(project)) == [name]


def test_worktree_includes_repository_and_false_pointer_does_not(project: Path, tmp_path: Path) -> None:
    main = tmp_path / "main"
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C"]
    subprocess.run(["git", "init", "-q", main], check=True)
    subprocess.run([*run, main, "commit", "-qm", "x", "--allow-empty"], check=True)
    subprocess.run([*run, main, "worktree", "add", "-q", tmp_path / "tree"], check=True)
    assert repository(str(tmp_path / "tree")) == [str(tmp_path / "tree" / ".git"), str(main / ".git")]
    (project / ".git").write_text(f"gitdir: {tmp_path}\n")
    assert repository(str(project)) == [str(project / ".git")]
