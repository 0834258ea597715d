"""The interception ``context``: the messages of the coming request as an extension sees them, and its edits.
Edits hold for one request; the transcript and the session file do not change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.core.events import OF_EXTENSION
from zot.features.extensions.edition2_interception import BadValue, Data, expect_list
from zot.features.extensions.wire_messages import KIND, parse_content, wire_message
from zot.provider.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    utc_now,
)

if TYPE_CHECKING:
    from zot.features.extensions.host import ExtensionHost

MOST_BYTES = 4 * 1024 * 1024


class ContextEntry(msgspec.Struct, frozen=True, eq=False):
    """A message of the request with its id; an inserted one has none. ``brief``: it without its content."""

    id: str
    message: Message
    brief: Data


def entry_of(id: str, message: Message) -> ContextEntry:
    kind = message.meta.get(KIND)
    brief = {"entry_id": id, "role": message.role, "chars": _length(message), **({"kind": kind} if kind else {})}
    return ContextEntry(id, message, brief)


class ContextEntries:
    """The entries of the last request: most messages of a request were also in the one before."""

    def __init__(self, host: ExtensionHost) -> None:
        self._host = host
        self._known: dict[int, ContextEntry] = {}

    def of(self, messages: Sequence[Message]) -> tuple[ContextEntry, ...]:
        known, conversation = self._known, self._host.conversation
        session = conversation.session if conversation is not None else None
        found: list[ContextEntry] = []
        changed = False
        for message in messages:
            entry = known.get(id(message))
            if entry is None or entry.message is not message:
                changed = True
                entry = entry_of(self._host.entry_ids.of(message, session), message)
            found.append(entry)
        if changed or len(found) != len(known):
            self._known = {id(entry.message): entry for entry in found}
            self._host.entry_ids.keep(messages)
        return tuple(found)


def entries(host: ExtensionHost, messages: Sequence[Message]) -> tuple[ContextEntry, ...]:
    return host.context_entries.of(messages)


def listed(host: ExtensionHost, messages: Sequence[Message], *, images: bool) -> list[Data]:
    """All messages with their content."""
    return [_described(entry, images=images) for entry in entries(host, messages)]


def description(shown: Sequence[ContextEntry], content: str, given: Collection[str]) -> list[Data]:
    """By the option ``content``: ``none``, ``new`` (those not in ``given``) or ``full``. Above 4 MiB: ``none``."""
    whole = content == "full"
    chosen = [one for one in shown if whole or (content == "new" and one.id not in given)]
    full = {id(one): _described(one, images=whole) for one in chosen}
    if _may_be_too_large(chosen, images=whole) and len(msgspec.json.encode([*full.values()])) > MOST_BYTES:
        full = {}
    return [full.get(id(one), one.brief) for one in shown]


def _may_be_too_large(entries: Iterable[ContextEntry], *, images: bool) -> bool:
    most = (6 * one.brief["chars"] + 1000 for one in entries)  # a control character has six bytes
    return images or sum(most) > MOST_BYTES


def _described(entry: ContextEntry, *, images: bool) -> Data:
    return {**wire_message(entry.message, entry.id, images=images), "chars": entry.brief["chars"]}


def _length(message: Message) -> int:
    return sum(_block_length(block) for block in message.content)


def _block_length(block: Block) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ToolCallBlock():
            return len(block.arguments)
        case ToolResultBlock(_, content):
            return sum(len(inner.text) for inner in content if isinstance(inner, TextBlock))
        case _:
            return 0


# --- edits


def edited(entries: tuple[ContextEntry, ...], value: Data, extension: str) -> tuple[tuple[ContextEntry, ...], str]:
    """The entries after ``drop``, ``edit`` and ``insert``, and a remark about what was ignored; BadValue for a wrong
    shape."""
    dropped = {id for id in expect_list(value, "drop") if isinstance(id, str)}
    changes = {id: content for id, content in _changes(expect_list(value, "edit"))}
    inserts = list(_inserts(expect_list(value, "insert"), extension))
    if not (dropped or changes or inserts):
        return entries, ""
    known = {entry.id for entry in entries}
    remark = ""
    if unknown := sorted({*dropped, *changes, *(after for after, _ in inserts if after)} - known):
        remark = f"unknown entry {unknown[0][:40]!r}"
    last = next((entry.id for entry in reversed(entries) if entry.message.role == "user"), "")
    if last in dropped:
        dropped.discard(last)
        remark = "the last user message cannot be dropped"
    made = [entry_of("", message) for after, message in inserts if not after]
    for entry in entries:
        if entry.id not in dropped:
            made.append(_changed(entry, changes[entry.id]) if entry.id in changes else entry)
        made += [entry_of("", message) for after, message in inserts if after == entry.id]
    return _repaired(made), remark


def _changes(given: list[Any]) -> Iterable[tuple[str, list[Any] | str]]:
    for item in given:
        change = cast("Data", item) if isinstance(item, dict) else {}
        id, content = change.get("entry_id"), change.get("content")
        if not isinstance(id, str) or not isinstance(content, list | str):
            raise BadValue("edit: expected objects with entry_id and content")
        yield id, cast("list[Any] | str", content)


def _inserts(given: list[Any], extension: str) -> Iterable[tuple[str, Message]]:
    for item in given:
        insert = cast("Data", item) if isinstance(item, dict) else {}
        after, message = insert.get("after", ""), insert.get("message")
        if not isinstance(after, str) or not isinstance(message, dict):
            raise BadValue("insert: expected objects with after and message")
        shown = cast("Data", message)
        if shown.get("role", "user") != "user":
            raise BadValue(f"insert: a message of role {shown.get('role')!r}; expected user")
        content = _parsed(shown.get("content"), "insert")
        yield after, Message("user", content, utc_now(), {OF_EXTENSION: extension})


def _parsed(content: Any, key: str) -> tuple[TextBlock | ImageBlock, ...]:
    try:
        return parse_content(content)
    except ValueError as error:
        raise BadValue(f"{key}: {error}") from None


def _changed(entry: ContextEntry, content: list[Any] | str) -> ContextEntry:
    """With other content. Thoughts keep their place; calls and results that are not named are dropped."""
    message = entry.message
    items = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [cast("Data", item) for item in items if isinstance(item, dict)]
    if message.role == "tool":
        made = _results(message, blocks)
    elif message.role == "assistant":
        made = _answer(message, blocks)
    else:
        made = _parsed(blocks, "edit")
    return entry_of(entry.id, msgspec.structs.replace(message, content=tuple(made)))


def _results(message: Message, blocks: list[Data]) -> Iterable[Block]:
    own = {result.call_id: result for result in message.tool_results()}
    for block in blocks:
        result = own.get(str(block.get("call_id")))
        if result is None:
            raise BadValue("edit: a result of an unknown call_id")
        content = _parsed(block.get("content") or [], "edit")
        is_error = block.get("is_error", result.is_error) is True
        yield msgspec.structs.replace(result, content=content, is_error=is_error)


def _answer(message: Message, blocks: list[Data]) -> Iterable[Block]:
    """Thoughts first, as they come, then the given texts and calls."""
    calls = {call.id: call for call in message.tool_calls()}
    yield from (block for block in message.content if not isinstance(block, TextBlock | ToolCallBlock | ImageBlock))
    for block in blocks:
        if block.get("type") == "tool_call":
            call = calls.get(str(block.get("id")))
            if call is None:
                raise BadValue("edit: a call of an unknown id")
            args = block.get("args")
            yield call.with_args(cast("Data", args)) if isinstance(args, dict) else call
        else:
            yield from (each for each in _parsed([block], "edit") if isinstance(each, TextBlock))


def _repaired(entries: Iterable[ContextEntry]) -> tuple[ContextEntry, ...]:
    """Calls without a result and results without a call go; a message without content goes with them."""
    kept = list(entries)
    called = {call.id for entry in kept for call in entry.message.tool_calls()}
    answered = {result.call_id for entry in kept for result in entry.message.tool_results()}
    both = called & answered
    if called == answered:
        return tuple(entry for entry in kept if entry.message.content)
    return tuple(one for entry in kept if (one := _only(entry, both)).message.content)


def _only(entry: ContextEntry, calls: set[str]) -> ContextEntry:
    content = tuple(
        block
        for block in entry.message.content
        if not (isinstance(block, ToolCallBlock) and block.id not in calls)
        and not (isinstance(block, ToolResultBlock) and block.call_id not in calls)
    )
    if len(content) == len(entry.message.content):
        return entry
    return entry_of(entry.id, msgspec.structs.replace(entry.message, content=content))
