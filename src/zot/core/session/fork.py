"""Creates session files from rows of another: branches, exports, imports.
Lines are copied byte for byte, and the file appears when it is complete. Reading needs no lock."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from zot.core.session.records import Meta, MetaRow, NotARecord, decode_row, encode_row, row_type
from zot.core.session.session import Session
from zot.core.session.session_file import LARGEST, lines_of
from zot.core.session.store import SessionStore, compact_time
from zot.core.session.summary import summarise
from zot.errors import SessionCorrupt, SessionError, UsageError
from zot.provider.messages import Message
from zot.system.files import make_private_dir, sync_dir, user_home
from zot.system.safe_open import TooLarge, open_buffered
from zot.system.temp_files import PendingFile, remove_stale_files

SUFFIX = ".zotsession"
_SLUG_MAX = 40


# Branches: a new session that begins with the first rows of another. The cut is an offset in the parent's file,
# never an index into a transcript that compaction, a window or repairs have changed.


def fork_before(store: SessionStore, session: Session, message: Message) -> Path:
    """Branch before ``message``, an object of the live transcript; returns the new file."""
    return _fork(store, session.path, session.row_of(message))


def fork_at(store: SessionStore, parent: Path, count: int | None = None) -> Path:
    """Branch after the first ``count`` message rows of the file, or after all."""
    return _fork(store, parent, None if count is None else _offset_of(parent, count))


def _offset_of(parent: Path, count: int) -> int | None:
    """Offset of message row ``count`` (from 0); None if exactly that many exist."""
    if count < 0:
        raise UsageError(f"cannot fork at {count}: expected a number of messages, from 0")
    source_of(parent)
    seen = offset = 0
    for line in _lines(parent):
        if row_type(line) == "message":
            if seen == count:
                return offset
            seen += 1
        offset += len(line)
    if seen < count:
        raise UsageError(f"cannot fork at {count}: {parent.name} has only {seen} messages")
    return None


def _fork(store: SessionStore, parent: Path, end: int | None) -> Path:
    """Copy the rows before offset ``end``; the title stays with the parent."""
    origin = source_of(parent, end=end).meta
    messages = sum(row_type(line) == "message" for line in _lines(parent, end))
    fresh = store.new_meta(origin.provider, origin.model)
    meta = msgspec.structs.replace(fresh, parent=origin.id, fork_point=messages)
    path = store.path_for(meta)
    rows = rows_of(parent, end=end, without=frozenset({"meta", "rename"}))
    try:
        write_new(path, chain((encode_row(MetaRow(meta)),), rows))
    except OSError as error:
        raise SessionError(f"cannot write the branch {path}: {error.strerror}") from error
    return path


# ``.zotsession``: an exported session. Its meta row has an empty ``cwd``; tool output still contains
# paths and printed text unless scrubbed.


def export_session(
    source: Path | str,
    destination: Path | str,
    *,
    scrub: bool = False,
    change: Callable[[bytes], bytes] | None = None,
) -> Path:
    """Write a copy under a free name and return its path. ``scrub`` also replaces working and home directory;
    ``change`` edits each row."""
    origin = source_of(typed_path(source, "export requires a session file"))
    target = target_of(origin, typed_path(destination, "export requires a destination"))
    # as a plain dict, to keep fields of other versions
    row: dict[str, Any] = msgspec.json.decode(origin.meta_line)
    row["meta"]["cwd"] = ""
    lines = chain(((msgspec.json.encode(row) + b"\n"),), rows_of(origin.path))
    if scrub:
        lines = map(_scrubber(origin.meta.cwd), lines)
    return write_numbered(target, SUFFIX, map(change, lines) if change is not None else lines)


def write_numbered(target: Path, suffix: str, lines: Iterable[bytes]) -> Path:
    """Write a new file under this name, or the next free one: ``name-2``, ``name-3``; returns its path."""
    number, path = 1, target
    while True:
        try:
            write_new(path, lines)
            return path
        except FileExistsError:
            number += 1
            path = target.with_name(f"{target.name[: -len(suffix)]}-{number}{suffix}")
        except OSError as error:
            raise SessionError(f"cannot write {path}: {error.strerror}") from error


def import_session(store: SessionStore, source: Path | str) -> Path:
    """A new session of the store's directory with the rows of ``source``; model and title stay."""
    origin = source_of(typed_path(source, "import requires a .zotsession file"))
    fresh = store.new_meta(origin.meta.provider, origin.meta.model)
    messages = sum(row_type(line) == "message" for line in _lines(origin.path))  # their cost was paid elsewhere
    meta = msgspec.structs.replace(fresh, title=origin.meta.title, fork_point=messages)
    path = store.path_for(meta)
    try:
        write_new(path, chain((encode_row(MetaRow(meta)),), rows_of(origin.path)))
    except OSError as error:
        raise SessionError(f"cannot write {path}: {error.strerror}") from error
    return path


