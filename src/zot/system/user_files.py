"""How zot writes the user's own files: the whole new content appears at once, or nothing changes.

A temporary file beside the target is renamed over it; mode, owner, extended attributes and symlinks stay as they
were. Where the directory does not allow that (not writable, or the file is a mount point) it is written in place.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
_LONGEST_NAME = 200  # leaves room for what the temporary name adds, within the usual 255 bytes


def open_regular(path: Path) -> int:
    """A read-only descriptor of a regular file; directories, pipes and devices raise OSError, never hang."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(path))
    raise OSError(errno.EINVAL, "is not a regular file (a pipe, socket or device)", str(path))


def replace_file(path: Path, data: bytes) -> bool:
    """Give ``path`` the content ``data``; its directory must exist. Returns whether the file was created."""
    target = os.path.realpath(path)
    before = _existing(target)
    try:
        _replace(target, data, before)
    except OSError as error:
        if before is None or error.errno not in _IN_PLACE:
            raise
        _overwrite(target, data)
    return before is None


def _existing(target: str) -> os.stat_result | None:
    try:
        before = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", target)
    if not stat.S_ISREG(before.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file (a pipe, socket or device)", target)
    if not os.access(target, os.W_OK):  # a rename would not ask
        raise PermissionError(errno.EACCES, "is write-protected", target)
    return before


def _replace(target: str, data: bytes, before: os.stat_result | None) -> None:
    directory, name = os.path.split(target)
    temporary = os.path.join(directory, f".{name[:_LONGEST_NAME]}.{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o666 if before is None else 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            if before is not None:
                _take_after(fd, target, before)
            file.flush()
            os.fsync(fd)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _take_after(fd: int, target: str, before: os.stat_result) -> None:
    """Owner first: changing it clears the set-id bits of the mode."""
    made = os.fstat(fd)
    if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.fchown(fd, -1, before.st_gid)
        with suppress(OSError):
            os.fchown(fd, before.st_uid, -1)
    os.fchmod(fd, stat.S_IMODE(before.st_mode))
    if sys.platform == "linux":
        with suppress(OSError):
            for attribute in os.listxattr(target):
                os.setxattr(fd, attribute, os.getxattr(target, attribute))


def _overwrite(target: str, data: bytes) -> None:
    with open(os.open(target, os.O_WRONLY | os.O_CLOEXEC), "wb") as file:
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
