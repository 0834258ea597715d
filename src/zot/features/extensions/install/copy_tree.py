"""Copies the directory of an extension: files with permission bits, links as links.
Links into the same repository are replaced by their targets. Special files, git's files, bytecode, development files
and ignored files that look like data are skipped."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from zot.features.extensions.loader.data_dir import RECORD, ignored_names, is_among, looks_like_data
from zot.features.extensions.loader.manifest import Manifest
from zot.system.safe_open import create, open_buffered

_PROGRESS_STEP = 200  # files
_LEFT_BEHIND = {".git", "__pycache__", RECORD}
_DEVELOPMENT = frozenset(
    {
        *(".github", ".gitlab", ".vscode", ".idea", ".venv", ".tox", ".nox"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".DS_Store"),
    }
)
_TESTS = ("tests", "test")  # only at the top: deeper ones may belong to a package
_READ_LIMIT = 64 * 1024  # bytes of a program that are searched for names it needs

Skip = Callable[[Path], bool]
Notify = Callable[[str], None]  # a line for the user


def copy_extension(manifest: Manifest, destination: Path, notify: Notify) -> None:
    """``destination`` must not exist. OSError leaves a part behind; the caller removes it."""
    source = manifest.directory
    ignored = ignored_names(source)
    left_out: list[str] = []
    development: list[str] = []
    needed = _needed_text(manifest)

    def skip(path: Path) -> bool:
        name = str(path.relative_to(source))
        if path.name in _LEFT_BEHIND or path.suffix == ".pyc":
            return True
        if is_development_file(name) and not _names_directory(needed, path.name):
            development.append(name)
            return True
        if is_among(name, ignored) and looks_like_data(path, manifest):
            left_out.append(name)
            return True
        return False

    copy_tree(source, destination, repository_of(source), skip, notify)
    if left_out:
        more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
        notify(f"skipped files ignored by git: {', '.join(left_out[:5])}{more}")
    if development:
        notify(f"left out development files: {', '.join(development)}")


def is_development_file(name: str) -> bool:
    """True for a path in an extension that only its author needs: tests, caches, editor files, ``.env`` files."""
    last = name.rpartition("/")[2]
    return last in _DEVELOPMENT or name in _TESTS or last.startswith(".env")


def _names_directory(text: str, name: str) -> bool:
    return f"{name}/" in text and re.search(rf"(?<![\w.-]){re.escape(name)}/", text) is not None


def _needed_text(manifest: Manifest) -> str:
    """Manifest fields and start of the program: a directory named there, such as ``.venv``, is copied."""
    words = [word for word in (manifest.exec, *manifest.args, *manifest.skills) if word]
    texts, root = list(words), os.path.realpath(manifest.directory)
    for word in words:
        place = Path(os.path.realpath(manifest.directory / word))
        if place.is_file() and place.is_relative_to(root):
            with open_buffered(place) as file:
                texts.append(file.read(_READ_LIMIT).decode("utf-8", "replace"))
    return "\n".join(texts)


def copy_tree(source: Path, destination: Path, repository: Path, skip: Skip, notify: Notify) -> None:
    progress = _Progress()
    _Copying(Path(os.path.realpath(source)), repository, skip, notify, progress).copy_dir(source, destination)
    progress.close()


def repository_of(directory: Path) -> Path:
    """The root of its git repository; the directory itself without one."""
    real = Path(os.path.realpath(directory))
    return next((place for place in (real, *real.parents) if (place / ".git").exists()), real)


class _Copying:
    def __init__(self, root: Path, repository: Path, skip: Skip, notify: Notify, progress: _Progress) -> None:
        self._root = root
        self._repository = repository
        self._skip = skip
        self._notify = notify
        self._progress = progress
        self._above: list[str] = []

    def copy_dir(self, source: Path, destination: Path) -> None:
        destination.mkdir(mode=0o700)
        self._above.append(os.path.realpath(source))
        with os.scandir(source) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                target = destination / entry.name
                if self._skip(Path(entry.path)):
                    continue
                if entry.is_symlink() and not self._leads_into_repository(entry.path):
                    os.symlink(_link_target(Path(entry.path), self._root), target)
                elif entry.is_dir():
                    self.copy_dir(Path(entry.path), target)
                elif entry.is_file():
                    with (
                        open_buffered(entry.path, self._repository) as original,
                        os.fdopen(create(target), "wb") as copy,
                    ):
                        shutil.copyfileobj(original, copy, 1 << 20)
                    target.chmod(stat.S_IMODE(entry.stat().st_mode) & 0o700)
                    self._progress.add(entry.stat().st_size)
                else:
                    self._notify(f"skipped {entry.path}: not a file, directory or link")
        self._above.pop()
        destination.chmod(0o700)

    def _leads_into_repository(self, path: str) -> bool:
        """True for a link out of the extension but inside its checkout, without cycles."""
        real = os.path.realpath(path)
        if not os.path.exists(real) or any(Path(above).is_relative_to(real) for above in self._above):
            return False
        return Path(real).is_relative_to(self._repository) and not Path(real).is_relative_to(self._root)


def _link_target(link: Path, root: Path) -> str:
    """Target of the copied link: relative inside the tree, absolute outside."""
    text = os.readlink(link)
    here = os.path.realpath(link.parent)
    there = os.path.normpath(os.path.join(here, text))
    if Path(there).is_relative_to(root):
        return os.path.relpath(there, here)
    return there


class _Progress:
    """Progress counter on a terminal, for large copies."""

    def __init__(self) -> None:
        self._files = 0
        self._bytes = 0
        self._shown = False

    def add(self, size: int) -> None:
        self._files += 1
        self._bytes += size
        if self._files % _PROGRESS_STEP == 0 and sys.stderr.isatty():
            self._shown = True
            sys.stderr.write(f"\r  {self._files} files, {self._bytes / 1e6:.1f} MB")
            sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write(f"\r  {self._files} files, {self._bytes / 1e6:.1f} MB\n")
