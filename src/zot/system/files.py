"""Atomic file writes, private directories and locks.
zot's own files are 0600 and changed under ``locked``; files of the user keep mode, owner, extended attributes and
symlinks."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from zot.errors import ConfigError
from zot.system import home
from zot.system.safe_open import not_regular, open_to_append, open_to_overwrite, read_whole

_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)


def zot_home() -> Path:
    """zot's home: an accessible directory, or a path that does not exist yet (writers create it, 0700). Anything else
    is a ConfigError, since settings, keys and guards would be ignored."""
    place = zot_home_path()
    try:
        os.stat(f"{place}/.")
    except FileNotFoundError:
        return place
    except NotADirectoryError as error:
        file = next((part for part in (place, *place.parents) if os.path.lexists(part) and not part.is_dir()), place)
        at = "" if file == place else f" because of {file}"
        raise ConfigError(f"zot's home {place} is not a directory{at}; move it away, or set ZOT_HOME") from error
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"cannot enter zot's home {place}: {reason}; change its owner, or set ZOT_HOME") from error
    return place


def zot_home_path() -> Path:
    """As ``home.zot_home_path``."""
    return Path(home.zot_home_path())


def user_home() -> Path:
    """The user's home directory; without one ``/``, where only root can write."""
    return Path(home.user_home())


def cache_home() -> Path:
    """Directory of downloads: ``$XDG_CACHE_HOME/zot``, else ``~/.cache/zot``; not created here."""
    return Path(home.cache_home())


def find_program(name: str) -> str | None:
    """The absolute path of a program on PATH; relative entries such as ``.`` are ignored."""
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        candidate = os.path.join(directory, name)
        if os.path.isabs(directory) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def is_missing(path: Path) -> bool:
    """True if the path does not exist. Unreadable paths count as existing."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


# zot's own files.


def make_private_dir(path: Path) -> None:
    """Create ``path`` and missing parents 0700; existing ones keep their mode."""
    if not path.is_dir():
        make_private_dir(path.parent)  # mkdir(parents=True) would create parents with the umask's mode
        path.mkdir(mode=0o700, exist_ok=True)


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace ``path`` as a whole, or raise OSError and change nothing."""
    from zot.system.temp_files import PendingFile, remove_stale_files  # needed only for writing

    make_private_dir(path.parent)
    new = PendingFile(path, mode)
    try:
        os.fchmod(new.fd, mode)
        _write(new.fd, data)
        os.fsync(new.fd)
        new.commit(replace=True)
    finally:
        new.close()
    sync_dir(path.parent)
    remove_stale_files(path.parent)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_dir(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Acquire the cross-process lock of ``path`` (a sibling ``.lock`` file) for the block."""
    make_private_dir(path.parent)
    fd = open_to_append(path.with_name(f".{path.name}.lock"), os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def try_lock(fd: int) -> bool:
    """Acquire the exclusive lock on an open file without waiting; False if another process has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def quarantine_file(path: Path) -> Path:
    """Rename a bad user file to ``<name>.bad`` (``.bad-2``, …), never overwriting; returns the new path."""
    target = path.with_name(f"{path.name}.bad")
    number = 2
    while target.exists():
        target = path.with_name(f"{path.name}.bad-{number}")
        number += 1
    path.rename(target)
    return target


# JSON files that users edit.


def read_bytes(path: Path, within: Path | None = None) -> bytes | None:
    """The file's bytes; None if it does not exist. Other failures are a ConfigError, also a link out of ``within``."""
    try:
        return read_whole(path, within=within)
    except FileNotFoundError:
        return None
    except OSError as error:
        if isinstance(error, IsADirectoryError):
            from zot.system.jail.protected_paths import is_placeholder

            if is_placeholder(path):
                return None
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error


def decode_object(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON object in ``data``; a blank file counts as empty."""
    if not data.strip():
        return {}
    import msgspec  # listing models and finding the home do without it

    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {_place(data, str(error))}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: expected one JSON object, {{…}}")
    return cast("dict[str, Any]", value)


def _place(data: bytes, text: str) -> str:
    """Convert msgspec's byte offset to line and column."""
    reason, found, byte = text.rpartition(" (byte ")
    if not found:
        return "the JSON is incomplete: a bracket, brace or quote is not closed" if "truncated" in text else text
    before = data[: int(byte.removesuffix(")"))]
    line = before.count(b"\n") + 1
    column = len(before) - (before.rfind(b"\n") + 1) + 1
    return f"line {line}, column {column}: {reason}"


def encode_pretty(value: dict[str, Any]) -> bytes:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


# The user's own files.


def replace_file(path: Path, data: bytes, *, follow: bool = True) -> bool:
    """Replace the content of ``path`` atomically; returns whether it was created. ``follow`` changes the target of a
    link. Files with hard links, another owner, a mount point or a read-only directory are written in place."""
    target = os.path.realpath(path) if follow else os.fspath(path)
    before = _existing(target, follow=follow)
    if before is not None and before.st_nlink > 1:
        _write_in_place(target, data)
        return False
    try:
        _replace(target, data, before)
    except OSError as error:
        if before is None or error.errno not in _IN_PLACE:
            raise
        _write_in_place(target, data)
    return before is None


def _write_in_place(target: str, data: bytes) -> None:
    """Reserves the space first, so that a full disk changes nothing."""
    with os.fdopen(open_to_overwrite(target), "r+b") as file:
        fd = file.fileno()
        if len(data) > os.fstat(fd).st_size and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, len(data))
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(fd)


def _existing(target: str, *, follow: bool) -> os.stat_result | None:
    try:
        before = os.stat(target, follow_symlinks=follow)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(before.st_mode):
        raise not_regular(before.st_mode, target)
    if not os.access(target, os.W_OK):  # a rename would not check this
        raise PermissionError(errno.EACCES, "is write-protected", target)
    return before


def _replace(target: str, data: bytes, before: os.stat_result | None) -> None:
    from zot.system.temp_files import PendingFile, remove_stale_files

    new = PendingFile(target, 0o666 if before is None else 0o600)
    try:
        _write(new.fd, data)
        if before is not None:
            # owner first: changing it clears the set-id bits of the mode
            made = os.fstat(new.fd)
            if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
                os.fchown(new.fd, before.st_uid, before.st_gid)
            os.fchmod(new.fd, stat.S_IMODE(before.st_mode))
            if sys.platform == "linux":
                with suppress(OSError):
                    for attribute in os.listxattr(target):
                        os.setxattr(new.fd, attribute, os.getxattr(target, attribute))
        os.fsync(new.fd)
        new.commit(replace=True)
    finally:
        new.close()
    remove_stale_files(os.path.dirname(target))


# Exchanges two directories in one step if the system can; otherwise with three renames.

_AT_FDCWD, _RENAME_EXCHANGE, _RENAME_SWAP = -100, 2, 2


def exchange_dirs(one: Path, other: Path) -> None:
    """Both exist, on one file system. An OSError leaves both unchanged."""
    if _swapped_at_once(os.fsencode(one), os.fsencode(other)):
        return
    aside = one.with_name(f"{one.name}.{os.urandom(4).hex()}")
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)


def _swapped_at_once(one: bytes, other: bytes) -> bool:
    import ctypes

    try:
        libc = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return libc.renamex_np(one, other, _RENAME_SWAP) == 0
        return libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE) == 0
    except (OSError, AttributeError):
        return False
