"""Opens files beneath the jail's roots for tools in zot's process; no link can lead out (``openat2``).
Checking first and opening later would lose a race against a command. Without ``openat2`` links are not followed at
all, and a link in the last place is replaced."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from zot.system.auto_run_files import auto_executed_part
from zot.system.jail import syscalls
from zot.system.jail.policy import GIT_PROTECTED, Policy
from zot.system.safe_open import check_regular

_MOST_LINKS = 40
_PATH = getattr(os, "O_PATH", os.O_RDONLY)  # not on macOS
_F_GETPATH = 50
_LED_OUT = (errno.EXDEV, errno.ELOOP)


class JailDenied(PermissionError):
    """The jail's denial; ``told`` is the whole sentence."""

    @property
    def message(self) -> str:
        return f"jailed: {self.filename} {self.strerror}"


class OutsideRoots(JailDenied):
    """The path is not beneath any root, or a link leads out."""

    def __init__(self, path: str, roots: tuple[str, ...]) -> None:
        super().__init__(errno.EACCES, f"is outside {roots[0]}; only the user can allow that: /unjail", path)


class Protected(JailDenied):
    """Other programs run or use it, so it is read-only in a jail."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(errno.EACCES, f"is protected: {name} is read-only in a jail; the user can /unjail", path)


class JailedFiles:
    """Keeps the roots open: renaming them has no effect."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._held = {root: _held(root) for root in policy.readable}
        single = (*policy.read_files, *policy.write_files)
        self._single = {path: _held(os.path.dirname(path)) for path in single}  # their parent directories

    def close(self) -> None:
        for held in (self._held, self._single):
            while held:
                os.close(held.popitem()[1])

    def covers(self, path: str | os.PathLike[str]) -> bool:
        """True if its name is beneath a root; the jail does not restrict other paths."""
        name = os.path.normpath(path)
        return name in self._single or any(_lies_beneath(name, root) for root in self._policy.readable)

    def reading(self, path: str | os.PathLike[str]) -> BufferedReader:
        return os.fdopen(self.open(path), "rb")

    def open(self, path: str | os.PathLike[str]) -> int:
        """A descriptor of a regular file for reading."""
        name = os.path.normpath(path)
        fd = self._readable(name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            check_regular(fd, name)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def open_directory(self, path: str | os.PathLike[str]) -> int:
        """A descriptor of a directory, to list it."""
        return self._readable(os.path.normpath(path), os.O_RDONLY | os.O_DIRECTORY)

    def check(self, path: str | os.PathLike[str]) -> None:
        """Denied if a search that begins here would begin outside."""
        name = os.path.normpath(path)
        with suppress(FileNotFoundError):
            os.close(self._readable(name, _PATH))

    @contextmanager
    def writable_path(self, path: str | os.PathLike[str], *, make: bool = False) -> Generator[Path]:
        """A path for writing that is valid in the block; ``make`` creates missing directories."""
        writable = self._policy.writable
        name = os.path.normpath(path)
        for _ in range(_MOST_LINKS):
            if name in self._policy.write_files:
                yield Path(f"/proc/self/fd/{self._single[name]}/{os.path.basename(name)}")
                return
            root = self._root_of(name, writable)
            directory = self._directory(root, os.path.dirname(name), make=make)
            try:
                real = _path_of(directory)
                self._check_protected(os.path.join(real, os.path.basename(name)))
                try:
                    link = os.readlink(os.path.basename(name), dir_fd=directory)
                except OSError:
                    link = None
                if link is None:
                    # a name that survives renames; macOS has none, so the race stays open there
                    yield Path(
                        _path_of(directory) if sys.platform == "darwin" else f"/proc/self/fd/{directory}",
                        os.path.basename(name),
                    )
                    return
            finally:
                os.close(directory)
            name = os.path.normpath(os.path.join(real, link))
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))

    def _readable(self, name: str, flags: int) -> int:
        """Follows links from one root to another, or to a single file, which ``openat2`` denies."""
        readable = self._policy.readable
        if name in self._single:
            return self._opened_single(name, flags)
        try:
            return self._opened(self._root_of(name, readable), name, flags, readable)
        except OutsideRoots:
            real = os.path.realpath(name)
            if real in self._single:
                return self._opened_single(real, flags)
            if real == name:
                raise
            return self._opened(self._root_of(real, readable), real, flags, readable)

    def _opened_single(self, name: str, flags: int) -> int:
        """The current file of this name unless it is a link: the user approved it at its place."""
        return os.open(os.path.basename(name), flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._single[name])

    def _root_of(self, name: str, roots: tuple[str, ...]) -> str:
        fitting = [root for root in roots if _lies_beneath(name, root)]
        if not fitting:
            raise OutsideRoots(name, roots)
        return max(fitting, key=len)

    def _opened(self, root: str, name: str, flags: int, roots: tuple[str, ...]) -> int:
        relative = os.fsencode(os.path.relpath(name, root))
        try:
            return syscalls.open_beneath(self._held[root], relative, flags)
        except OSError as error:
            if error.errno in (errno.ENOSYS, errno.EINVAL):
                return _step_by_step(self._held[root], relative, flags)
            if error.errno in _LED_OUT:
                raise OutsideRoots(name, roots) from error
            raise OSError(error.errno, error.strerror, name) from error

    def _directory(self, root: str, name: str, *, make: bool) -> int:
        flags = _PATH | os.O_DIRECTORY
        try:
            return self._opened(root, name, flags, self._policy.writable)
        except FileNotFoundError:
            if not make or name == root:
                raise
        above = self._directory(root, os.path.dirname(name), make=True)
        try:
            self._check_protected(os.path.join(_path_of(above), os.path.basename(name)))
            with suppress(FileExistsError):
                os.mkdir(os.path.basename(name), 0o755, dir_fd=above)
        finally:
            os.close(above)
        return self._opened(root, name, flags, self._policy.writable)

    def _check_protected(self, real: str) -> None:
        """``real`` has no links: the kernel's name of an open directory, and a name in it."""
        root = self._root_of(real, self._policy.writable)
        parts = os.path.relpath(real, root).split("/")
        for name in self._policy.protected:
            if _lies_beneath("/".join(parts), name):
                raise Protected(real, name)
        if parts[0] == ".git" and (len(parts) == 1 or parts[1] in GIT_PROTECTED):
            raise Protected(real, "/".join(parts[:2]))
        if parts[0] != ".git" and root not in self._policy.plain and (name := auto_executed_part(parts)):
            raise Protected(real, name)


