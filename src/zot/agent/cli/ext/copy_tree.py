"""Copying an extension's directory: files with their permission bits, links as links, nothing else.

A link is never followed. One that stays inside the tree stays relative; one that leads out keeps its target by
absolute path. Pipes, sockets and devices are left out and named.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

from zot.agent.cli.ext.installed import tell

_STEP = 200


def copy_tree(source: Path, destination: Path) -> None:
    """``destination`` must not exist. OSError leaves a part behind; the caller removes it."""
    progress = _Progress()
    _copy_dir(source, destination, Path(os.path.realpath(source)), progress)
    progress.close()


def _copy_dir(source: Path, destination: Path, root: Path, progress: _Progress) -> None:
    destination.mkdir(mode=0o700)
    with os.scandir(source) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            _copy_entry(entry, destination / entry.name, root, progress)
    destination.chmod(stat.S_IMODE(source.stat().st_mode) & 0o777 | 0o700)


def _copy_entry(entry: os.DirEntry[str], target: Path, root: Path, progress: _Progress) -> None:
    if entry.is_symlink():
        os.symlink(_link_target(Path(entry.path), root), target)
    elif entry.is_dir():
        _copy_dir(Path(entry.path), target, root, progress)
    elif entry.is_file():
        shutil.copyfile(entry.path, target)
        target.chmod(stat.S_IMODE(entry.stat().st_mode) & 0o777)
        progress.add(entry.stat().st_size)
    else:
        tell(f"left out {entry.path}: not a file, directory or link")


def _link_target(link: Path, root: Path) -> str:
    """Where the copy of ``link`` points: the same thing, seen from the new place."""
    text = os.readlink(link)
    here = os.path.realpath(link.parent)
    there = os.path.normpath(os.path.join(here, text))
    if Path(there).is_relative_to(root):
        return os.path.relpath(there, here)
    return there


class _Progress:
    """A counter on a terminal, for copies big enough to wonder about."""

    def __init__(self) -> None:
        self._files = 0
        self._bytes = 0
        self._shown = False

    def add(self, size: int) -> None:
        self._files += 1
        self._bytes += size
        if self._files % _STEP == 0 and sys.stderr.isatty():
            self._shown = True
            sys.stderr.write(f"\r  {self._files} files, {self._bytes / 1e6:.1f} MB")
            sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write(f"\r  {self._files} files, {self._bytes / 1e6:.1f} MB\n")
