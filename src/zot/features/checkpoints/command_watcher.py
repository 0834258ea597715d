"""Detects file changes of commands by comparing names, sizes and times before and after.
Old contents come from the store, from git, or from copies made before the command, within limits. Projects that are too
large are not scanned again."""

from __future__ import annotations

import asyncio
import os
import stat
import struct
import subprocess
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from importlib import import_module
from threading import Lock
from typing import NamedTuple

import msgspec

from zot.agent.tools.ignore import Ignores, of_parents
from zot.features.checkpoints.file_state import MISSING, FileState, Objects, capture, of_content
from zot.features.checkpoints.file_state import read_state as recognise
from zot.system.files import find_program
from zot.system.safe_open import read_whole

MOST_FILES = 20_000
LONGEST_LOOK_S = 0.3  # CPU seconds; other processes may delay it
LONGEST_WAIT_S = 2.0
INLINE_S = 0.003  # a faster scan needs no thread
MOST_CHANGES = 1_000  # per command
LARGEST_BEFORE = 1 << 20  # bytes of a file copied in case a command changes it
MOST_BEFORE = 16 << 20  # bytes of all such files per command
MOST_AFTER = 32 << 20
_IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore", ".git"})

Stamp = tuple[int, int, int, int]  # mode, size, time, inode


class DetectedChange(NamedTuple):
    """Path, old state, new state. ``blind`` are reasons why changes may be missing."""

    changes: list[tuple[str, FileState, FileState]]
    blind: list[str]


class Known(NamedTuple):
    """The content of a file with this stamp: a state, or a git object."""

    stamp: Stamp
    what: FileState | str


class TooManyFiles(Exception):
    """The project cannot be scanned; the text is why."""


class _Clock:
    def __init__(self) -> None:
        self._work_ends = time.thread_time() + LONGEST_LOOK_S
        self._ends = time.monotonic() + LONGEST_WAIT_S

    @property
    def over(self) -> bool:
        return time.thread_time() > self._work_ends or time.monotonic() > self._ends


class CommandWatch:
    """``ours`` are files this run writes; commands do not change them."""

    def __init__(self, root: str, objects: Objects, ours: Collection[str] = ()) -> None:
        self._ours = ours
        self._root = os.path.realpath(root)
        self._objects = objects
        self._own = os.path.realpath(objects.root.parent.parent)  # zot's home may be inside the project
        self._index = GitIndex(self._root)
        self._known: dict[str, Known] = {}
        self._listing: dict[str, os.stat_result] = {}
        self._outside: Ignores | None = None
        self._running = 0
        self._cost = 1.0
        self._given_up = ""
        self._lock = Lock()

    async def before(self) -> None:
        self._running += 1
        try:
            if self._running == 1 and not self._given_up:
                await self._quickly(self._learn)
        except asyncio.CancelledError:  # without a command there is no ``after``
            self._running -= 1
            raise

    async def after(self) -> DetectedChange:
        self._running -= 1
        if self._given_up:
            return DetectedChange([], [self._given_up])
        found: list[DetectedChange] = []
        await self._quickly(lambda: found.append(self._compare()))
        return found[0] if found else DetectedChange([], [self._given_up])

    async def _quickly(self, work: Callable[[], None]) -> None:
        """In a thread unless it is fast; OSError propagates."""
        started = time.monotonic()
        try:
            if self._cost < INLINE_S:
                work()
            else:
                await asyncio.to_thread(work)
        except TooManyFiles as reason:
            self._given_up = str(reason)
            self._listing, self._known = {}, {}
        self._cost = time.monotonic() - started

    def know(self, path: str, state: FileState) -> None:
        try:
            info = os.lstat(path)
        except OSError:
            self._known.pop(path, None)
            self._listing.pop(path, None)
            return
        self._known[path] = Known(_stamp(info), state)
        if self._running and path.startswith(f"{self._root}/"):
            self._listing[path] = info

    # --- before

    def _look(self) -> dict[str, os.stat_result]:
        if self._outside is None:
            self._outside = of_parents(self._root)
        found = look(self._root, self._own, self._listing, self._outside)
        for path in self._ours:
            found.pop(path, None)
        return found

    def _learn(self) -> None:
        """The content of every file, or where to find it later."""
        with self._lock:
            listing = self._look()
            self._index.refresh()
            clock, room = _Clock(), MOST_BEFORE
            for path, info in listing.items():
                stamp = _stamp(info)
                known = self._known.get(path)
                if known is not None and known.stamp == stamp:
                    continue
                blob = self._index.blob(path, info) if stat.S_ISREG(info.st_mode) else ""
                if blob:
                    self._known[path] = Known(stamp, blob)
                    continue
                fits = info.st_size <= min(room, LARGEST_BEFORE) and not clock.over
                fits = fits or stat.S_ISLNK(info.st_mode)
                what = capture(path, self._objects) if fits else _not_kept(info)
                room -= info.st_size if fits else 0
                self._known[path] = Known(stamp, what)
            for gone in self._known.keys() - listing.keys():
                del self._known[gone]
            self._listing = listing

    # --- after

    def _compare(self) -> DetectedChange:
        with self._lock:
            before = self._listing
            now = self._look()
            touched = [path for path, info in now.items() if path not in before or _stamp(before[path]) != _stamp(info)]
            touched += [path for path in before if path not in now]
            blind: list[str] = []
            if len(touched) > MOST_CHANGES:
                blind.append(f"a command changed {len(touched):,} files; only {MOST_CHANGES:,} were saved")
                touched = touched[:MOST_CHANGES]
            known = (self._known.get(path) for path in touched if path in before)
            contents = self._index.contents(one.what for one in known if one is not None and isinstance(one.what, str))
            room = MOST_AFTER
            changes: list[tuple[str, FileState, FileState]] = []
            for path in touched:
                was = self._was(path, before.get(path), contents)
                will = self._is(path, now.get(path), room)
                room -= will.size
                if not was.same(will):
                    changes.append((path, was, will))
            self._listing = now
            return DetectedChange(changes, blind)

    def _is(self, path: str, info: os.stat_result | None, room: int) -> FileState:
        """Large contents are only identified, not stored: build products would fill the store."""
        if info is None:
            self._known.pop(path, None)
            return MISSING
        small = stat.S_ISLNK(info.st_mode) or info.st_size <= min(room, LARGEST_BEFORE)
        will = capture(path, self._objects) if small else msgspec.structs.replace(recognise(path), why=_why(info))
        self._known[path] = Known(_stamp(info), will if small else _not_kept(info))
        return will

    def _was(self, path: str, info: os.stat_result | None, contents: dict[str, bytes]) -> FileState:
        if info is None:
            return MISSING
        known = self._known.get(path)
        if known is None:
            return _not_kept(info)
        if isinstance(known.what, FileState):
            return known.what
        data, mode = contents.get(known.what), stat.S_IMODE(info.st_mode)
        if data is None:
            return FileState("file", "", info.st_size, mode, why="git cannot read its old content")
        if len(data) != info.st_size:
            return FileState("file", "", info.st_size, mode, why="git stores it in another form")
        return of_content(data, mode, self._objects)


