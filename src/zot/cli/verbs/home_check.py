"""Can zot keep its files? Told without writing one: the home, and each directory in it that a run writes to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_WRITTEN = ("sessions", "logs", "history", "extensions")


def home_problems(home: Path) -> Iterator[str]:
    """One line for each thing that is in the way, with what to do about it."""
    try:
        there = os.path.lexists(home)
        kind = home.is_dir()
    except OSError as error:
        yield f"{home} cannot be entered: {error.strerror}; make it yours, or set ZOT_HOME to another place"
        return
    if not there:
        yield from _cannot_be_made(home)
        return
    if not kind:
        yield f"{home} is zot's home and is not a directory; move it away, or set ZOT_HOME to another place"
        return
    if blocked := _blocked(home):
        yield f"{home} {blocked}: settings, sessions and logs cannot be kept; change its mode or set ZOT_HOME"
        return
    yield from (
        f"{place} {blocked}"
        for name in _WRITTEN
        if os.path.lexists(place := home / name)
        and (blocked := _blocked(place) if place.is_dir() else "is not a directory")
    )
    if (free := os.statvfs(home)).f_bavail * free.f_frsize < 1 << 20:
        yield f"the disk of {home} is full: sessions cannot be saved"


def can_be_entered(home: Path) -> bool:
    """Or made: whether there is anything to be said about what is in it."""
    try:
        os.stat(f"{home}/.")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _cannot_be_made(home: Path) -> Iterator[str]:
    there = next(parent for parent in home.parents if os.path.lexists(parent))
    if not there.is_dir() or not _may(there, os.W_OK | os.X_OK):
        yield f"{home} cannot be made: {there} is not writable for you; set HOME or ZOT_HOME to a place that is yours"


def _blocked(place: Path) -> str:
    if _may(place, os.R_OK | os.W_OK | os.X_OK):
        return ""
    owner = place.stat().st_uid
    return "cannot be written" if owner == os.geteuid() else f"belongs to another user ({_user(owner)})"


def _may(place: Path, mode: int) -> bool:
    """As the one who would write: the effective user, where the system can tell."""
    return os.access(place, mode, effective_ids=os.access in os.supports_effective_ids)


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"
