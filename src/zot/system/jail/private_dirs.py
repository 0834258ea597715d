"""Private directories of a jail: home, temporary directory and a small ``/etc``.
They last as long as the jail. The home contains only the user's git name and address."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from zot.system.jail.system_paths import etc_directories, etc_files
from zot.system.safe_open import create, read_whole

_LARGEST = 1 << 20  # bytes of a file in /etc
_IDENTITY = ("name", "email")
_LEADING = 0o555  # mode of a directory that only leads to a mount point


class PrivateDirs:
    def __init__(self, directory: str, home: str) -> None:
        self.home = os.path.join(directory, "home")
        self.tmp = os.path.join(directory, "tmp")
        self.etc = os.path.join(directory, "etc")
        for path in (self.home, self.tmp, self.etc):
            os.mkdir(path, 0o700)
        for path in etc_directories():
            os.makedirs(f"{self.etc}{path.removeprefix('/etc')}")
        for path in etc_files():
            with suppress(OSError):  # unreadable files are omitted
                copy = f"{self.etc}{path.removeprefix('/etc')}"
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                _write(copy, read_whole(path, _LARGEST))
        _write(os.path.join(self.home, ".gitconfig"), git_identity(home).encode())

    def create_mount_points(self, paths: Iterable[str], home: str) -> None:
        """Create mount points for allowed paths below private directories.
        The directories above are read-only, so that files are not written there and lost."""
        leading: set[str] = set()
        for path in paths:
            here, top = self._inside(path, home)
            if here:
                leading |= _make(here, top, is_directory=os.path.isdir(path))
        for directory in leading:
            os.chmod(directory, _LEADING)

    def tidy(self, paths: Iterable[str], home: str) -> None:
        """Remove the empty files and directories that were mounted on for ``paths``."""
        for path in paths:
            here, top = self._inside(path, home)
            if here:
                _remove_empty(here, top)

    def _inside(self, path: str, home: str) -> tuple[str, str]:
        """The real path behind ``path`` and its private directory; or None."""
        places = ((home, self.home), ("/tmp", self.tmp), ("/var/tmp", self.tmp), ("/etc", self.etc))
        for outside, inside in places:
            if path.startswith(f"{outside}/"):
                return os.path.join(inside, os.path.relpath(path, outside)), inside
        return "", ""


def _make(here: str, top: str, *, is_directory: bool) -> set[str]:
    """Create the mount point and the directories above it, except those that programs write to."""
    above = [os.path.dirname(here)]
    while above[-1] != top:
        above.append(os.path.dirname(above[-1]))
    for directory in reversed(above[:-1]):
        with suppress(FileExistsError):
            os.mkdir(directory)
        os.chmod(directory, 0o755)
    with suppress(FileExistsError):
        os.mkdir(here) if is_directory else _write(here, b"")
    hidden = any(part.startswith(".") for part in os.path.relpath(here, top).split("/"))
    return set() if hidden else set(above[:-1])


def _remove_empty(path: str, top: str) -> None:
    """Also remove the empty directories above it."""
    with suppress(OSError):
        info = os.lstat(path)
        if stat.S_ISREG(info.st_mode) and info.st_size:
            return
        above = os.path.dirname(path)
        while path != top:
            locked = above != top and not os.stat(above).st_mode & stat.S_IWUSR
            if locked:
                os.chmod(above, 0o755)
            try:
                os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
            finally:
                if locked:
                    os.chmod(above, _LEADING)
            path, above = above, os.path.dirname(above)


def git_identity(home: str) -> str:
    """A git configuration with only the user's name and address."""
    lines = ["[safe]", "\tdirectory = *", "[user]"]
    section = ""
    for path in (f"{home}/.config/git/config", f"{home}/.gitconfig"):
        with suppress(OSError, UnicodeError):
            for line in read_whole(path, _LARGEST).decode().splitlines():
                text = line.strip()
                section = text.lower() if text.startswith("[") else section
                if section == "[user]" and text.partition("=")[0].strip().lower() in _IDENTITY:
                    lines.append(f"\t{text}")
    return "\n".join(lines) + "\n"


def _write(path: str, content: bytes) -> None:
    fd = create(path, 0o644, os.O_WRONLY)
    try:
        os.write(fd, content)
    finally:
        os.close(fd)
