"""A new session file made of another one's rows: a meta row first, then chosen lines byte for byte.

Reading needs no lock, so a session in use can be copied; a line that is no record is left out. The copy appears
under its name only when it is complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from zot.core.session.records import Meta, MetaRow, NotARecord, decode_row, row_type
from zot.errors import SessionCorrupt, SessionError
from zot.system.files import make_private_dir, sync_dir

META = frozenset({"meta"})


class Source(NamedTuple):
    """The file a copy is made of: its last meta row as written, and that row's meta."""

    path: Path
    meta_line: bytes
    meta: Meta


def source_of(path: Path, *, end: int | None = None) -> Source:
    """Check that ``path`` is a session and find its last meta row (before offset ``end``)."""
    if not path.is_file():
        raise SessionError(f"there is no session file {path}")
    with _reading(path) as file:
        first = file.readline()
        meta = _meta(first)
        if meta is None:
            raise SessionCorrupt(f"{path} is not a session: its first row is not a `meta` row")
        source = Source(path, first, meta)
        for line in until(file, end):
            if row_type(line) == "meta" and (meta := _meta(line)) is not None:
                source = Source(path, line, meta)
    return source


def rows_of(path: Path, *, end: int | None = None, without: frozenset[str] = META) -> Iterator[bytes]:
    """The lines that are JSON records, each with its newline, but those of the types in ``without``."""
    with _reading(path) as file:
        for line in until(file, end):
            kind = row_type(line)
            if kind and kind not in without:
                yield line if line.endswith(b"\n") else line + b"\n"


def until(file: BinaryIO, end: int | None) -> Iterator[bytes]:
    """The lines from here to offset ``end``."""
    offset = file.tell()
    for line in file:
        if end is not None and offset >= end:
            return
        offset += len(line)
        yield line


def write_new(path: Path, lines: Iterable[bytes]) -> None:
    """Write a private file as a whole; raises FileExistsError rather than replace one."""
    make_private_dir(path.parent)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))  # ours is the name now
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        _write_synced(temporary, lines)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise
    sync_dir(path.parent)


def _write_synced(path: Path, lines: Iterable[bytes]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb", closefd=True) as file:
        file.writelines(lines)
        file.flush()
        os.fsync(fd)


def _meta(line: bytes) -> Meta | None:
    try:
        row = decode_row(line)
    except NotARecord:
        return None
    return row.meta if isinstance(row, MetaRow) else None


def _reading(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}") from error