def default_destination() -> Path:
    """``~/Downloads`` if it exists, else home, else the temporary directory."""
    home = user_home()
    for place in (home / "Downloads", home):
        if place.is_dir():
            return place
    import tempfile  # only as a last resort

    return Path(tempfile.gettempdir())


def typed_path(text: Path | str, missing: str) -> Path:
    """Parse a typed or pasted path: quotes around it, ``~`` in front."""
    plain = str(text).strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        plain = plain[1:-1]
    if not plain:
        raise SessionError(missing)
    return Path(os.path.expanduser(plain))


def target_of(origin: SourceSession, destination: Path, suffix: str = SUFFIX) -> Path:
    """The path of a copy: in a directory a generated name, else the typed one."""
    if not destination.is_dir():
        return with_suffix(destination, suffix)
    summary = summarise(origin.path)
    parts = [compact_time(origin.meta.started), origin.meta.id[:8], slug(summary.first_text if summary else "")]
    return destination / ("-".join(part for part in parts if part) + suffix)


def with_suffix(path: Path, suffix: str) -> Path:
    return path if path.name.lower().endswith(suffix) else path.with_name(path.name + suffix)


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_MAX].rstrip("-")


def _scrubber(cwd: str) -> Callable[[bytes], bytes]:
    places = [(msgspec.json.encode(path)[1:-1], name) for path, name in ((cwd, b"<cwd>"), (str(user_home()), b"~"))]
    # Match whole file names: /home/me is not in /home/melissa.
    rules = [(re.compile(re.escape(place) + rb"(?![\w.-])"), name) for place, name in places if len(place) > 1]

    def scrub(line: bytes) -> bytes:
        for pattern, name in rules:
            line = pattern.sub(name, line)
        return line

    return scrub


# Shared by all copies.


class SourceSession(NamedTuple):
    """Source of a copy: its last meta row as written, and decoded."""

    path: Path
    meta_line: bytes
    meta: Meta


def source_of(path: Path, *, end: int | None = None) -> SourceSession:
    """Check that ``path`` is a session and find its last meta row (before offset ``end``)."""
    if not path.is_file():
        raise SessionError(f"no session file {path}")
    lines = _lines(path, end)
    first = next(lines, b"")
    meta = _meta(first)
    if meta is None:
        raise SessionCorrupt(f"{path} is not a session: its first row is not a `meta` row")
    source = SourceSession(path, first, meta)
    for line in lines:
        if row_type(line) == "meta" and (meta := _meta(line)) is not None:
            source = SourceSession(path, line, meta)
    return source


def rows_of(path: Path, *, end: int | None = None, without: frozenset[str] = frozenset({"meta"})) -> Iterator[bytes]:
    """The lines that are JSON records, with newlines, except types in ``without``."""
    for line in _lines(path, end):
        kind = row_type(line)
        if kind and kind not in without:
            yield line if line.endswith(b"\n") else line + b"\n"


def write_new(path: Path, lines: Iterable[bytes]) -> None:
    """Write a private file as a whole; FileExistsError rather than replace one."""
    make_private_dir(path.parent)
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    new = PendingFile(path)
    try:
        with os.fdopen(new.fd, "wb", closefd=False) as file:
            file.writelines(lines)
        os.fsync(new.fd)
        new.commit(replace=False)
    finally:
        new.close()
    sync_dir(path.parent)
    remove_stale_files(path.parent)


def _lines(path: Path, end: int | None = None) -> Iterator[bytes]:
    """The lines before offset ``end``; SessionError if some cannot be read."""
    offset = 0
    try:
        with open_buffered(path) as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                raise TooLarge(path, LARGEST)
            for line in lines_of(file):
                if end is not None and offset >= end:
                    return
                offset += len(line)
                yield line
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error


def _meta(line: bytes) -> Meta | None:
    try:
        row = decode_row(line)
    except NotARecord:
        return None
    return row.meta if isinstance(row, MetaRow) else None
