"""Entries of a session file: messages, compactions, labels, model switches and data of extensions, with their ids.
Reads the file as it is; the caller adds rows that are not written yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from zot.core.events import REPLACES
from zot.core.session.entry_ids import row_id
from zot.core.session.records import (
    CompactionRow,
    ExtensionRow,
    KnownRow,
    LabelRow,
    MessageRow,
    MetaRow,
    NotARecord,
    decode_row,
    row_type,
)
from zot.core.session.session_file import lines_of
from zot.system.safe_open import open_buffered

EntryKind = Literal["message", "compaction", "extension", "label", "model"]
_KINDS: dict[str, EntryKind] = {
    "message": "message",
    "compaction": "compaction",
    "extension_entry": "extension",
    "entry_label": "label",
    "meta": "model",
}


class Entry(msgspec.Struct, frozen=True):
    """``row`` has the content; ``kind`` is what readers see."""

    id: str
    kind: EntryKind
    row: KnownRow


def entries_of(path: Path, pending: Iterable[bytes] = (), kinds: Iterable[str] = ()) -> list[Entry]:
    """The entries of a file followed by ``pending`` rows, oldest first; of all ``kinds`` if none are named.
    A missing file has none; raises OSError for others."""
    wanted = frozenset(kinds)
    try:
        with open_buffered(path) as file:
            found = list(_entries(lines_of(file), wanted))
    except FileNotFoundError:
        found = []
    return _without_replaced([*found, *_entries(pending, wanted)])


def id_of_message(path: Path, number: int) -> str:
    """The id of message row ``number`` (from 0) of a file; empty if there is none."""
    with open_buffered(path) as file:
        messages = (line for line in lines_of(file) if row_type(line) == "message")
        line = next(islice(messages, number, None), b"")
    return row_id(line) if line else ""


def number_of_message(path: Path, id: str) -> int | None:
    """The number of the message row with this id, from 0; None if no message has it."""
    with open_buffered(path) as file:
        messages = (line for line in lines_of(file) if row_type(line) == "message")
        return next((number for number, line in enumerate(messages) if row_id(line) == id), None)


def labels_of(path: Path, pending: Iterable[bytes] = ()) -> dict[str, str]:
    """The labels of a session by entry id."""
    labels: dict[str, str] = {}
    for entry in entries_of(path, pending, ("label",)):
        if isinstance(entry.row, LabelRow):
            labels[entry.row.entry_id] = entry.row.label
    return {id: label for id, label in labels.items() if label}


def _entries(lines: Iterable[bytes], wanted: frozenset[str]) -> Iterator[Entry]:
    """The first meta row is the session itself and no entry; later ones are model switches."""
    model: tuple[str, str] | None = None
    for line in lines:
        kind = _KINDS.get(row_type(line))
        if kind is None or (wanted and kind not in wanted and kind != "model"):
            continue
        try:
            row = decode_row(line)
        except NotARecord:
            continue
        if isinstance(row, MetaRow):
            before, model = model, (row.meta.provider, row.meta.model)
            if before in (None, model) or (wanted and kind not in wanted):
                continue
        if isinstance(row, MetaRow | MessageRow | CompactionRow | ExtensionRow | LabelRow):
            yield Entry(row_id(line), kind, row)


def _without_replaced(entries: list[Entry]) -> list[Entry]:
    """A prompt that replaced an unanswered one stands alone."""
    kept: list[Entry] = []
    for entry in entries:
        if isinstance(entry.row, MessageRow) and REPLACES in (entry.row.message.meta or {}):
            last = next((i for i in reversed(range(len(kept))) if kept[i].kind == "message"), -1)
            before = kept[last].row if last >= 0 else None
            if isinstance(before, MessageRow) and before.message.role == "user":
                del kept[last]
        kept.append(entry)
    return kept
