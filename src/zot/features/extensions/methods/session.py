"""``session.info``, ``entries``, ``list``, ``system``, ``append``, ``label`` and ``name``: the conversation as it is
stored. Own entries need no word of ``uses``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.events import EntryAdded, SessionRenamed
from zot.core.session.entry_ids import row_id
from zot.core.session.records import ExtensionRow, KnownRow, LabelRow, encode_row
from zot.features.extensions.methods.session_entries import EntryPage, page_of
from zot.features.extensions.requests import MethodCall, RequestError
from zot.provider.messages import utc_now
from zot.wire import limits

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.session.entries import Entry
    from zot.core.session.session import Session
    from zot.core.session.summary import Summary

_KINDS = ("message", "compaction", "extension", "label", "model")
_MOST_LISTED = 500
_LONGEST_TYPE, _LONGEST_LABEL, _LONGEST_NAME = 64, 200, 200


async def info(call: MethodCall) -> dict[str, Any]:
    conversation = call.conversation
    agent, snapshot, session = conversation.agent, conversation.snapshot, conversation.session
    found: dict[str, Any] = {"id": snapshot.session_id}
    if session is not None:
        found |= {"name": session.meta.title} if session.meta.title else {}
        found |= {"started": session.meta.started}
        found |= {"parent": session.meta.parent} if session.meta.parent else {}
    return found | {
        "cwd": snapshot.directory,
        "provider": snapshot.provider,
        "model": snapshot.model,
        "reasoning": snapshot.reasoning,
        "entries": len(conversation.messages),
        "usage": usage_values(agent.cost),
        **({"context_tokens": agent.last_context_tokens} if agent.last_context_tokens else {}),
        "context_window": conversation.model.context_window,
        "busy": conversation.busy,
        "queued": len(conversation.queued) + len(conversation.steering),
        "permission_mode": snapshot.permission_mode,
    }


def usage_values(usage: Any) -> dict[str, Any]:
    keys = ("input_tokens", "output_tokens", "cache_read_tokens", "cost_usd")
    return {key: getattr(usage, key) for key in keys}


# --- entries


class _EntriesParams(msgspec.Struct, frozen=True):
    after: str = ""
    before: str = ""
    limit: int = 100
    kinds: tuple[str, ...] = ()
    session_id: str = ""


async def entries(call: MethodCall) -> dict[str, Any]:
    params = call.params(_EntriesParams)
    if not 1 <= params.limit <= limits.ENTRIES_PAGE:
        raise RequestError("bad_params", f"session.entries: limit: expected 1 to {limits.ENTRIES_PAGE}")
    if unknown := set(params.kinds) - {*_KINDS}:
        raise RequestError("bad_params", f"session.entries: kinds: {sorted(unknown)[0]!r} is not one of {_KINDS}")
    if params.after and params.before:
        raise RequestError("bad_params", "session.entries: before: expected either after or before")
    everything = "session.read" in call.child.granted
    if not everything and (params.session_id or params.kinds != ("extension",)):
        call.require("session.read")
    found = await _entries(call, params)
    if not everything:
        found = [each for each in found if isinstance(each.row, ExtensionRow) and each.row.extension == call.child.name]
    page = page_of(found, EntryPage(params.after, params.before, params.limit))
    if page is None:
        raise RequestError("not_found", "session.entries: no entry has the id in after or before")
    chosen, following = page
    result: dict[str, Any] = {"entries": chosen}
    return {**result, "next": following} if following else result


async def _entries(call: MethodCall, params: _EntriesParams) -> list[Entry]:
    conversation = call.conversation
    session = conversation.session
    if params.session_id and params.session_id != conversation.agent.session_id:
        path = await path_of_session(call, params.session_id)
        return await asyncio.to_thread(_read, path, (), params.kinds)
    if session is None:
        return _without_file(call, params.kinds)
    return await asyncio.to_thread(_read, session.path, session.pending_rows, params.kinds)


def _read(path: Path, pending: Sequence[bytes], kinds: Iterable[str]) -> list[Entry]:
    from zot.core.session.entries import entries_of

    try:
        return entries_of(path, pending, kinds)
    except OSError as error:
        raise RequestError("failed", f"cannot read the session: {error.strerror or error}") from error


def _without_file(call: MethodCall, kinds: Sequence[str]) -> list[Entry]:
    """The transcript of a run that keeps no session, and what extensions added to it."""
    from zot.core.session.entries import Entry
    from zot.core.session.records import message_row

    rows: list[KnownRow] = [message_row(message) for message in call.conversation.messages]
    found = [Entry(row_id(encode_row(row)), "message", row) for row in rows]
    found += [Entry(row_id(encode_row(row)), "extension", row) for row in call.host.unsaved_entries]
    return [entry for entry in found if not kinds or entry.kind in kinds]


async def path_of_session(call: MethodCall, id: str) -> Path:
    """The file of a session of this project."""
    for summary in await _summaries(call.conversation):
        if summary.id == id:
            return Path(summary.path)
    raise RequestError("not_found", f"{call.frame.method}: no session of this project has the id {id[:60]!r}")


async def _summaries(conversation: Conversation) -> list[Summary]:
    if conversation.session is not None:
        conversation.session.flush()
    return await asyncio.to_thread(conversation.sessions.summaries)


# --- other sessions, the system prompt


class _ListParams(msgspec.Struct, frozen=True):
    limit: int = 50
    words: str = ""


async def sessions(call: MethodCall) -> dict[str, Any]:
    params = call.params(_ListParams)
    if not 1 <= params.limit <= _MOST_LISTED:
        raise RequestError("bad_params", f"session.list: limit: expected 1 to {_MOST_LISTED}")
    found = await _summaries(call.conversation)
    if params.words.strip():
        hits = await asyncio.to_thread(_search, [summary.path for summary in found], params.words)
        words = params.words.lower().split()
        found = [each for each in found if each.path in hits or all(word in each.title.lower() for word in words)]
    return {"sessions": [_listed(summary) for summary in found[: params.limit]]}


def _search(paths: list[str], words: str) -> set[str]:
    from zot.core.session.search import search

    return {hit.path for hit in search(paths, words, lambda: False)}


def _listed(summary: Summary) -> dict[str, Any]:
    named = {"name": summary.title} if summary.title else {}
    parent = {"parent": summary.parent} if summary.parent else {}
    return {
        "id": summary.id,
        **named,
        "cwd": summary.cwd,
        "started": summary.started,
        **parent,
        "entries": summary.messages,
    }


async def system(call: MethodCall) -> dict[str, Any]:
    agent = call.conversation.agent
    return {"text": agent.system_text(), "tools": [tool.name for tool in agent.tools]}


# --- writing


class _AppendParams(msgspec.Struct, frozen=True):
    type: str
    data: Any = None
    view: Any = None


async def append(call: MethodCall) -> dict[str, Any]:
    params = call.params(_AppendParams)
    if not 1 <= len(params.type) <= _LONGEST_TYPE:
        raise RequestError("bad_params", f"session.append: type: expected 1 to {_LONGEST_TYPE} characters")
    view = params.view if params.view is not None else await drawn_by_extension(call, "entry", params.type, params.data)
    return add_entry(call, params.type, params.data, view)


async def drawn_by_extension(call: MethodCall, of: str, kind: str, data: Any) -> Any:
    """The view that a renderer makes of an entry or message; None without one."""
    if not call.host.renders(of, kind):
        return None
    params = {} if data is None else {"details": data}
    return await call.host.renderers.draw(of, kind, params, owner=call.child)


def add_entry(call: MethodCall, kind: str, data: Any, view: Any, text: str = "") -> dict[str, Any]:
    """Record an entry of the extension and show it if it has a view or a text."""
    encoded, drawn = msgspec.json.encode(data), msgspec.json.encode(view)
    for name, value in (("data", encoded), ("view", drawn)):
        if len(value) > limits.ENTRY_BYTES:
            most = limits.ENTRY_BYTES >> 10
            raise RequestError("too_large", f"{call.frame.method}: {name}: {len(value) >> 10} KiB, at most {most} KiB")
    row = ExtensionRow(
        call.child.name,
        kind,
        msgspec.Raw(encoded),
        *(() if view is None else (msgspec.Raw(drawn),)),
        id=os.urandom(6).hex(),
        time=utc_now(),
    )
    id, saved = record(call, row)
    if view is not None or text:
        call.conversation.emit(EntryAdded(id, call.child.name, kind, view, text))
    return {"entry_id": id, "saved": saved}


def record(call: MethodCall, row: ExtensionRow | LabelRow) -> tuple[str, bool]:
    """Write a row; its id, and whether it is on disk."""
    session = call.conversation.session
    if session is None:
        call.host.unsaved_entries.append(row)
        return row_id(encode_row(row)), False
    return row_id(encode_row(row)), session.add_entry(row)


class _LabelParams(msgspec.Struct, frozen=True):
    entry_id: str
    label: str = ""


async def label(call: MethodCall) -> dict[str, Any]:
    params = call.params(_LabelParams)
    text = " ".join(params.label.split())
    if len(text) > _LONGEST_LABEL:
        raise RequestError("too_large", f"session.label: label: expected at most {_LONGEST_LABEL} characters")
    session = saved_session(call)
    found = await asyncio.to_thread(_read, session.path, session.pending_rows, ())
    if not any(entry.id == params.entry_id for entry in found):
        raise RequestError("not_found", "session.label: entry_id: no entry of this session has this id")
    record(call, LabelRow(params.entry_id, text, utc_now(), call.child.name))
    call.conversation.emit(SessionRenamed(session.id, name=session.meta.title, entry_id=params.entry_id, label=text))
    return {}


class _NameParams(msgspec.Struct, frozen=True):
    name: str


async def rename(call: MethodCall) -> dict[str, Any]:
    rename_session(call, call.params(_NameParams).name)
    return {}


def rename_session(call: MethodCall, name: str) -> None:
    name = " ".join(name.split())
    if not 1 <= len(name) <= _LONGEST_NAME:
        raise RequestError("bad_params", f"{call.frame.method}: name: expected 1 to {_LONGEST_NAME} characters")
    session = saved_session(call)
    session.rename(name)
    call.conversation.emit(SessionRenamed(session.id, name=name))


def saved_session(call: MethodCall) -> Session:
    """RequestError in a run that keeps no session."""
    session = call.conversation.session
    if session is None:
        raise call.unavailable("this run keeps no session (--no-session)")
    return session
