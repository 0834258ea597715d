"""Append-only log of file changes, one file per session.
A row is written before its change and voided by a later row if the change did not happen. A branch begins with its
parent's rows."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.core.session.records import Meta, MetaRow, NotARecord, decode_row
from zot.features.checkpoints.file_state import FileState, Objects, digest_of, encode_path, unpacked
from zot.system.files import make_private_dir, try_lock
from zot.system.safe_open import open_buffered, open_to_append
from zot.system.temp_files import remove_stale_files

_LONGEST_LINE = 1 << 20
_MOST_ANCESTORS = 100
_ID = re.compile(r"[0-9a-fA-F-]{8,64}")


class ChangeLogHead(msgspec.Struct, frozen=True, tag="head", omit_defaults=True):
    """The session of a log; always the first row."""

    session: str
    file: str = ""
    parent: str = ""
    started: str = ""


class FileChange(msgspec.Struct, frozen=True, tag="change", omit_defaults=True):
    """``path`` changed from ``before`` to ``after`` during a prompt, ``by`` a tool or ``rewind``.
    ``made``: created directories."""

    id: str
    prompt: str
    time: str
    by: str
    path: str
    before: FileState
    after: FileState
    made: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return unpacked(self.path)


class CancelledChange(msgspec.Struct, frozen=True, tag="void"):
    id: str


class UntrackedCommand(msgspec.Struct, frozen=True, tag="blind", omit_defaults=True):
    """A command ran during this prompt; its changes are unknown or incomplete."""

    prompt: str
    time: str
    reason: str


Row = ChangeLogHead | FileChange | CancelledChange | UntrackedCommand
Event = FileChange | UntrackedCommand

_encoder = msgspec.json.Encoder()


class ChangeStorePaths:
    def __init__(self, home: Path) -> None:
        self.root = home / "changes"
        self.ledgers = self.root / "ledgers"
        self.objects = Objects(self.root / "objects")

    def ledger(self, session_id: str) -> Path:
        """Validates an id, which comes from a file."""
        name = session_id if _ID.fullmatch(session_id) else digest_of(session_id.encode("utf-8", "replace"))
        return self.ledgers / f"{name}.jsonl"


class ChangeLog:
    """Appends to one session's file, created with its first row."""

    def __init__(self, path: Path, head: ChangeLogHead) -> None:
        self.path = path
        self.session = head.session
        self._head = head
        self._fd = -1

    def append(self, rows: Iterable[Row]) -> None:
        """Append all rows in one write; raises OSError."""
        if self._fd < 0:
            make_private_dir(self.path.parent)
            self._fd = open_to_append(self.path, os.O_RDWR)
        size = os.fstat(self._fd).st_size
        data = b"".join(_encoder.encode(row) + b"\n" for row in ((*([] if size else [self._head]), *rows)))
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            data = b"\n" + data  # a row was torn
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def sync(self) -> None:
        if self._fd >= 0:
            os.fsync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def head_of(meta: Meta, file: Path) -> ChangeLogHead:
    return ChangeLogHead(meta.id, encode_path(str(file)), meta.parent, meta.started)


def read_ledger(path: Path) -> tuple[ChangeLogHead | None, list[Event]]:
    """The log's rows without voided changes; empty if missing or unreadable."""
    decode = msgspec.json.Decoder(Row).decode
    head: ChangeLogHead | None = None
    events: dict[str, Event] = {}
    with suppress(OSError), open_buffered(path) as file:
        while line := file.readline(_LONGEST_LINE):
            try:
                row: Row = decode(line)
                if isinstance(row, FileChange):
                    if not os.path.isabs(row.place) or "\0" in row.place or os.path.normpath(row.place) != row.place:
                        raise ValueError("not a path")
                    for place in row.made:
                        unpacked(place)
            except (msgspec.DecodeError, ValueError, UnicodeError, RecursionError):
                continue
            match row:
                case ChangeLogHead():
                    head = head or row
                case CancelledChange(id=gone):
                    events.pop(gone, None)
                case FileChange(id=name):
                    events[name] = row
                case UntrackedCommand():
                    events[f"blind {len(events)} {row.time}"] = row
    return head, list(events.values())


def history(place: ChangeStorePaths, meta: Meta, file: Path) -> list[Event]:
    """All changes of this session and of its parents before the branch; oldest first."""
    parts: list[list[Event]] = []
    until = ""
    seen: set[str] = set()
    session, folder = meta, file.parent
    while session.id and session.id not in seen and len(seen) < _MOST_ANCESTORS:
        seen.add(session.id)
        head, events = read_ledger(place.ledger(session.id))
        parts.append([event for event in events if not until or event.time <= until])
        started = session.started or (head.started if head else "")
        until = min(until, started) if until and started else started or until
        parent = session.parent or (head.parent if head else "")
        if not parent:
            break
        session = _meta_of(folder, parent) or Meta(parent)
    return [event for part in reversed(parts) for event in part]


def _meta_of(folder: Path, session_id: str) -> Meta | None:
    """The meta row of the session with this id; a branch is beside its parent."""
    if not _ID.fullmatch(session_id):
        return None
    for path in folder.glob(f"*-{session_id[:8]}.jsonl"):
        with suppress(OSError, NotARecord), open_buffered(path) as file:
            row = decode_row(file.readline(_LONGEST_LINE))
            if isinstance(row, MetaRow) and row.meta.id == session_id:
                return row.meta
    return None


KEPT_S = 30 * 24 * 3600  # after the last change of a session
YOUNG_S = 3600.0  # a content may exist before the row that names it
EVERY_S = 6 * 3600.0


def prune(place: ChangeStorePaths, capacity: int, *, now: float | None = None, young_s: float = YOUNG_S) -> None:
    """Never raises."""
    with suppress(OSError):
        make_private_dir(place.root)
        fd = open_to_append(place.root / ".pruned", os.O_RDWR)
        try:
            current = time.time() if now is None else now
            if not try_lock(fd):
                return
            sizes: dict[str, int] = {}
            for entry in place.objects.all():
                with suppress(OSError):
                    sizes[_digest(entry)] = entry.stat(follow_symlinks=False).st_size
            info = os.fstat(fd)
            if info.st_size and current - info.st_mtime < EVERY_S and sum(sizes.values()) <= capacity:
                return
            _prune(place, capacity, sizes, current, young_s)
            place.objects.make_places()
            os.ftruncate(fd, 0)
            os.write(fd, b".")
        finally:
            os.close(fd)


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
    # one session exceeds the capacity: delete its oldest contents
    room = capacity
    for _, size, path in sorted(left, reverse=True):
        room -= size
        if room < 0:
            with suppress(OSError):
                os.unlink(path)
    directories: list[str] = []
    with suppress(OSError), os.scandir(place.objects.root) as entries:
        directories = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    for directory in directories:
        remove_stale_files(directory)


def _newest_first(directory: Path) -> list[tuple[Path, float]]:
    found: list[tuple[Path, float]] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl"):
                found.append((Path(entry.path), entry.stat(follow_symlinks=False).st_mtime))
    return sorted(found, key=lambda pair: -pair[1])


def _digests(events: list[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, FileChange):
            yield from (state.digest for state in (event.before, event.after) if state.digest)
