"""The jail in every ordinary place a project can be."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot

PLACES = [place for place in ("/tmp", "/var/tmp", "/opt", "/srv", "/mnt") if os.access(place, os.W_OK)]
NAMES = ["zot project", "..x", "-rf", "umlaut-ä", "a'b\"c"]


@pytest.fixture
def made() -> Iterator[list[Path]]:
    paths: list[Path] = []
    yield paths
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


def check(zot: Zot, project: Path, *, level: str, **environ: str) -> None:
    """A jailed command reads and writes in the project, sees its own path, and writes nowhere else."""
    outside = project.parent / f"{project.name}-outside"
    script = 'pwd; cat here; echo new > made; echo gone > "$1"; ls'
    argv = ["jail", "--require", level, "--", "sh", "-c", script, "sh", str(outside)]
    (project / "here").write_text("content\n")
    ran = subprocess.run(
        zot.argv(argv), cwd=project, env={**zot.env(), **environ}, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.splitlines()[:2] == [os.path.realpath(project), "content"], ran.stdout + ran.stderr
    assert (project / "made").read_text() == "new\n", ran.stderr
    assert not outside.exists(), ran.stderr


@pytest.mark.parametrize("place", PLACES)
def test_jail_works_below_a_directory_of_the_system(zot: Zot, made: list[Path], place: str) -> None:
    project = Path(place) / f"zot-{os.getpid()}" / "project"
    project.mkdir(parents=True)
    made.append(project.parent)
    check(zot, project, level="full")


@pytest.mark.parametrize("name", NAMES)
def test_jail_works_with_an_unusual_name(zot: Zot, tmp_path: Path, name: str) -> None:
    project = tmp_path / name
    project.mkdir()
    check(zot, project, level="full")


@pytest.mark.parametrize("place", ["/opt", "/var/tmp", "/srv"])
def test_jail_works_with_a_home_outside_of_home(zot: Zot, made: list[Path], place: str) -> None:
    home = Path(place) / f"zot-home-{os.getpid()}"
    project = home / "work" / "project"
    project.mkdir(parents=True)
    made.append(home)
    check(zot, project, level="full", HOME=str(home))


def test_jail_works_with_a_linked_home(zot: Zot, tmp_path: Path) -> None:
    real, linked = tmp_path / "real", tmp_path / "linked"
    (real / "project").mkdir(parents=True)
    linked.symlink_to(real)
    check(zot, linked / "project", level="full", HOME=str(linked))


def test_jail_works_in_a_linked_worktree(zot: Zot, tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(main)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True, capture_output=True)
    check(zot, tree, level="full")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_jail_works_in_a_bind_mount(zot: Zot, tmp_path: Path) -> None:
    source, project = tmp_path / "source", tmp_path / "mounted"
    source.mkdir()
    project.mkdir()
    mounted = subprocess.run(["mount", "--bind", str(source), str(project)], capture_output=True)
    if mounted.returncode:  # in a container without that right, a mount namespace has it
        script = 'mount --bind "$1" "$2" && cd "$2" && shift 2 && exec "$@"'
        argv = ["unshare", "-Umr", "sh", "-c", script, "sh", str(source), str(project)]
        inner = zot.argv(["jail", "--", "sh", "-c", "echo new > made"])
        ran = subprocess.run([*argv, *inner], env=zot.env(), capture_output=True, text=True)
        assert (source / "made").read_text() == "new\n", ran.stderr
        return
    try:
        check(zot, project, level="full")
    finally:
        subprocess.run(["umount", str(project)], check=True)
