"""Temporary files that disappear with their owner.
Unfinished files have no name, so that the kernel removes them. Where that is impossible, the name is recognisable
and locked, and the next writer removes unlocked ones. Intended leftovers are in one private directory for a week."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from zot.system.safe_open import create, create_unnamed, open_directory, open_for_update

SUFFIX = ".zot-tmp"
KEPT_S = 7 * 24 * 3600  # kept in the temporary directory
KEPT_BYTES = 2 << 30  # maximum size of that; the oldest are removed first
_YOUNG_S = 60  # a name may exist this long before its lock
_MOST_LOOKED_AT = 10_000
_LONGEST_NAME = 200  # leaves space for the suffix of a temporary name, within the usual 255 bytes
_swept: set[str] = set()


class PendingFile:
    """New content for ``target``, written through ``fd``; invisible before ``appear``. Always close it."""

    def __init__(self, target: str | os.PathLike[str], mode: int = 0o600) -> None:
        self._target = os.fspath(target)
        self._name = ""
        self.fd = create_unnamed(os.path.dirname(self._target) or ".", mode)
        if self.fd < 0:
            self._name = temporary_name(self._target)
            self.fd = create(self._name, mode, os.O_RDWR)
            _lock(self.fd)

    def commit(self, *, replace: bool) -> None:
        """Give the content its name atomically. FileExistsError if it is taken and may not be replaced."""
        if not self._name:
            try:
                if self._link(self._target):
                    return
            except FileExistsError:
                if not replace:
                    raise
            _lock(self.fd)
            self._name = temporary_name(self._target)
            if not self._link(self._name):
                self._copy()
        if replace:
            os.replace(self._name, self._target)
        else:
            os.link(self._name, self._target, follow_symlinks=False)
            os.unlink(self._name)
        self._name = ""

    def close(self) -> None:
        """Remove the content unless it has its name."""
        if self.fd >= 0:
            if self._name:
                with suppress(OSError):
                    os.unlink(self._name)
            os.close(self.fd)
            self.fd = -1

    def _link(self, name: str) -> bool:
        """Give the nameless file a name; False if impossible."""
        try:
            os.link(f"/proc/self/fd/{self.fd}", name, src_dir_fd=self.fd, follow_symlinks=True)
        except FileExistsError:
            raise
        except OSError:
            return False
        return True

    def _copy(self) -> None:
        made = os.fstat(self.fd)
        named = create(self._name, stat.S_IMODE(made.st_mode), os.O_RDWR)
        nameless, self.fd = self.fd, named
        _lock(named)
        try:
            os.lseek(nameless, 0, os.SEEK_SET)
            while data := os.read(nameless, 1 << 20):
                os.write(named, data)
            os.fchown(named, made.st_uid, made.st_gid)
            os.fchmod(named, stat.S_IMODE(made.st_mode))
            os.fsync(named)
        finally:
            os.close(nameless)


def temporary_name(target: str) -> str:
    """A name beside ``target`` that ``sweep`` recognizes."""
    directory, name = os.path.split(target)
    return os.path.join(directory, f".{name[:_LONGEST_NAME]}.{os.urandom(6).hex()}{SUFFIX}")


def _lock(fd: int) -> None:
    with suppress(OSError):  # a file system without locks: only age decides
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


# Leftovers.


def remove_stale_files(directory: str | os.PathLike[str]) -> None:
    """Remove leftovers of a killed zot among these files, once per directory; never fails."""
    where = os.fspath(directory)
    if where in _swept:
        return
    _swept.add(where)
    with suppress(OSError), os.scandir(where) as entries:
        for entry in islice(entries, _MOST_LOOKED_AT):
            if entry.name.endswith(SUFFIX) and entry.name.startswith("."):
                remove_if_dead(entry.path)


def remove_if_dead(path: str) -> None:
    """The lock tells whether its owner lives; files of other users are ignored."""
    with suppress(OSError):
        info = os.lstat(path)
        if info.st_uid != os.geteuid() or time.time() - info.st_mtime < _YOUNG_S:
            return
        is_directory = stat.S_ISDIR(info.st_mode)
        fd = open_directory(path) if is_directory else open_for_update(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_directory:
                remove_tree(path)
            else:
                os.unlink(path)
        finally:
            os.close(fd)


def remove_tree(path: str | os.PathLike[str]) -> None:
    """Remove what can be removed; never fails."""
    import shutil  # imports archive modules, not needed elsewhere

    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):  # a directory in it may be read-only
        for place, _, _ in os.walk(path):
            with suppress(OSError):
                fd = open_directory(place)
                try:
                    os.fchmod(fd, 0o700)
                finally:
                    os.close(fd)
        shutil.rmtree(path, ignore_errors=True)


# The directory for kept files and for temporary work directories.


def user_temp_dir() -> Path:
    """``zot-UID`` in the temporary directory, private; removes old content. OSError if it is not ours."""
    path = _kept_path()
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
        raise PermissionError(1, "is not a private directory of yours", path)
    prune_user_temp_dir()
    return Path(path)


def _kept_path() -> str:
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"zot-{os.geteuid()}")


def prune_user_temp_dir() -> None:
    """Remove entries older than a week, and the oldest above the size limit; never fails."""
    files: list[tuple[float, int, str]] = []
    with suppress(OSError), os.scandir(_kept_path()) as entries:
        for entry in islice(entries, _MOST_LOOKED_AT):
            if entry.name.endswith(SUFFIX):
                remove_if_dead(entry.path)
            else:
                info = entry.stat(follow_symlinks=False)
                files.append((info.st_mtime, info.st_size, entry.path))
    oldest, room = time.time() - KEPT_S, KEPT_BYTES
    for modified, size, path in sorted(files, reverse=True):
        room -= size
        if modified < oldest or room < 0:
            with suppress(OSError):
                os.unlink(path)


def remove_older(directory: Path, seconds: float) -> None:
    """Remove files of our directory that were unused this long; never fails."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in islice(entries, _MOST_LOOKED_AT):
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode) and time.time() - info.st_mtime > seconds:
                os.unlink(entry.path)


@contextmanager
def locked_temp_dir(path: Path) -> Generator[Path]:
    """A new private directory for the block, locked for ``remove_if_dead``; it may be moved."""
    path.mkdir(mode=0o700, parents=True)
    fd = -1
    try:
        fd = open_directory(path)
        _lock(fd)
        yield path
    finally:
        if fd >= 0:
            os.close(fd)
        remove_tree(os.fspath(path))


@contextmanager
def scratch_directory(what: str) -> Generator[Path]:
    """A temporary work directory; a later zot removes that of a killed one."""
    try:
        parent = user_temp_dir()
    except OSError:
        parent = Path(os.environ.get("TMPDIR") or "/tmp")
    with locked_temp_dir(Path(temporary_name(os.fspath(parent / what)))) as path:
        yield path