# Ignored always: git's files, and files that programs recreate.
_NOT_LOOKED_AT = frozenset({".git", "__pycache__", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache"})


def look(root: str, own: str, known: Collection[str] = (), outside: Ignores | None = None) -> dict[str, os.stat_result]:
    """All files and links below ``root`` that git does not ignore; TooManyFiles if too many.
    ``known`` ones are not checked again; ``outside``: ignore rules from above."""
    found: dict[str, os.stat_result] = {}
    clock = _Clock()
    waiting: list[tuple[str, Ignores | None]] = [(root, outside)]
    while waiting:
        directory, above = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                inside = list(entries)
        except OSError:
            continue
        if any(entry.name in _IGNORE_FILES for entry in inside):
            above = Ignores(directory, above)
        for entry in inside:
            _take(entry, own, known, above, waiting, found)
        if len(found) > MOST_FILES:
            raise TooManyFiles(f"the project has more than {MOST_FILES:,} files: changes by commands are unknown")
        if clock.over:
            raise TooManyFiles("scanning the project takes too long: changes by commands are unknown")
    return found


def _take(
    entry: os.DirEntry[str],
    own: str,
    known: Collection[str],
    ignores: Ignores | None,
    waiting: list[tuple[str, Ignores | None]],
    found: dict[str, os.stat_result],
) -> None:
    is_directory = entry.is_dir(follow_symlinks=False)
    if entry.path not in known and ignores is not None and not ignores.keeps(entry.path, is_directory):
        return
    if is_directory:
        if entry.path != own and entry.name not in _NOT_LOOKED_AT:
            waiting.append((entry.path, ignores))
        return
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:  # just deleted
        return
    if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
        found[entry.path] = info


def _stamp(info: os.stat_result) -> Stamp:
    return info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino


def _not_kept(info: os.stat_result) -> FileState:
    return FileState("file", "", info.st_size, stat.S_IMODE(info.st_mode), why=_why(info))


def _why(info: os.stat_result) -> str:
    if info.st_size > LARGEST_BEFORE:
        return f"it was larger than {LARGEST_BEFORE >> 20} MiB when a command changed it"
    return "the size limit was reached when a command changed it"


# Files unchanged since git's index, and their contents from git's objects.

_LARGEST_INDEX = 64 << 20
_POINTER = 4096  # of a ``.git`` file, which names a directory
_ENTRY = struct.Struct(">10I20sH")
_ASSUMED, _EXTENDED = 0x8000, 0x4000
_PATIENCE_S = 20
_RUN_NOTHING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class IndexEntry(NamedTuple):
    mtime_s: int
    mtime_ns: int
    ino: int
    size: int
    blob: str


class GitIndex:
    """``top`` is the repository's directory; without one nothing counts as unchanged."""

    def __init__(self, directory: str) -> None:
        self.top, self._git = _repository(directory)
        self._stamp: tuple[int, int, int] | None = None
        self._written_ns = 0
        self._entries: dict[str, IndexEntry] = {}

    def refresh(self) -> None:
        if not self._git:
            return
        path = os.path.join(self._git, "index")
        try:
            info = os.stat(path)
            stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
            if stamp == self._stamp:
                return
            self._stamp, self._written_ns = stamp, info.st_mtime_ns
            self._entries = _parsed(read_whole(path, _LARGEST_INDEX))
        except (OSError, ValueError, struct.error):
            self._entries = {}

    def blob(self, path: str, info: os.stat_result) -> str:
        """The object with exactly this file's content; empty if uncertain."""
        entry = self._entries.get(path[len(self.top) + 1 :]) if self.top else None
        if entry is None or info.st_mtime_ns >= self._written_ns:
            return ""
        seconds, nanoseconds = divmod(info.st_mtime_ns, 1_000_000_000)
        same = (
            entry.mtime_s == seconds & 0xFFFFFFFF
            and entry.mtime_ns in (0, nanoseconds)
            and entry.size == info.st_size & 0xFFFFFFFF
            and entry.ino in (0, info.st_ino & 0xFFFFFFFF)
        )
        return entry.blob if same else ""

    def contents(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Verified objects of git; none without git or after a timeout."""
        wanted = sorted(set(blobs))
        git = find_program("git") if wanted else None
        if git is None:
            return {}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
        }
        try:
            done = subprocess.run(
                [git, *_RUN_NOTHING, "-C", self.top, "cat-file", "--batch"],
                input="".join(f"{blob}\n" for blob in wanted).encode(),
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE_S,
            )
        except (OSError, subprocess.SubprocessError):
            return {}
        return _batch(done.stdout)


def _repository(directory: str) -> tuple[str, str]:
    """The repository's top and git directory; empty without one. Follows worktrees and submodules."""
    place = directory
    while True:
        git = os.path.join(place, ".git")
        if os.path.isdir(git):
            return place, git
        with suppress(OSError, UnicodeError):
            text = read_whole(git, _POINTER).decode()
            if text.startswith("gitdir:"):
                return place, os.path.normpath(os.path.join(place, text.removeprefix("gitdir:").strip()))
        if os.path.dirname(place) == place:
            return "", ""
        place = os.path.dirname(place)


def _parsed(data: bytes) -> dict[str, IndexEntry]:
    """Index versions 2 and 3; others are ignored."""
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3):
        return {}
    entries: dict[str, IndexEntry] = {}
    position = 12
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, position)
        flags: int = fields[11]
        start = position + _ENTRY.size + (2 if flags & _EXTENDED else 0)
        end = data.index(b"\0", start)
        if not flags & _ASSUMED and not flags & 0x3000:  # changed by the user, or being merged
            name = os.fsdecode(data[start:end])
            entries[name] = IndexEntry(fields[2], fields[3], fields[5], fields[9], fields[10].hex())
        position += (end - position + 8) & ~7
    return entries


def _batch(output: bytes) -> dict[str, bytes]:
    """Parses ``HASH blob SIZE``, content and line end, repeatedly."""
    found: dict[str, bytes] = {}
    position = 0
    while (end := output.find(b"\n", position)) >= 0:
        words = output[position:end].split()
        position = end + 1
        if len(words) == 3 and words[1] == b"blob" and words[2].isdigit():
            data = output[position : position + int(words[2])]
            position += int(words[2]) + 1
            if _sha1(b"blob %d\0" % len(data) + data) == words[0].decode():
                found[words[0].decode()] = data
        elif words[-1:] != [b"missing"]:
            break
    return found


def _sha1(data: bytes) -> str:
    return str(import_module("hashlib").sha1(data, usedforsecurity=False).hexdigest())
