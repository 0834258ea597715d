"""Which files are as git has them, read from its index; and what those hold, from its objects.

Only read, never run where it could matter: ``git status`` may start programs a repository names, reading the index
cannot, and ``git cat-file`` starts none. A file counts as unchanged by the rule git itself has: size, time and inode
are those of the index, and it is older than the index.
"""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

from zot.system.files import find_program
from zot.system.safe_open import read_whole

_LARGEST_INDEX = 64 << 20
_POINTER = 4096  # of a ``.git`` file, which names a directory
_ENTRY = struct.Struct(">10I20sH")
_ASSUMED, _EXTENDED = 0x8000, 0x4000
_PATIENCE_S = 20
_RUN_NOTHING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class Entry(NamedTuple):
    mtime_s: int
    mtime_ns: int
    ino: int
    size: int
    blob: str


class Index:
    """``top`` is the repository's directory; without one nothing is known to be unchanged."""

    def __init__(self, directory: str) -> None:
        self.top, self._git = _repository(directory)
        self._stamp: tuple[int, int, int] | None = None
        self._written_ns = 0
        self._entries: dict[str, Entry] = {}

    def refresh(self) -> None:
        """Read it again if it is another one."""
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
        """The object that holds exactly what this file holds; empty when that is not certain."""
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
        """Those that git has and that are what they are called; none when git is not there or takes too long."""
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
    """Its top and where git keeps it; empty when there is none. A worktree or submodule points elsewhere."""
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


def _parsed(data: bytes) -> dict[str, Entry]:
    """Versions 2 and 3; of others nothing is known."""
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3):
        return {}
    entries: dict[str, Entry] = {}
    position = 12
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, position)
        flags: int = fields[11]
        start = position + _ENTRY.size + (2 if flags & _EXTENDED else 0)
        end = data.index(b"\0", start)
        if not flags & _ASSUMED and not flags & 0x3000:  # somebody may have changed it; or it is being merged
            name = os.fsdecode(data[start:end])
            entries[name] = Entry(fields[2], fields[3], fields[5], fields[9], fields[10].hex())
        position += (end - position + 8) & ~7
    return entries


def _batch(output: bytes) -> dict[str, bytes]:
    """``HASH blob SIZE``, the content, a line end; and so on."""
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
