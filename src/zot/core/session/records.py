"""Rows of a session file: one JSON object per line, discriminated by ``type``.
Names are permanent, new fields have defaults, and rows of unknown type are skipped by readers and preserved by
copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, assert_never

import msgspec

from zot.core.tool import (
    LONGEST_CHANGES,
    LONGEST_DECISION,
    ToolResult,
    attached_of,
    changes_of,
    decision_of,
    hunks_of,
)
from zot.provider.messages import (
    Block,
    Hunks,
    ImageBlock,
    Message,
    ReasoningBlock,
    Role,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
    utc_now,
)


class NotARecord(ValueError):
    """A line that cannot be used: torn, corrupt, or of a known type with the wrong shape."""


_NONE = msgspec.Raw()  # this very object is what an encoder omits as a default


class DiskBlock(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Any block. ``arguments`` is a JSON object, other text is in ``arguments_text``. ``hunks``, ``changes``,
    ``refused``, ``attached`` and ``decided_by`` are decoded separately, since other programs may use them
    differently. ``server`` marks calls run by the provider."""

    type: str = ""
    text: str = ""
    mime_type: str = ""
    data: bytes = b""
    id: str = ""
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw()
    arguments_text: str = ""
    server: bool = False
    call_id: str = ""
    content: tuple[DiskBlock, ...] | None = None
    is_error: bool = False
    hunks: msgspec.Raw = _NONE
    changes: msgspec.Raw = _NONE
    refused: msgspec.Raw = _NONE
    attached: msgspec.Raw = _NONE
    decided_by: msgspec.Raw = _NONE
    reasoning_id: str = ""
    summary: str = ""
    encrypted_content: str = ""
    kind: str = ""
    provider: str = ""
    model: str = ""


class DiskMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    role: Role
    content: tuple[DiskBlock, ...] | None = None
    time: str = ""
    meta: dict[str, str] | None = None


class DiskResult(msgspec.Struct, frozen=True, omit_defaults=True):
    content: tuple[DiskBlock, ...] | None = None
    is_error: bool = False
    hunks: msgspec.Raw = _NONE
    changes: msgspec.Raw = _NONE
    refused: msgspec.Raw = _NONE
    attached: msgspec.Raw = _NONE
    decided_by: msgspec.Raw = _NONE


class Meta(msgspec.Struct, frozen=True, omit_defaults=True):
    """Model and directory of the session; the last one in a file applies."""

    id: str = ""
    cwd: str = ""
    model: str = ""
    provider: str = ""
    started: str = ""
    version: str = ""
    title: str = ""
    parent: str = ""
    fork_point: int = 0


class MetaRow(msgspec.Struct, frozen=True, tag="meta"):
    """Always the first row, and again after each model switch."""

    meta: Meta


class MessageRow(msgspec.Struct, frozen=True, tag="message"):
    message: DiskMessage


def role_label(model: str, role: str) -> str:
    """``anthropic/claude-haiku-5-5 (compact)``: one line of a cost report per model and role."""
    return f"{model} ({role})" if role else model


class UsageRow(msgspec.Struct, frozen=True, tag="usage"):
    """``usage`` is of one call, ``cumulative`` the session's so far. ``model`` (``provider/id``) if it is not the
    session's; ``role`` is what it was chosen for."""

    usage: Usage = Usage()
    cumulative: Usage = Usage()
    time: str = ""
    model: str | msgspec.UnsetType = msgspec.UNSET
    role: str | msgspec.UnsetType = msgspec.UNSET

    def label(self, model: str) -> str:
        """The name in a cost report; ``model`` is the session's."""
        return role_label(self.model or model, self.role or "")


class RenameRow(msgspec.Struct, frozen=True, tag="rename"):
    title: str = ""


class CompactionRow(msgspec.Struct, frozen=True, tag="compaction"):
    """``message`` replaces all but the last ``keep_tail`` messages. Other programs write ``messages``, the whole new
    transcript."""

    keep_tail: int = 0
    message: DiskMessage | msgspec.UnsetType = msgspec.UNSET
    messages: tuple[DiskMessage, ...] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if self.message is msgspec.UNSET and self.messages is msgspec.UNSET:
            raise ValueError("a compaction without a message")


class ToolIntentRow(msgspec.Struct, frozen=True, tag="tool_intent"):
    call_id: str
    name: str = ""
    time: str = ""


class ToolOutcomeRow(msgspec.Struct, frozen=True, tag="tool_outcome"):
    """Written when the tool has run, before the message that carries its result. ``original`` is the tool's own
    result, if an interceptor changed it."""

    call_id: str
    result: DiskResult
    time: str = ""
    original: DiskResult | msgspec.UnsetType = msgspec.UNSET


class AnswerEndRow(msgspec.Struct, frozen=True, tag="answer_end", omit_defaults=True):
    """How the prompt of the messages before it ended: ``cancelled``, ``failed``, ``interrupted`` or ``complete``.
    Absent if the last message is a complete answer."""

    how: str
    why: str = ""


class SessionLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the tools of a session may do. Empty means no limit: mode ``everything``, no jail.
    ``jail`` is ``on`` or ``net``, ``level`` the least level of it, ``ask_outside`` whether the user is asked about
    access outside; ``read`` and ``write`` are directories beside the project. ``mode_chosen``: the mode was chosen, not
    a default of the settings."""

    permission_mode: str = ""
    jail: str = ""
    level: str = ""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    ask_outside: bool = False
    mode_chosen: bool = False


class LimitsRow(msgspec.Struct, frozen=True, tag="limits"):
    """Written when the limits change; the last one in a file applies."""

    limits: SessionLimits


class ExtensionRow(msgspec.Struct, frozen=True, tag="extension_entry", omit_defaults=True):
    """Data of an extension, never sent to a model; ``view`` is drawn. ``id`` is random: equal entries are two rows."""

    extension: str
    kind: str = ""
    data: msgspec.Raw = _NONE
    view: msgspec.Raw = _NONE
    id: str = ""
    time: str = ""


class LabelRow(msgspec.Struct, frozen=True, tag="entry_label", omit_defaults=True):
    """The user's or an extension's name for another row; an empty one clears it."""

    entry_id: str
    label: str = ""
    time: str = ""
    extension: str = ""


class UnknownRow(msgspec.Struct, frozen=True):
    """A row of another version; copies preserve it."""

    type: str


KnownRow = (
    MetaRow
    | MessageRow
    | UsageRow
    | RenameRow
    | CompactionRow
    | ToolIntentRow
    | ToolOutcomeRow
    | AnswerEndRow
    | LimitsRow
    | ExtensionRow
    | LabelRow
)
Row = KnownRow | UnknownRow

_KNOWN = frozenset(
    {
        *("meta", "message", "usage", "rename", "compaction"),
        *("tool_intent", "tool_outcome", "answer_end", "limits", "extension_entry", "entry_label"),
    }
)
_ENDS = frozenset(("cancelled", "failed", "interrupted"))
_encoder = msgspec.json.Encoder()


# Decoders are created on first use: a new session only writes.


@cache
def _known_row() -> Callable[[bytes], KnownRow]:
    return msgspec.json.Decoder(KnownRow).decode


@cache
def _any_row() -> Callable[[bytes], UnknownRow]:
    return msgspec.json.Decoder(UnknownRow).decode


@cache
def _hunk_list() -> Callable[[msgspec.Raw], Hunks]:
    return msgspec.json.Decoder(Hunks).decode


def decode_row(line: bytes) -> Row:
    try:
        _check_text(line)
        return _known_row()(line)
    except msgspec.ValidationError as error:
        kind = row_type(line)
        if (unknown := (UnknownRow(kind) if kind and kind not in _KNOWN else None)) is None:
            raise NotARecord(str(error)) from error
        return unknown
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotARecord(str(error)) from error


def _check_text(line: bytes) -> None:
    """UnicodeError unless it is UTF-8: the decoder does not check skipped and raw values."""
    if not line.isascii():
        line.decode()


def row_type(line: bytes) -> str:
    """The ``type`` of a line that is a JSON object, without decoding the rest; else empty."""
    try:
        _check_text(line)
        return _any_row()(line).type
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


def encode_row(row: KnownRow) -> bytes:
    """The line with its newline. A lone surrogate, which JSON cannot encode, is replaced."""
    try:
        return _encoder.encode_lines([row])  # msgspec 0.22 leaks tuples
    except UnicodeEncodeError:
        return _encoder.encode_lines([_repaired(msgspec.to_builtins(row, builtin_types=(msgspec.Raw,)))])


def _repaired(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_repaired(key): _repaired(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]  # builtins hold Any
        case list() | tuple():
            return [_repaired(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  # builtins hold Any
        case _:
            return value


def message_row(message: Message) -> MessageRow:
    return MessageRow(disk_message(message))


def compaction_row(keep_tail: int, summary: Message) -> CompactionRow:
    return CompactionRow(keep_tail, disk_message(summary))


def marked(message: Message, row: AnswerEndRow) -> Message:
    """The message before this row, with its mark; unknown ends leave it as it is."""
    return message.ended(row.how, row.why) if row.how in _ENDS else message


def messages_of(rows: Iterable[Row | None]) -> list[Message]:
    """The messages of these rows, with the marks of their ends."""
    found: list[Message] = []
    for row in rows:
        if isinstance(row, MessageRow) and (message := message_of(row.message)) is not None:
            found.append(message)
        elif isinstance(row, AnswerEndRow) and found:
            found[-1] = marked(found[-1], row)
    return found


def intent_row(call: ToolCallBlock) -> ToolIntentRow:
    return ToolIntentRow(call.id, call.name, utc_now())


def outcome_row(call_id: str, result: ToolResult, original: ToolResult | None = None) -> ToolOutcomeRow:
    before = msgspec.UNSET if original is None else _disk_result(original)
    return ToolOutcomeRow(call_id, _disk_result(result), utc_now(), before)


def _disk_result(result: ToolResult) -> DiskResult:
    content = tuple(disk_block(block) for block in result.content)
    details = result.details
    kept = (_raw(hunks_of(details)), _raw(changes_of(details)), _NONE, _raw(attached_of(details)))
    return DiskResult(content, result.is_error, *kept, _raw(decision_of(details)))


def disk_message(message: Message) -> DiskMessage:
    content = tuple([disk_block(block) for block in message.content])
    return DiskMessage(message.role, content, message.time, message.meta or None)


def disk_block(block: Block) -> DiskBlock:
    match block:
        case TextBlock():
            return DiskBlock(type="text", text=block.text)
        case ImageBlock():
            return DiskBlock(type="image", mime_type=block.mime_type, data=block.data)
        case ToolCallBlock():
            raw = _json_object(block.arguments)
            return DiskBlock(
                type="tool_call",
                id=block.id,
                name=block.name,
                arguments=msgspec.Raw(raw or b"{}"),
                arguments_text="" if raw else block.arguments,
            )
        case ToolResultBlock():
            return DiskBlock(
                type="tool_result",
                call_id=block.call_id,
                content=tuple([disk_block(inner) for inner in block.content]),
                is_error=block.is_error,
                hunks=_raw(block.hunks),
                changes=_raw(block.changes),
                refused=_raw(block.refused),
                attached=_raw(block.attached),
                decided_by=_raw(block.decided_by),
            )
        case ReasoningBlock():
            return DiskBlock(
                type="reasoning",
                reasoning_id=block.reasoning_id,
                summary=block.summary,
                encrypted_content=block.encrypted_content,
                kind=block.kind,
                provider=block.provider,
                model=block.model,
            )
        case _:
            assert_never(block)


def _raw(kept: Hunks | str | bool | dict[str, Any] | None) -> msgspec.Raw:
    return msgspec.Raw(_encoder.encode(kept)) if kept else _NONE


def _json_object(text: str) -> bytes | None:
    """The text as one line of JSON if it is an object. Outside strings a line break is white space."""
    try:
        raw = text.encode()
        msgspec.json.decode(raw, type=dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return raw.replace(b"\n", b" ").replace(b"\r", b" ")


def message_of(disk: DiskMessage) -> Message | None:
    """The message, or None without blocks. Calls without an answer are omitted."""
    content = tuple([block_of(block) for block in disk.content or () if not block.server])
    return Message(disk.role, content, _utc(disk.time), disk.meta or {}) if content else None


def _utc(time: str) -> str:
    """Another program's time may have an offset; this is rare, hence the local import."""
    if time.endswith("Z") or not time:
        return time
    from datetime import UTC, datetime

    try:
        return f"{datetime.fromisoformat(time).astimezone(UTC).isoformat(timespec='milliseconds')[:-6]}Z"
    except (ValueError, OverflowError):
        return time