# Writes of zot itself, such as a rewind or a merge: no link at all in the directories of the path.


@contextmanager
def linkless_path(path: str, root: str = "/", *, make: bool = False) -> Generator[str]:
    """A name of ``path`` (absolute, below ``root``) that is valid in the block, whatever is renamed meanwhile.
    OSError if a directory between ``root`` and it is a link. ``make`` creates missing directories. The last part may
    be a link: the caller must not follow it."""
    held = _held(root)
    try:
        directory = _linkless_directory(held, os.path.relpath(os.path.dirname(path), root), make=make)
    except OSError as error:
        reason = "a parent directory is now a link" if error.errno in _LED_OUT else error.strerror
        raise OSError(error.errno, reason, path) from error
    finally:
        os.close(held)
    try:
        where = _path_of(directory) if sys.platform == "darwin" else f"/proc/self/fd/{directory}"
        yield os.path.join(where, os.path.basename(path))
    finally:
        os.close(directory)


def _linkless_directory(root: int, relative: str, *, make: bool) -> int:
    flags = _PATH | os.O_DIRECTORY
    try:
        return syscalls.open_beneath(root, os.fsencode(relative), flags, links=False)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        try:
            return _step_by_step(root, os.fsencode(relative), flags)
        except FileNotFoundError:
            if not make:
                raise
    above = _linkless_directory(root, os.path.dirname(relative) or ".", make=True)
    try:
        with suppress(FileExistsError):
            os.mkdir(os.path.basename(relative), 0o755, dir_fd=above)
    finally:
        os.close(above)
    return _linkless_directory(root, relative, make=False)


def set_mode(path: str, mode: int) -> None:
    """Changes the mode of the file itself, never of the target of a link."""
    if sys.platform == "darwin":
        os.chmod(path, mode, follow_symlinks=False)
        return
    fd = os.open(path, _PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)


def _path_of(fd: int) -> str:
    """Current path of an open directory."""
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(fd, _F_GETPATH, bytes(1024)).split(b"\0")[0])
    return os.readlink(f"/proc/self/fd/{fd}")


def _lies_beneath(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root.rstrip('/')}/")


def _held(directory: str) -> int:
    return os.open(directory, _PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _step_by_step(root: int, relative: bytes, flags: int) -> int:
    """For kernels without ``openat2``: no link is followed, so none can lead out."""
    at = os.dup(root)
    parts = [part for part in relative.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        os.close(at)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    try:
        for part in parts[:-1]:
            below = os.open(part, _PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        last = parts[-1] if parts else b"."
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
