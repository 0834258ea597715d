"""Which commands only read, and which of them stay in the project. Tricks that must not count are rows of `attack/`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from zot.features.permissions.read_only_commands import classify_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "a.txt").write_text("x")
    (project / "link").symlink_to(tmp_path)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


def kind(command: str, project: Path) -> str:
    def is_inside(path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project))

    return classify_command(command, project, is_inside).kind


READING = [
    *(
        "ls",
        "ls -la src",
        "cat a.txt | head -n 3",
        "pwd; whoami",
        "wc -l a.txt 2>/dev/null",
        "grep -rn 'a b' src || true",
    ),
    *("rg -n --hidden 'x' src", "find . -name '*.py' -not -path './src/*' -type f", "sort -u a.txt | uniq -c"),
    *("git status --short", "git --no-pager log --oneline -5", "git diff main..topic -- src", "git show HEAD:a.txt"),
    *("git branch -a", "git branch --list 'x*'", "git tag -l", "git remote -v", "git rev-parse HEAD 2>&1 | cut -c1-7"),
    *("jq '.a' a.txt", "/bin/ls src", "cd . && ls", "git blame a.txt", "diff a.txt src/b.txt", "tree -L 2 -a"),
]


@pytest.mark.parametrize("command", READING)
def test_reading_in_the_project_is_recognized(project: Path, command: str) -> None:
    """issue 29.3: parsed commands that only read."""
    assert kind(command, project) == "look"
    assert kind(f"cd {project}/src && {command}", project) == "look" or "cd " in command


@pytest.mark.parametrize(
    "command", ["cat /etc/hosts", "ls ..", "cat link/x", "grep -f../x a", "ls --ignore=/etc", "cd / && ls"]
)
def test_reading_elsewhere_is_asked_about(project: Path, command: str) -> None:
    assert kind(command, project) == "look elsewhere"


@pytest.mark.parametrize("command", ["", "make", "ls | sh", "cat a > b", "ls;", "cd src", "cd link/../.. && ls", "git"])
def test_everything_else_is_not_reading(project: Path, command: str) -> None:
    assert kind(command, project) == "act"


def test_git_is_reading_only_in_a_repository_of_the_project(project: Path) -> None:
    assert kind("git status", project / "src") == "act"  # its settings are outside this project
    (project / ".git" / "config").write_text("[core]\n\tfsmonitor = true\n")
    assert kind("git status", project) == "act"
