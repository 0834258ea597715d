"""The prompts of a project: ``<home>/history/<hash of the project>.jsonl``, private, the newest 500.
Appended under a lock. ``HistoryWalk`` steps through it and returns to the draft."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.core.events import PERMISSION_MODE
from zot.features.file_blocks import without_mentioned
from zot.system.digest import sha256
from zot.system.files import locked, make_private_dir, write_atomic
from zot.system.safe_open import open_to_append, read_whole
from zot.tui.text_buffer import Position, TextBuffer

if TYPE_CHECKING:
    from zot.frontends.terminal.editor.chips import ChipMaker
    from zot.provider.messages import Message

KEPT = 500
_NOT_TYPED = frozenset({"synthetic", "compaction", PERMISSION_MODE})  # marks of messages the user did not type
LONGEST = 256 << 10  # a longer text is only kept in this process


class HistoryEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """``pastes``: positions of pasted text, as (start, end)."""

    text: str
    time: int = 0
    pastes: tuple[tuple[int, int], ...] = ()


class PromptHistory:
    """Without a path it is in memory only. ``entries`` are oldest first, each text once at its last use.
    ``pastes`` are those of the file's entries."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._own: list[str] = []  # typed in this process, or in the resumed session
        self._stored: list[str] = []
        self.pastes: list[str] = []
        self._seen: tuple[int, int] | None = None

    def entries(self) -> list[str]:
        self._reload()
        latest = dict.fromkeys(reversed([*self._stored, *self._own]))
        return list(latest)[::-1]

    def begin_with(self, texts: Iterable[str]) -> None:
        """Prompts of the resumed session, newest last."""
        self._own = [text for text in texts if text.strip()]

    def add(self, text: str, pastes: Sequence[tuple[int, int]] = ()) -> None:
        text = text.rstrip("\n")
        if not text.strip() or self._own[-1:] == [text]:
            return
        self._own.append(text)
        if self._path is not None and len(text) <= LONGEST:
            with suppress(OSError):  # a read-only home must not prevent working
                self._append(self._path, HistoryEntry(text, int(time.time()), tuple(pastes)))

    def _append(self, path: Path, entry: HistoryEntry) -> None:
        text, line = entry.text, msgspec.json.encode(entry) + b"\n"
        make_private_dir(path.parent)
        with locked(path):
            data = read_whole(path) if path.exists() else b""
            kept = data.splitlines(keepends=True)
            if kept and _entry_of(kept[-1]).text == text:
                return
            if len(kept) >= 2 * KEPT:
                write_atomic(path, b"".join([*kept[-KEPT + 1 :], line]))
                return
            torn = b"\n" if data and not data.endswith(b"\n") else b""
            fd = open_to_append(path)
            try:
                os.write(fd, torn + line)
            finally:
                os.close(fd)

    def _reload(self) -> None:
        """Read the file again if another zot added to it."""
        if self._path is None:
            return
        try:
            status = self._path.stat()
            if self._seen == (status.st_size, status.st_mtime_ns):
                return
            lines = read_whole(self._path).splitlines()
        except OSError:
            return
        self._seen = (status.st_size, status.st_mtime_ns)
        entries = [entry for line in lines[-KEPT:] if (entry := _entry_of(line)).text]
        self._stored = [entry.text for entry in entries]
        self.pastes = [entry.text[start:end] for entry in entries for start, end in entry.pastes]


def _entry_of(line: bytes) -> HistoryEntry:
    try:
        return msgspec.json.decode(line, type=HistoryEntry)
    except msgspec.MsgspecError:
        return HistoryEntry("")


def prompts_in(messages: Sequence[Message]) -> list[str]:
    """The user's prompts in a conversation, newest last."""
    own = [message for message in messages if message.role == "user" and not message.meta.keys() & _NOT_TYPED]
    return [without_mentioned(message.text()) for message in own[-KEPT:]]


def history_file(home: Path, cwd: Path) -> Path:
    """The file of a directory's project: its repository, or the directory itself."""
    project = project_of(os.path.realpath(cwd))
    return home / "history" / f"{sha256(os.fsencode(project))[:16]}.jsonl"


def project_of(directory: str) -> str:
    above = directory
    while True:
        if os.path.exists(os.path.join(above, ".git")):
            return above
        if os.path.dirname(above) == above:
            return directory
        above = os.path.dirname(above)


class HistoryWalk:
    def __init__(self, history: PromptHistory, buffer: TextBuffer, chips: ChipMaker) -> None:
        self._history = history
        self._chips = chips
        self._buffer = buffer
        self._entries: list[str] = []
        self._index: int | None = None
        self._draft: tuple[list[str], Position] = ([], Position(0, 0))
        self.sideways = False  # started with left on an empty editor: left and right continue

    @property
    def under_way(self) -> bool:
        return self._index is not None

    def older(self) -> bool:
        """One back; False if there is nothing older."""
        if self._index is None:
            self._entries = self._history.entries()
            self._chips.remember(*self._history.pastes)
            self._draft = (self._buffer.units(), self._buffer.cursor)
        index = len(self._entries) if self._index is None else self._index
        if not index:
            return False
        self._show(index - 1)
        return True

    def newer(self) -> bool:
        """One forward, past the newest to the draft; False without a walk."""
        if self._index is None:
            return False
        if self._index + 1 < len(self._entries):
            self._show(self._index + 1)
            return True
        units, cursor = self._draft
        self._put(units)
        self._buffer.move(cursor)
        self.leave()
        return True

    def leave(self) -> None:
        """The shown text becomes the draft."""
        self._index, self.sideways = None, False

    def _show(self, index: int) -> None:
        self._index = index
        self._chips.restart()
        self._put(self._chips.units(self._entries[index]))

    def _put(self, units: list[str]) -> None:
        self._buffer.replace(Position(0, 0), self._buffer.end, units)
