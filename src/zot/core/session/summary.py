"""Summaries of sessions for lists, read in one pass without the transcript, and their fork relations."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.core.events import PERMISSION_MODE
from zot.core.session.records import DiskBlock, Meta, role_label
from zot.core.session.session_file import lines_of
from zot.provider.messages import Usage
from zot.system.files import make_private_dir
from zot.system.safe_open import open_buffered, open_to_append

if TYPE_CHECKING:
    import sqlite3

    from zot.core.session.store import SessionFile

_FIRST_TEXT_MAX = 200


class DayCost(msgspec.Struct, frozen=True):
    """Usage of one model (``provider/model``) by a session on one local day."""

    day: str
    model: str
    usage: Usage
    calls: int = 1


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """``title`` is the last one, ``first_text`` the start of the first prompt.
    ``answered``: the model answered at least once. ``costs`` excludes rows a fork copied, ``cost_usd`` does not."""

    path: str
    id: str
    parent: str
    cwd: str
    started: str
    modified: float
    model: str
    provider: str
    messages: int
    first_text: str
    cost_usd: float
    title: str
    answered: bool = True
    costs: tuple[DayCost, ...] = ()

    @property
    def is_failed_run(self) -> bool:
        """True for a run that ended before an answer, unless the user gave it a title."""
        return not self.answered and not self.title

    @property
    def label(self) -> str:
        """The title, else the first words, on one line."""
        return self.title or " ".join(self.first_text.split()) or "(no text)"


class _SummaryMessage(msgspec.Struct):
    role: str = ""
    content: msgspec.Raw = msgspec.Raw()
    meta: dict[str, object] | None = None
    time: str = ""


class _SummaryRow(msgspec.Struct):
    """The fields of a summary; the decoder skips the rest."""

    type: str = ""
    meta: Meta | None = None
    message: _SummaryMessage | None = None
    usage: Usage | None = None
    cumulative: Usage | None = None
    time: str = ""
    title: str = ""
    model: str = ""
    role: str = ""


_decode_row = msgspec.json.Decoder(_SummaryRow).decode
_decode_blocks = msgspec.json.Decoder(tuple[DiskBlock, ...] | None).decode


def summarise(path: Path) -> Summary | None:
    """None if the first row is not a meta row; raises OSError. The last meta, title and cost apply."""
    with open_buffered(path) as file:
        lines = lines_of(file)
        first = _row(next(lines, b""))
        if first is None or first.type != "meta" or first.meta is None:
            return None
        meta, title, messages, first_text, cost_usd = first.meta, "", 0, "", 0.0
        copied, last_time, costs, answered = first.meta.fork_point, first.meta.started, _Costs(), False
        for line in lines:
            if (row := _row(line)) is None:
                continue
            if row.type == "message" and row.message is not None:
                messages += 1
                answered = answered or row.message.role == "assistant"
                last_time = row.message.time or last_time
                if not first_text and row.message.role == "user" and PERMISSION_MODE not in (row.message.meta or ()):
                    first_text = words_of(_text_of(row.message.content))
            elif row.type == "usage" and row.cumulative is not None:
                cost_usd = row.cumulative.cost_usd
                if row.usage is not None and (messages > copied or not copied):
                    model = row.model or f"{meta.provider}/{meta.model}"
                    costs.add(row.time or last_time, role_label(model, row.role), row.usage)
            elif row.type == "rename":
                title = row.title or title
            elif row.type == "meta" and row.meta is not None:
                meta = row.meta
        modified = path.stat().st_mtime
    return Summary(
        path=str(path),
        id=meta.id,
        parent=meta.parent,
        cwd=meta.cwd,
        started=meta.started,
        modified=modified,
        model=meta.model,
        provider=meta.provider,
        messages=messages,
        first_text=first_text[:_FIRST_TEXT_MAX],
        cost_usd=cost_usd,
        title=title or meta.title,
        answered=answered,
        costs=costs.all(),
    )


class _Costs:
    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], DayCost] = {}
        self._days: dict[str, str] = {}

    def add(self, time: str, model: str, usage: Usage) -> None:
        minute = time[:16]
        day = self._days.get(minute)
        if day is None:
            day = self._days[minute] = local_day(time)
        known = self._sums.get((day, model))
        self._sums[day, model] = DayCost(
            day, model, known.usage + usage if known else usage, known.calls + 1 if known else 1
        )

    def all(self) -> tuple[DayCost, ...]:
        return tuple(self._sums.values())


def local_day(time: str) -> str:
    """The local day of an RFC 3339 time in UTC; its first ten characters if it cannot be parsed."""
    from calendar import timegm
    from time import localtime, strftime, strptime

    try:
        return strftime("%Y-%m-%d", localtime(timegm(strptime(time[:19], "%Y-%m-%dT%H:%M:%S"))))
    except (ValueError, OverflowError):
        return time[:10]


def _row(line: bytes) -> _SummaryRow | None:
    try:
        return _decode_row(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _text_of(content: msgspec.Raw) -> str:
    try:
        blocks = _decode_blocks(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    return "\n".join(block.text for block in blocks or () if block.text)


class Branch(msgspec.Struct, frozen=True):
    summary: Summary
    depth: int


def branches(summaries: Iterable[Summary]) -> list[Branch]:
    """Depth first, children in file order, each session once. Sessions without a known parent are roots; of a cycle,
    the first."""
    ordered = sorted((s for s in summaries if s.id), key=lambda summary: summary.path)
    ids = {summary.id for summary in ordered}
    children: dict[str, list[Summary]] = {}
    for summary in ordered:
        children.setdefault(summary.parent if summary.parent in ids else "", []).append(summary)
    found: list[Branch] = []
    seen: set[str] = set()
    for root in (*children.get("", ()), *ordered):
        stack = [(root, 0)]
        while stack:
            summary, depth = stack.pop()
            if summary.path not in seen:
                seen.add(summary.path)
                found.append(Branch(summary, depth))
                stack.extend((child, depth + 1) for child in reversed(children.get(summary.id, ())))
    return found


def tree_lines(found: Iterable[Branch], current: str = "") -> list[str]:
    """Two spaces per level; the session with the id ``current`` is marked."""
    return [
        f"{'  ' * branch.depth}{branch.summary.label}{' [current]' if branch.summary.id == current else ''}"
        for branch in found
    ]


# Index of summaries in SQLite. It can be rebuilt: an entry is valid while size and time of its file are unchanged.

_TABLE = "summaries_3"  # a new schema gets a new name
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
    """The summaries of ``files`` in their order, without unreadable files and non-sessions."""
    import sqlite3

    if not files:
        return []
    try:
        with _connection(index_path(root)) as db:
            known = _known(db, {str(file.path.parent) for file in files})
            summaries = {file: _current(known, file) or _scan(file) for file in files}
            rows = {
                str(file.path): (file.size, file.mtime_ns, msgspec.json.encode(summary))
                for file, summary in summaries.items()
                if summary is not None
            }
            db.executemany(f"DELETE FROM {_TABLE} WHERE path = ?", [(path,) for path in known.keys() - rows.keys()])
            changed = [(path, *row) for path, row in rows.items() if known.get(path) != row]
            db.executemany(f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?)", changed)
        return _present(summaries.values())
    except (sqlite3.OperationalError, OSError):  # busy, read-only or disk full: continue without it
        return _present(_scan(file) for file in files)
    except sqlite3.DatabaseError:  # corrupt: it can be rebuilt
        index_path(root).unlink(missing_ok=True)
        return _present(_scan(file) for file in files)


@contextmanager
def _connection(path: Path) -> Generator[sqlite3.Connection]:
    import sqlite3

    make_private_dir(path.parent)
    os.close(open_to_append(path))  # private from its creation; SQLite would wait for a pipe
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


def _present(summaries: Iterable[Summary | None]) -> list[Summary]:
    return [summary for summary in summaries if summary is not None]


def words_of(text: str) -> str:
    """A prompt without the files that it brought along."""
    return text.partition('\n\n<file path="')[0]
