"""Real repositories for the tests of trees and merges, with a user who has uncommitted changes."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from zot.swarm.git.worktrees import CreatedWorktree, create
from zot.swarm.worker_records import WorktreeRecord

_CLEAN = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "a person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}


def git(where: Path, *words: str, check: bool = True) -> str:
    """The user's own git."""
    done = subprocess.run(["git", *words], cwd=where, env={**os.environ, **_CLEAN}, capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().rstrip("\n")


def repository(place: Path, files: dict[str, str] | None = None, *init: str) -> Path:
    place.mkdir(parents=True)
    git(place, "init", "-q", "-b", "main", *init)
    git(place, "config", "user.name", "a person")
    git(place, "config", "user.email", "person@example.org")
    for name, text in (files or {"a.txt": "one\ntwo\nthree\n", "src/b.txt": "b\n"}).items():
        put(place / name, text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "first")
    return place


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def worker(repo: Path, home: Path, name: str = "w", *, include_dirty: bool = False) -> WorktreeRecord:
    return (await made(repo, home, name, include_dirty=include_dirty)).tree


async def made(repo: Path, home: Path, name: str = "w", *, include_dirty: bool = False) -> CreatedWorktree:
    return await create(repo, home / f"{name}-1", name, f"{name}-1", include_dirty=include_dirty)


def everything(top: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of all files of a repository, including git's, except its objects and workers' branches."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        if name.startswith((".git/objects", ".git/refs/heads/zot", ".git/logs")) or path.is_dir():
            continue
        info = path.lstat()
        data = os.readlink(path).encode() if stat.S_ISLNK(info.st_mode) else path.read_bytes()
        found[name] = (info.st_mode, data)
    return found
