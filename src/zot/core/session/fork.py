"""Branches: a new session that begins with the first rows of another, which stays untouched.

The cut is a place in the parent's file, never an index into a transcript that compaction, a window or repairs
have changed. What is copied is verbatim; the title stays with the parent.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import msgspec

from zot.core.session.copy import rows_of, source_of, until, write_new
from zot.core.session.records import MetaRow, encode_row, row_type
from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.errors import SessionError, UsageError
from zot.provider.messages import Message

_NOT_COPIED = frozenset({"meta", "rename"})


def fork_before(store: SessionStore, session: Session, message: Message) -> Path:
    """Branch off before ``message``, the very object of the live transcript; returns the new file."""
    return _fork(store, session.path, session.row_of(message))


def fork_at(store: SessionStore, parent: Path, count: int | None = None) -> Path:
    """Branch off after the first ``count`` message rows of the file, or after all of it."""
    if count is None:
        return _fork(store, parent, None)
    return _fork(store, parent, _offset_of(parent, count))


def _offset_of(parent: Path, count: int) -> int | None:
    """Where message row ``count`` (from 0) begins; None when exactly that many exist."""
    if count < 0:
        raise UsageError(f"cannot fork at {count}: count the messages to keep from 0")
    source_of(parent)
    with open(parent, "rb") as file:
        seen = offset = 0
        for line in file:
            if row_type(line) == "message":
                if seen == count:
                    return offset
                seen += 1
            offset += len(line)
    if seen < count:
        raise UsageError(f"cannot fork at {count}: {parent.name} has only {seen} messages")
    return None


def _fork(store: SessionStore, parent: Path, end: int | None) -> Path:
    origin = source_of(parent, end=end).meta
    meta = msgspec.structs.replace(
        store.new_meta(origin.provider, origin.model), parent=origin.id, fork_point=_messages_before(parent, end)
    )
    path = store.path_for(meta)
    try:
        write_new(path, chain((encode_row(MetaRow(meta)),), rows_of(parent, end=end, without=_NOT_COPIED)))
    except OSError as error:
        raise SessionError(f"cannot write the branch {path}: {error.strerror}") from error
    return path


def _messages_before(parent: Path, end: int | None) -> int:
    with open(parent, "rb") as file:
        return sum(row_type(line) == "message" for line in until(file, end))
