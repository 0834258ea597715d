"""Keeps the store within its size: ledgers of sessions that are gone or long over go, then what no ledger names.

It runs beside other work and other zots: one at a time, what is young is left alone, and a kill in the middle leaves
nothing that the next one does not find again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from zot.features.checkpoints.change_log import Change, ChangeStorePaths, Event, read_ledger
from zot.features.checkpoints.file_state import unpacked
from zot.system.files import make_private_dir, try_lock
from zot.system.safe_open import open_to_append
from zot.system.temp_files import sweep

KEPT_S = 30 * 24 * 3600  # after the last change of a session
YOUNG_S = 3600.0  # in which a content may be there before the row that names it
EVERY_S = 6 * 3600.0


def prune(place: ChangeStorePaths, capacity: int, *, now: float | None = None, young_s: float = YOUNG_S) -> None:
    """Never a reason to fail."""
    with suppress(OSError):
        make_private_dir(place.root)
        fd = open_to_append(place.root / ".pruned", os.O_RDWR)
        try:
            current = time.time() if now is None else now
            if not try_lock(fd):
                return
            sizes = _sizes(place)
            info = os.fstat(fd)
            if info.st_size and current - info.st_mtime < EVERY_S and sum(sizes.values()) <= capacity:
                return
            _prune(place, capacity, sizes, current, young_s)
            place.objects.make_places()
            os.ftruncate(fd, 0)
            os.write(fd, b".")
        finally:
            os.close(fd)


def _sizes(place: ChangeStorePaths) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for entry in place.objects.all():
        with suppress(OSError):
            sizes[_digest(entry)] = entry.stat(follow_symlinks=False).st_size
    return sizes


def _digest(entry: os.DirEntry[str]) -> str:
    return os.path.basename(os.path.dirname(entry.path)) + entry.name


def _prune(place: ChangeStorePaths, capacity: int, sizes: dict[str, int], now: float, young_s: float) -> None:
    named: set[str] = set()
    used = 0
    for path, modified in _newest_first(place.ledgers):
        head, events = read_ledger(path)
        gone = head is not None and head.file and not os.path.exists(unpacked(head.file))
        fresh = set(_digests(events)) - named
        size = sum(sizes.get(digest, 0) for digest in fresh)
        over = now - modified > KEPT_S or (gone and now - modified > young_s) or (used and used + size > capacity)
        if over and now - modified > young_s:
            with suppress(OSError):
                path.unlink()
            continue
        named |= fresh
        used += size
    left: list[tuple[float, int, str]] = []
    for entry in list(place.objects.all()):
        with suppress(OSError):
            info = os.lstat(entry.path)
            if _digest(entry) in named or now - info.st_mtime <= young_s:
                left.append((info.st_mtime, info.st_size, entry.path))
            else:
                os.unlink(entry.path)
    _drop_oldest(left, capacity)
    for directory in _directories(place.objects.root):
        sweep(directory)


def _drop_oldest(contents: list[tuple[float, int, str]], capacity: int) -> None:
    """One session alone has more than fits: what it kept first goes, and rewinding will say that it is gone."""
    room = capacity
    for _, size, path in sorted(contents, reverse=True):
        room -= size
        if room < 0:
            with suppress(OSError):
                os.unlink(path)


def _newest_first(directory: Path) -> list[tuple[Path, float]]:
    found: list[tuple[Path, float]] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl"):
                found.append((Path(entry.path), entry.stat(follow_symlinks=False).st_mtime))
    return sorted(found, key=lambda pair: -pair[1])


def _digests(events: list[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, Change):
            yield from (state.digest for state in (event.before, event.after) if state.digest)


def _directories(root: Path) -> list[Path]:
    with suppress(OSError), os.scandir(root) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []
