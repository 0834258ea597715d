"""Pages of session entries: which ones, and each as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from zot.core.session.entries import Entry
from zot.core.session.records import (
    CompactionRow,
    DiskMessage,
    ExtensionRow,
    LabelRow,
    MessageRow,
    MetaRow,
    message_of,
)
from zot.features.extensions.wire_messages import wire_message
from zot.wire import limits


class EntryPage(NamedTuple):
    """At most ``limit`` entries ``after`` or ``before`` an id; from the beginning without either."""

    after: str
    before: str
    limit: int


def page_of(entries: Sequence[Entry], page: EntryPage) -> tuple[list[dict[str, Any]], str] | None:
    """The page, oldest first, and the id to go on from (``after``, or ``before``), if entries are left.
    None if the id is unknown."""
    ids = [entry.id for entry in entries]
    if page.before:
        if page.before not in ids:
            return None
        end = ids.index(page.before)
        chosen = _fitting(list(reversed(entries[:end])), page.limit)
        left = end - len(chosen)
        return list(reversed(chosen)), chosen[-1]["entry_id"] if left and chosen else ""
    start = 0
    if page.after:
        if page.after not in ids:
            return None
        start = len(ids) - ids[::-1].index(page.after)
    chosen = _fitting(entries[start:], page.limit)
    left = len(ids) - start - len(chosen)
    return chosen, chosen[-1]["entry_id"] if left and chosen else ""


def _fitting(entries: Sequence[Entry], limit: int) -> list[dict[str, Any]]:
    """As many as fit into one page; a single entry that does not fit comes without its content."""
    chosen: list[dict[str, Any]] = []
    room = limits.ENTRIES_BYTES
    for entry in entries[:limit]:
        wire = wire_entry(entry)
        size = len(msgspec.json.encode(wire))
        if size > limits.ENTRIES_BYTES:
            wire = {key: value for key, value in wire.items() if key not in ("message", "data")} | {"truncated": True}
            size = len(msgspec.json.encode(wire))
        if size > room:
            break
        room -= size
        chosen.append(wire)
    return chosen


def wire_entry(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"entry_id": entry.id, "kind": entry.kind}
    match entry.row:
        case MessageRow(message):
            return found | _message(message, entry.id)
        case CompactionRow(_, message, messages):
            summary = message if isinstance(message, DiskMessage) else None
            if summary is None and isinstance(messages, tuple) and messages:
                summary = messages[0]
            return found | (_message(summary, entry.id) if summary is not None else {})
        case ExtensionRow():
            return found | _extension_values(entry.row)
        case LabelRow(entry_id, label, time):
            return found | {"time": time, "label": label, "data": {"entry_id": entry_id}}
        case MetaRow(meta):
            return found | {"time": "", "data": {"provider": meta.provider, "model": meta.model}}
        case _:
            return found


def _message(disk: DiskMessage, id: str) -> dict[str, Any]:
    message = message_of(disk)
    if message is None:
        return {"time": disk.time}
    return {"time": message.time, "message": wire_message(message, id)}


def _extension_values(row: ExtensionRow) -> dict[str, Any]:
    found: dict[str, Any] = {"time": row.time, "extension": row.extension, "type": row.kind}
    if bytes(row.data):
        found["data"] = row.data
    if bytes(row.view):
        found["view"] = row.view
    return found
