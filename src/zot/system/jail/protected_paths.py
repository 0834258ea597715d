"""Protects names in a project while a command runs; missing ones by an empty directory with an unusual mode.
The mode identifies directories left by a killed zot. A shared lock on the project prevents removal while another
jail needs them."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress

import msgspec

from zot.errors import ConfigError
from zot.system.jail.git_repositories import RepositoryScanner
from zot.system.jail.policy import GIT_PROTECTED, Policy
from zot.system.safe_open import create, open_directory, read_whole

_OURS, _LOOKED_AT = 0o1555, 0o1222  # sticky, and not writable even for its owner, with any umask
_LONGEST_POINTER = 4_096
COMMON, _ITSELF = "commondir", b".\n"  # a file that makes a git directory point to another one


class ProtectedMounts(msgspec.Struct, frozen=True):
    """``kept`` become read-only, ``empty`` are covered by an empty directory, ``pinned`` are writable but cannot be
    moved or removed."""

    kept: tuple[str, ...]
    empty: tuple[str, ...]
    pinned: tuple[str, ...]


@contextmanager
def hold_protected_paths(
    policy: Policy, nested: Iterable[str] = (), files: Iterable[str] = ()
) -> Generator[ProtectedMounts]:
    """In the block every protected name exists; ``nested`` are git directories further down, ``files`` existing
    auto-executed files there."""
    locks = [_shared(root) for root in policy.protected_roots]
    nested = list(nested)
    try:
        yield cover(policy, nested, files)
    finally:
        for root, lock in zip(policy.protected_roots, locks, strict=True):
            own = [git for git in nested if git.startswith(f"{root}/")]
            release(root, lock, protected_paths(root, policy.protected, own))


def cover(policy: Policy, nested: Iterable[str] = (), files: Iterable[str] = ()) -> ProtectedMounts:
    kept: list[str] = [*policy.kept, *(path for path in files if not os.path.islink(path) and os.path.exists(path))]
    empty: list[str] = []
    pinned: list[str] = list(nested)
    leading: list[str] = []
    for root in policy.protected_roots:
        git = repository(root)
        pinned += [path for path in git if os.path.isdir(path)]
        kept += [path for path in git if not os.path.isdir(path)]
        for path in protected_paths(root, policy.protected, pinned):
            (empty if _is_missing(path) else kept).append(path)
        leading += _leading(root, policy.protected)
    for path in dict.fromkeys(empty):
        with suppress(FileExistsError):
            _hold(path)
    pointing = [path for path in empty if os.path.basename(path) == COMMON]
    empty = [path for path in empty if path not in pointing]
    return ProtectedMounts(*(tuple(dict.fromkeys(paths)) for paths in ((*kept, *pointing), empty, (*leading, *pinned))))


def protected_paths(root: str, protected: Iterable[str], nested: Iterable[str] = ()) -> list[str]:
    """Every protected path of a writable root, including its repositories."""
    found = dict.fromkeys((*nested, *(git for git in repository(root) if os.path.isdir(git))))
    inside = [os.path.join(git, name) for git in found for name in (*GIT_PROTECTED, COMMON)]
    return [*(_first_missing(root, name) for name in protected), *inside]


def _leading(root: str, protected: Iterable[str]) -> list[str]:
    """Existing directories on the way to protected names: one that is moved away would take the name with it."""
    found: dict[str, None] = {}
    for name in protected:
        parts = name.split("/")
        for place in range(1, len(parts)):
            path = os.path.join(root, *parts[:place])
            if not os.path.isdir(path) or os.path.islink(path) or _is_ours(os.lstat(path)):
                break
            found[path] = None
    return list(found)


def _first_missing(root: str, name: str) -> str:
    """The path of a protected name; if a directory on the way to it is missing, that directory's."""
    parts = name.split("/")
    for place in range(1, len(parts)):
        path = os.path.join(root, *parts[:place])
        if not os.path.isdir(path) or _is_ours(os.lstat(path)):
            return path
    return os.path.join(root, name)


def _hold(path: str) -> None:
    """An empty directory; or a ``commondir`` that points to the repository itself, if git would believe another."""
    if os.path.basename(path) != COMMON:
        os.mkdir(path, _OURS)
        return
    fd = create(path, 0o1444)
    try:
        os.write(fd, _ITSELF)
    finally:
        os.close(fd)


def repository(root: str) -> list[str]:
    """``.git`` and, if it is the pointer of a worktree, its target directories, if those point back here."""
    git = os.path.join(root, ".git")
    try:
        info = os.lstat(git)
    except FileNotFoundError:
        return []
    if stat.S_ISDIR(info.st_mode):
        return [git]
    if not stat.S_ISREG(info.st_mode):
        raise ConfigError(f"jail: {git} is a link and could be replaced; replace it by its target")
    return [git, *_worktree(git)]


def _worktree(pointer: str) -> list[str]:
    with suppress(OSError, UnicodeError):
        own = read_whole(pointer, _LONGEST_POINTER).decode().removeprefix("gitdir:").strip()
        own = os.path.realpath(os.path.join(os.path.dirname(pointer), own))
        back = read_whole(os.path.join(own, "gitdir"), _LONGEST_POINTER).decode().strip()
        common = read_whole(os.path.join(own, "commondir"), _LONGEST_POINTER).decode().strip()
        common = os.path.realpath(os.path.join(own, common))
        if os.path.realpath(back) == os.path.realpath(pointer) and own.startswith(f"{common}/worktrees/"):
            return [common]
    return []


def _is_missing(path: str) -> bool:
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return True
    if stat.S_ISLNK(info.st_mode):
        raise ConfigError(f"jail: {path} is a link and could be replaced; replace it by its target")
    return _is_ours(info)


def is_placeholder(path: str | os.PathLike[str]) -> bool:
    """True for what a jail, perhaps of another zot, holds in the place of a missing file."""
    with suppress(OSError):
        return _is_ours(os.lstat(path))
    return False


def _is_ours(info: os.stat_result) -> bool:
    is_kind = stat.S_ISDIR(info.st_mode) or (stat.S_ISREG(info.st_mode) and info.st_size == len(_ITSELF))
    return is_kind and info.st_mode & _LOOKED_AT == stat.S_ISVTX


def _shared(root: str) -> int:
    fd = open_directory(root)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def release(root: str, lock: int, names: Iterable[str]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_empty(names)
    except OSError:
        pass  # another process is still in there
    finally:
        os.close(lock)


def remove_empty(names: Iterable[str]) -> None:
    for path in names:
        with suppress(OSError):
            if _is_ours(info := os.lstat(path)):
                os.rmdir(path) if stat.S_ISDIR(info.st_mode) else os.unlink(path)


def sweep(root: str, protected: Iterable[str]) -> None:
    """Remove leftovers of a killed zot in a project, unless another is running there."""
    with suppress(OSError, ConfigError):
        nested = RepositoryScanner([root]).begin()
        release(root, open_directory(root), protected_paths(root, protected, nested))
