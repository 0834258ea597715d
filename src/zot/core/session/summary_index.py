"""Remembers the summary of each session file in SQLite, so that a list does not read them all again.

An entry is true while size and time of its file are unchanged. Nothing lives only here: a missing, stale or
corrupt index is rebuilt, and one that cannot be used at all costs time, never an answer.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from zot.core.session.store import SessionFile
from zot.core.session.summary import Summary, summarise
from zot.system.files import make_private_dir
from zot.system.safe_open import open_to_append

_TABLE = "summaries_2"  # a new shape gets a new name
_SCHEMA = (
    f"CREATE TABLE IF NOT EXISTS {_TABLE} "
    "(path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, summary BLOB) WITHOUT ROWID"
)
_WAIT_S = 1.0
_decode = msgspec.json.Decoder(Summary).decode

_Known = dict[str, tuple[int, int, bytes]]


def index_path(root: Path) -> Path:
    return root / "index.sqlite"


def indexed(root: Path, files: list[SessionFile]) -> list[Summary]:
    """The summaries of ``files`` in their order; what is not a session or cannot be read is left out."""
    if not files:
        return []
    try:
        return _through_index(root, files)
    except (sqlite3.OperationalError, OSError):  # busy, read-only or out of space: do without
        return _present(_scan(file) for file in files)
    except sqlite3.DatabaseError:  # corrupt: it holds nothing that cannot be made again
        index_path(root).unlink(missing_ok=True)
        return _present(_scan(file) for file in files)


def _through_index(root: Path, files: list[SessionFile]) -> list[Summary]:
    with _connection(index_path(root)) as db:
        known = _known(db, {str(file.path.parent) for file in files})
        summaries = {file: _current(known, file) or _scan(file) for file in files}
        _remember(db, known, summaries)
    return _present(summaries.values())


@contextmanager
def _connection(path: Path) -> Generator[sqlite3.Connection]:
    make_private_dir(path.parent)
    os.close(open_to_append(path))  # private from its first moment; SQLite would wait for a pipe
    with closing(sqlite3.connect(path, timeout=_WAIT_S)) as db, db:
        db.execute(_SCHEMA)
        yield db


def _known(db: sqlite3.Connection, directories: set[str]) -> _Known:
    known: _Known = {}
    for directory in directories:
        rows = db.execute(
            f"SELECT path, size, mtime_ns, summary FROM {_TABLE} WHERE path > ? AND path < ?",
            (f"{directory}/", f"{directory}0"),  # "0" follows "/"
        )
        known.update((path, (size, mtime_ns, summary)) for path, size, mtime_ns, summary in rows)
    return known


def _current(known: _Known, file: SessionFile) -> Summary | None:
    size, mtime_ns, summary = known.get(str(file.path), (-1, -1, b""))
    if (size, mtime_ns) != (file.size, file.mtime_ns):
        return None
    try:
        return _decode(summary)
    except msgspec.DecodeError:
        return None


def _scan(file: SessionFile) -> Summary | None:
    try:
        return summarise(file.path)
    except OSError:
        return None


def _remember(db: sqlite3.Connection, known: _Known, summaries: dict[SessionFile, Summary | None]) -> None:
    rows = {
        str(file.path): (file.size, file.mtime_ns, msgspec.json.encode(summary))
        for file, summary in summaries.items()
        if summary is not None
    }
    db.executemany(f"DELETE FROM {_TABLE} WHERE path = ?", [(path,) for path in known.keys() - rows.keys()])
    changed = [(path, *row) for path, row in rows.items() if known.get(path) != row]
    db.executemany(f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?)", changed)


def _present(summaries: Iterable[Summary | None]) -> list[Summary]:
    return [summary for summary in summaries if summary is not None]
