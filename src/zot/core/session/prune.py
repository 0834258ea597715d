"""Finds and deletes old sessions, by default those of deleted directories.
Unreadable, malformed and linked files are reported and preserved; each file is checked again under its lock before
deletion."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.core.session.session_file import bad_path, lock
from zot.core.session.store import AGENTS, SUFFIX
from zot.core.session.summary import Summary, summarise
from zot.errors import UsageError
from zot.system.safe_open import open_for_update

_UNITS_S = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "mo": 2_592_000, "y": 31_536_000}


class PrunableSession(msgspec.Struct, frozen=True):
    """A session when it was listed; it is deleted only if unchanged."""

    summary: Summary
    size: int
    inode: int
    mtime_ns: int


class Group(msgspec.Struct, frozen=True):
    cwd: str
    sessions: tuple[PrunableSession, ...]

    @property
    def size(self) -> int:
        return sum(found.size for found in self.sessions)


class Kept(msgspec.Struct, frozen=True):
    path: str
    reason: str


class Survey(msgspec.Struct, frozen=True):
    groups: tuple[Group, ...]
    kept: tuple[Kept, ...]


def age_seconds(text: str) -> int:
    """``90m``, ``12h``, ``30d``, ``2w``, ``6mo``, ``1y``."""
    match = re.fullmatch(r"(\d+)(mo|[mhdwy])", text.strip())
    if match is None:
        raise UsageError(f'"{text}": expected an age such as 30d: a number and m, h, d, w, mo or y')
    return int(match[1]) * _UNITS_S[match[2]]


def plan_prune(root: Path, *, older_than_s: float | None = None, cwd: str | None = None) -> Survey:
    """Examine every session under ``root``. An age or a directory replaces the test for deleted directories."""
    wanted = _wish(older_than_s, cwd)
    groups: dict[str, list[PrunableSession]] = {}
    kept: list[Kept] = []
    for path in sorted(root.glob(f"*/*{SUFFIX}")):
        found = _look(path)
        if isinstance(found, Kept):
            kept.append(found)
        elif wanted(found):
            groups.setdefault(found.summary.cwd, []).append(found)
    return Survey(tuple(Group(name, tuple(found)) for name, found in sorted(groups.items())), tuple(kept))


def _wish(older_than_s: float | None, cwd: str | None) -> Callable[[PrunableSession], bool]:
    if older_than_s is None and cwd is None:
        return lambda found: bool(found.summary.cwd) and not os.path.exists(found.summary.cwd)
    newest = time.time() - (older_than_s or 0)
    return lambda found: found.summary.modified <= newest and cwd in (None, found.summary.cwd)


def _look(path: Path) -> PrunableSession | Kept:
    if path.is_symlink() or path.parent.is_symlink():
        return Kept(str(path), "it is a link")
    try:
        info = path.stat()
        if (reason := _not_plain(info)) is not None:
            return Kept(str(path), reason)
        summary = summarise(path)
    except OSError as error:
        return Kept(str(path), f"cannot read it: {error.strerror}")
    if summary is None:
        return Kept(str(path), "its first row is not a meta row")
    return PrunableSession(summary, info.st_size, info.st_ino, info.st_mtime_ns)


def _not_plain(info: os.stat_result) -> str | None:
    if not stat.S_ISREG(info.st_mode):
        return "it is not a file"
    return "it has a second name (hard link)" if info.st_nlink > 1 else None


def delete_session(path: Path) -> str:
    """Delete one session; returns why it stays, or nothing."""
    found = _look(path)
    if isinstance(found, Kept):
        return found.reason
    return delete(found) or ""


def _delete_transcripts(directory: Path) -> None:
    """Of the session's agents; other files stay."""
    if not directory.is_dir() or directory.is_symlink():
        return
    for path in directory.glob(f"*{SUFFIX}"):
        path.unlink()
    with suppress(OSError):
        directory.rmdir()


def delete(found: PrunableSession) -> str | None:
    """Delete the session and its saved file contents; returns why if it stays."""
    path = Path(found.summary.path)
    try:
        fd = open_for_update(path)
    except OSError as error:
        return error.strerror
    try:
        if (reason := _changed(fd, found)) is not None:
            return reason
        path.unlink()
        bad_path(path).unlink(missing_ok=True)
        _delete_transcripts(path.with_suffix(AGENTS))
    except OSError as error:
        return error.strerror
    finally:
        os.close(fd)
    with suppress(OSError):  # other sessions are in it
        path.parent.rmdir()
    return None


def _changed(fd: int, found: PrunableSession) -> str | None:
    if not lock(fd):
        return "another zot uses it"
    info = os.fstat(fd)
    if (info.st_ino, info.st_size, info.st_mtime_ns) != (found.inode, found.size, found.mtime_ns):
        return "it has changed since it was listed"
    return _not_plain(info)
