"""The only place where zot opens files: regular files only, without blocking, up to a size limit.
Untrusted directories may contain pipes, devices or links. Reading follows links, inside ``within`` if given; writing
follows only zot's own. Standard library only, for the search worker."""

from __future__ import annotations

import errno
import os
import stat
import sys
from io import BufferedReader

LARGEST_SETTINGS = 16 << 20  # of a file that users edit; the largest usual ones have some hundred KiB

AnyPath = str | os.PathLike[str]


class TooLarge(OSError):
    def __init__(self, path: AnyPath, limit: int) -> None:
        size = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
        super().__init__(errno.EFBIG, f"is larger than {size}", os.fspath(path))


class SymlinkEscape(OSError):
    """A link leads out of the directory the file must be in."""

    def __init__(self, path: AnyPath, real: str, within: str) -> None:
        super().__init__(errno.ELOOP, f"leads out of {within} through a link, to {real}", os.fspath(path))


# Reading.


def open_regular(path: AnyPath, within: AnyPath | None = None, *, follow: bool = True) -> int:
    """A read-only descriptor of a regular file, else OSError. LeadsOut if the real file is not below ``within``."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    try:
        check_regular(fd, path)
        if within is not None:
            root = os.path.realpath(within)
            real = opened_path(fd, path)
            from pathlib import Path  # listing models does without it

            if not Path(real).is_relative_to(root):
                raise SymlinkEscape(path, real, root)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_buffered(path: AnyPath, within: AnyPath | None = None, *, follow: bool = True) -> BufferedReader:
    return os.fdopen(open_regular(path, within, follow=follow), "rb")


def read_whole(
    path: AnyPath, limit: int = LARGEST_SETTINGS, within: AnyPath | None = None, *, follow: bool = True
) -> bytes:
    """All of a file; TooLarge if it has more than ``limit``, whatever its reported size."""
    with open_buffered(path, within, follow=follow) as file:
        data = read_at_most(file, limit + 1)
    if len(data) > limit:
        raise TooLarge(path, limit)
    return data


def read_at_most(file: BufferedReader, limit: int) -> bytes:
    """``file.read(limit)`` would allocate everything first: a tenth of a millisecond for 32 MiB."""
    expected = min(os.fstat(file.fileno()).st_size + 1, limit)
    data = file.read(expected)
    return data + file.read(limit - expected) if len(data) == expected < limit else data  # it grew, or has no size


def read_unlinked(path: str, limit: int) -> bytes:
    """As ``read_whole`` for an absolute path without links; SymlinkEscape if one was swapped in meanwhile."""
    with open_buffered(path, follow=False) as file:
        if (real := opened_path(file.fileno(), path)) != path:
            raise SymlinkEscape(path, real, os.path.dirname(path))
        data = read_at_most(file, limit + 1)
    if len(data) > limit:
        raise TooLarge(path, limit)
    return data


def read_prefix(path: AnyPath, limit: int = LARGEST_SETTINGS) -> bytes:
    with open_buffered(path) as file:
        return file.read(limit)


# Writing.


def create(path: AnyPath, mode: int = 0o600, flags: int = os.O_WRONLY) -> int:
    """A descriptor of a new file; FileExistsError for any existing entry, including a dangling link."""
    return os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)


def create_unnamed(directory: AnyPath, mode: int = 0o600) -> int:
    """A descriptor of a new file without a name, which ``/proc`` can give it; -1 if unsupported."""
    if sys.platform != "linux" or not os.path.isdir("/proc/self/fd"):
        return -1
    try:
        return os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return -1  # unsupported by the file system or kernel; the next attempt reports a missing directory
        raise


def open_directory(path: AnyPath) -> int:
    """A descriptor of a directory, to sync or lock it; OSError for a link."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)


def open_to_append(path: AnyPath, flags: int = os.O_WRONLY) -> int:
    """A descriptor for appending to a private file, created if missing; OSError for a link of either kind."""
    flags |= os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    fd = _regular(_opened(path, flags), path)
    if os.fstat(fd).st_nlink > 1:
        os.close(fd)
        raise OSError(errno.EMLINK, "is a second name of another file (a hard link)", os.fspath(path))
    return fd


def open_for_update(path: AnyPath, *, follow: bool = False) -> int:
    """A descriptor for reading and appending to an existing file; ``follow`` is for a typed path."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    return _regular(_opened(path, flags), path)


def open_to_replace(path: AnyPath) -> int:
    """A descriptor of an emptied or new file named on the command line, also a terminal or a pipe. Links are followed
    only in ``/dev`` and ``/proc``."""
    system = os.path.abspath(path).startswith(("/dev/", "/proc/"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    fd = _opened(path, flags if system else flags | os.O_NOFOLLOW)
    try:
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode):
            os.ftruncate(fd, 0)
            os.fchmod(fd, 0o600)
        os.set_blocking(fd, True)  # non-blocking was for opening only
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_to_overwrite(path: AnyPath) -> int:
    """A descriptor of an existing file for writing in place; the caller resolved links."""
    return _regular(_opened(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW), path)


def _opened(path: AnyPath, flags: int) -> int:
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) and os.path.islink(path):
            raise OSError(error.errno, "is a link", os.fspath(path)) from error
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "is a pipe without a reader, or a socket", os.fspath(path)) from error
        raise


def _regular(fd: int, path: AnyPath) -> int:
    try:
        check_regular(fd, path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def check_regular(fd: int, path: AnyPath) -> None:
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        raise not_regular(mode, path)


def not_regular(mode: int, path: AnyPath) -> OSError:
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, "is a directory", os.fspath(path))
    return OSError(errno.EINVAL, "is not a regular file (a pipe, socket or device)", os.fspath(path))


def opened_path(fd: int, path: AnyPath) -> str:
    """Path of the opened file. Linux reads it from the descriptor, so that links cannot change in between."""
    if sys.platform == "linux":
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        except OSError:  # no /proc
            pass
    return os.path.realpath(path)
