"""Location of session files: ``<home>/sessions/<hash of the working directory>/<time>-<id8>.jsonl``.
Lists are sorted by last change, newest first, then by path."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.core.session.records import Meta, row_type
from zot.core.session.session import Session, open_session
from zot.core.session.session_file import lines_of, lock
from zot.errors import SessionError
from zot.provider.messages import utc_now
from zot.system.digest import sha256
from zot.system.safe_open import open_buffered, open_for_update

if TYPE_CHECKING:
    import asyncio

    from zot.core.session.summary import Summary

SUFFIX = ".jsonl"
AGENTS = ".agents"  # directory with the transcripts of a session's agents
_DAY_S = 86_400
_EMPTY_MAX = 8_192  # a file without messages is little more than its meta row


class SessionFile(msgspec.Struct, frozen=True):
    """A directory entry; size and time tell whether an indexed summary is still valid."""

    path: Path
    size: int
    mtime_ns: int


class SessionStore:
    """The sessions of one working directory. ``version`` is written to the meta row of new ones."""

    def __init__(self, home: Path, cwd: Path, version: str) -> None:
        self.root = home / "sessions"
        self.cwd = os.path.abspath(cwd)
        self.version = version

    @staticmethod
    def new_id() -> str:
        return new_id()

    def fork(self, parent: Path, count: int | None = None) -> Path:
        """A new session with the first ``count`` messages of another, or with all of them."""
        from zot.core.session.fork import fork_at  # rarely used

        return fork_at(self, parent, count)

    @property
    def directory(self) -> Path:
        return self.root / sha256(self.cwd.encode("utf-8", "surrogateescape"))[:16]

    def new_meta(self, provider: str, model: str) -> Meta:
        return Meta(new_id(), self.cwd, model, provider, utc_now(), self.version)

    def path_for(self, meta: Meta) -> Path:
        return self.directory / f"{compact_time(meta.started)}-{meta.id[:8]}{SUFFIX}"

    def create(self, provider: str, model: str, path: Path | None = None) -> Session:
        """A new session; its file appears with the first message."""
        meta = self.new_meta(provider, model)
        return Session(path or self.path_for(meta), meta)

    def open(self, path: Path) -> Session:
        """Any session file, for append; raises SessionError, SessionLocked or SessionCorrupt."""
        return open_session(path)

    async def load(self, path: Path) -> Session:
        """``open`` in a thread, since a long session takes time to read."""
        import asyncio  # loops have imported it; `zot sessions` has none

        reading = asyncio.get_running_loop().run_in_executor(None, self.open, path)
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            reading.add_done_callback(_give_back)
            raise

    def files(self) -> list[SessionFile]:
        return session_files(self.directory)

    def newest(self) -> Path | None:
        return next((file.path for file in self.files() if has_message(file.path)), None)

    def summaries(self, *, everywhere: bool = False) -> list[Summary]:
        """Summaries for lists, newest first, without empty sessions; of one or all directories."""
        # Imported here: the index imports sqlite3, which is slow.
        from zot.core.session.summary import indexed

        files = list(self._all_files()) if everywhere else self.files()
        return [summary for summary in indexed(self.root, newest_first(files)) if summary.messages]

    def prune_empty(self) -> int:
        """Delete files without a message that are older than a day and unused; returns their number."""
        limit = time.time_ns() - _DAY_S * 1_000_000_000
        old = [file.path for file in self.files() if file.size <= _EMPTY_MAX and file.mtime_ns < limit]
        return sum(_delete_if_empty(path) for path in old)

    def _all_files(self) -> Iterator[SessionFile]:
        if self.root.is_dir():
            for directory in self.root.iterdir():
                yield from session_files(directory)


def _give_back(reading: asyncio.Future[Session]) -> None:
    """Release the lock of a session that no caller waits for."""
    if not reading.cancelled() and reading.exception() is None:
        reading.result().close()


def session_files(directory: Path) -> list[SessionFile]:
    try:
        with os.scandir(directory) as entries:
            found = [_session_file(entry) for entry in entries if entry.name.endswith(SUFFIX)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return newest_first(file for file in found if file is not None)


def _session_file(entry: os.DirEntry[str]) -> SessionFile | None:
    try:
        if not entry.is_file():
            return None
        stat = entry.stat()
    except OSError:  # deleted since the directory was read
        return None
    return SessionFile(Path(entry.path), stat.st_size, stat.st_mtime_ns)


def newest_first(files: Iterable[SessionFile]) -> list[SessionFile]:
    return sorted(files, key=lambda file: (file.mtime_ns, str(file.path)), reverse=True)


def has_message(path: Path) -> bool:
    try:
        with open_buffered(path) as file:
            return any(row_type(line) == "message" for line in lines_of(file))
    except OSError:
        return False


def _delete_if_empty(path: Path) -> bool:
    """Delete under the lock, so that a process about to write keeps its file."""
    try:
        fd = open_for_update(path)
    except OSError:
        return False
    try:
        if not lock(fd) or has_message(path):
            return False
        path.unlink(missing_ok=True)
        return True
    finally:
        os.close(fd)


def new_id() -> str:
    """A random UUID, version 4, without importing ``uuid``."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def compact_time(started: str) -> str:
    """An RFC 3339 time as ``YYYYMMDD-HHMMSS`` in UTC; the current time for other text."""
    if started.endswith("Z") and len(digits := started[:19].translate(_NO_PUNCTUATION)) == 14 and digits.isdigit():
        return f"{digits[:8]}-{digits[8:]}"
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(_seconds(started)))


