"""Streams the rows of a session file, whatever their length, and keeps aside what cannot be read.

A line that is no record is skipped, copied once to ``<file>.bad`` and reported once; it also stays where it is,
for the file is append-only and someone who does not know our lock may be writing to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from zot.core.session.records import NotARecord, Row, decode_row


class Line(NamedTuple):
    """``row`` is None when the line is no record; ``offset`` identifies it within its file."""

    offset: int
    raw: bytes
    row: Row | None


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """Every line that is not blank, in order."""
    offset = 0
    for raw in file:
        if not raw.isspace():
            yield Line(offset, raw, _row(raw))
        offset += len(raw)


def _row(raw: bytes) -> Row | None:
    try:
        return decode_row(raw)
    except NotARecord:
        return None


def bad_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.bad")


def keep_aside(path: Path, lines: Iterable[bytes]) -> int:
    """Append to ``<path>.bad`` those lines that are not in it yet; returns how many that were."""
    target = bad_path(path)
    known = set(target.read_bytes().splitlines()) if target.exists() else set[bytes]()
    fresh = [line for line in dict.fromkeys(map(_bare, lines)) if line not in known]
    if fresh:
        _append(target, b"".join(line + b"\n" for line in fresh))
    return len(fresh)


def _bare(line: bytes) -> bytes:
    """The line as ``splitlines`` will give it back."""
    return b" ".join(line.splitlines())


def _append(target: Path, data: bytes) -> None:
    fd = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with open(fd, "wb", closefd=True) as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