def block_of(disk: DiskBlock) -> Block:
    match disk.type or _kind_by_fields(disk):
        case "text":
            return TextBlock(disk.text)
        case "tool_call":
            return ToolCallBlock(disk.id, disk.name, disk.arguments_text or _arguments(disk.arguments))
        case "tool_result":
            return result_of(disk, disk.call_id)
        case "image":
            return ImageBlock(disk.mime_type, disk.data)
        case "reasoning":
            kind = disk.kind if disk.kind in ("thinking", "redacted_thinking", "server_tool") else "reasoning"
            return ReasoningBlock(
                disk.reasoning_id, disk.summary, disk.encrypted_content, kind, disk.provider, disk.model
            )
        case _:
            return block_of(msgspec.structs.replace(disk, type=_kind_by_fields(disk)))


def _kind_by_fields(disk: DiskBlock) -> str:
    if disk.reasoning_id or disk.encrypted_content:
        return "reasoning"
    if disk.name and disk.id:
        return "tool_call"
    if disk.call_id:
        return "tool_result"
    if disk.mime_type:
        return "image"
    return "reasoning" if disk.summary and not disk.text else "text"


def _attached(raw: msgspec.Raw) -> dict[str, Any] | None:
    if not bytes(raw).startswith(b"{"):
        return None
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):  # another program's
        return None


def _arguments(raw: msgspec.Raw) -> str:
    text = bytes(raw).decode()
    return "{}" if text in ("", "null") else text


def result_of(disk: DiskResult | DiskBlock, call_id: str) -> ToolResultBlock:
    changes, decision = _text(disk.changes, LONGEST_CHANGES), _text(disk.decided_by, LONGEST_DECISION)
    kept = (_hunks(disk.hunks), changes, bytes(disk.refused) == b"true", _attached(disk.attached), decision)
    return ToolResultBlock(
        call_id,
        tuple([ImageBlock(b.mime_type, b.data) if b.mime_type else TextBlock(b.text) for b in disk.content or ()]),
        disk.is_error,
        *kept,
    )


def _hunks(raw: msgspec.Raw) -> Hunks:
    try:
        return _hunk_list()(raw) if bytes(raw) else ()
    except msgspec.DecodeError:
        return ()


def _text(raw: msgspec.Raw, longest: int) -> str:
    try:
        return msgspec.json.decode(raw, type=str)[:longest] if bytes(raw) else ""
    except msgspec.DecodeError:
        return ""