_NO_PUNCTUATION = str.maketrans("", "", "-T:")


def _seconds(started: str) -> float:
    """Another program's time may have an offset; this is rare, hence the local import."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(started).timestamp()
    except ValueError:
        return time.time()


# Resolves a typed session: a path, a number in the list, an id or its prefix.

SHORTEST_PREFIX = 4  # fewer characters are a number in the list, or a typing error
_SHOWN = 5
_LABEL_MAX = 40


def find_session(store: SessionStore, text: str) -> Path:
    """The file of ``text``; a path need not exist, since opening it reports that better."""
    path = Path(os.path.expanduser(text))
    if os.sep in text or path.is_file():
        return path
    if text.endswith(SUFFIX):
        return next((Path(s.path) for s in store.summaries(everywhere=True) if Path(s.path).name == text), path)
    return Path(_by_number(store, text) or _by_id(store, text))


def _by_number(store: SessionStore, text: str) -> str | None:
    if not text.isdecimal() or len(text) >= SHORTEST_PREFIX:
        return None
    summaries = store.summaries()
    if not 1 <= int(text) <= len(summaries):
        raise SessionError(f"no session number {text}{_offer(store, summaries)}")
    return summaries[int(text) - 1].path


def _by_id(store: SessionStore, text: str) -> str:
    if len(text) < SHORTEST_PREFIX:
        raise SessionError(f'"{text}" is too short for an id prefix: expected at least {SHORTEST_PREFIX} characters')
    found = [summary for summary in store.summaries(everywhere=True) if summary.id.startswith(text)]
    if not found:
        raise SessionError(f'no session "{text}"{_offer(store, store.summaries())}')
    if len(found) > 1:
        raise SessionError(f'"{text}" matches {len(found)} sessions: {_list(found)}; type more of the id')
    return found[0].path


def _offer(store: SessionStore, summaries: Sequence[Summary]) -> str:
    if not summaries:
        return f"; {store.cwd} has none (`zot sessions list --all` lists all)"
    numbered = _list(summaries, numbered=True)
    return f"; this directory has {len(summaries)}: {numbered} (`zot sessions`, `zot sessions list --all`)"


def _list(summaries: Sequence[Summary], numbered: bool = False) -> str:
    rows = [
        f"{f'{number} ' * numbered}{summary.id[:8]} ({_short(summary.label)})"
        for number, summary in enumerate(summaries[:_SHOWN], 1)
    ]
    return ", ".join([*rows, *(["…"] if len(summaries) > _SHOWN else [])])


def _short(label: str) -> str:
    text = " ".join(label.split())
    return text if len(text) <= _LABEL_MAX else f"{text[: _LABEL_MAX - 1]}…"
