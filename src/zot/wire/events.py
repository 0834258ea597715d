"""Agent events as wire structs, for ``--json``, ``zot rpc`` and the SDK.

``of`` converts a core event to its struct, ``encode`` to its line: compact JSON, ``type`` first. Images are sent as a
byte count, reasoning blocks are omitted, and a natural end is ``end_turn``. The structs are part of the RPC wire;
they are a separate module so that ``zot --json`` does not load the commands of ``rpc_frames``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.core import events as ev
from zot.core.tool import attached_of, decided_by
from zot.provider.messages import (
    Block,
    ImageBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from zot.provider.messages import Message as CoreMessage
from zot.provider.messages import Usage as CoreUsage

# --- objects inside events -------------------------------------------------------------------------------------


class UsageTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and cost. ``reasoning`` is null if the provider does not report it."""

    input: int
    output: int
    reasoning: int | None
    cache_read: int
    cache_write: int
    cost_usd: float


class Quota(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the provider says is left of a plan (``plan``) or of a rate limit. ``resets_at`` is RFC 3339; absent if the
    answer has none."""

    name: str
    remaining_percent: float
    resets_at: str = ""
    plan: bool = False


class JailState(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of commands and file tools. ``read`` and ``write`` are readable and writable paths besides the
    system's, ``write`` includes the project; ``approve`` is ``outside`` if the user can be asked about other paths."""

    level: Literal["full", "reduced"]
    network: bool
    read: tuple[str, ...]
    write: tuple[str, ...]
    approve: Literal["", "outside"] = ""


class TextContent(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """A text block."""

    text: str


class ImageContent(msgspec.Struct, frozen=True, kw_only=True, tag="image"):
    """An image by its size; the data is never sent."""

    mime_type: str
    bytes: int


class ToolCallContent(msgspec.Struct, frozen=True, kw_only=True, tag="tool_call"):
    """A tool call of the model."""

    id: str
    name: str
    args: Any


class ToolResultContent(msgspec.Struct, frozen=True, kw_only=True, tag="tool_result"):
    """The result of a tool call."""

    call_id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the model's list."""

    text: str
    status: Literal["pending", "in_progress", "done"]


Content = TextContent | ImageContent | ToolCallContent | ToolResultContent


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the transcript."""

    role: Literal["user", "assistant", "tool"]
    content: tuple[Content, ...]
    time: str


# --- events ----------------------------------------------------------------------------------------------------


class UserMessage(msgspec.Struct, frozen=True, kw_only=True, tag="user_message"):
    """A prompt was added to the transcript."""

    content: tuple[Content, ...]
    time: str


class TurnStart(msgspec.Struct, frozen=True, kw_only=True, tag="turn_start"):
    """A model call starts."""

    step: int


class AssistantStart(msgspec.Struct, frozen=True, kw_only=True, tag="assistant_start"):
    """The model starts to answer."""


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="text_delta"):
    """A piece of the answer. ``merged`` counts the pieces that were joined because the client reads too slowly."""

    delta: str
    merged: int = 0


class ThinkingDelta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="thinking_delta"):
    """A piece of the model's thinking; empty if the text is withheld. ``merged`` as in ``text_delta``."""

    delta: str
    merged: int = 0


class ThinkingEnd(msgspec.Struct, frozen=True, kw_only=True, tag="thinking_end"):
    """The model stopped thinking, ``seconds`` after its first thought."""

    seconds: float


class RetryWait(msgspec.Struct, frozen=True, kw_only=True, tag="retry_wait"):
    """A model call failed for ``reason``; attempt ``attempt`` of ``attempts`` starts in ``wait_s`` seconds."""

    attempt: int
    attempts: int
    wait_s: float
    reason: str


class ToolUseStart(msgspec.Struct, frozen=True, kw_only=True, tag="tool_use_start"):
    """The model starts to write a tool call."""

    id: str
    name: str


class ToolUseArgs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="tool_use_args"):
    """A piece of the call's arguments, as JSON text. ``merged`` as in ``text_delta``."""

    id: str
    delta: str
    merged: int = 0


class ToolUseEnd(msgspec.Struct, frozen=True, kw_only=True, tag="tool_use_end"):
    """The call's arguments are complete."""

    id: str


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="usage"):
    """The usage of one model call, and the total so far."""

    input: int
    output: int
    reasoning: int | None
    cache_read: int
    cache_write: int
    cost_usd: float
    cumulative: UsageTotals
    auxiliary: bool = False
    quota: tuple[Quota, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True, tag="assistant_message"):
    """The complete answer, as shown to the user."""

    content: tuple[Content, ...]
    time: str


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, tag="tool_call"):
    """The model called a tool, which has not run yet. ``args`` is null if the arguments were empty or invalid."""

    id: str
    name: str
    args: Any


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn_end"):
    """The model call ended. After ``tool_use`` the tools run, then the next turn starts."""

    stop: Literal["end_turn", "tool_use", "length", "error", "aborted"]
    error: str = ""


class ToolProgress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="tool_progress"):
    """Output of a running tool. ``merged`` as in ``text_delta``; ``dropped`` counts characters omitted before it.
    With ``replace`` the text replaces what came before; ``fraction`` (0 to 1), ``view`` and ``content`` (a partial
    result) come from tools of extensions."""

    id: str
    text: str
    merged: int = 0
    dropped: int = 0
    replace: bool = False
    fraction: float | None = None
    view: Any = None
    content: Any = None


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, tag="tool_result"):
    """A tool finished, failed or was denied. ``view`` is how an extension wants its result shown. ``decided_by`` names
    who allowed or denied the call: a rule and its file, a saved answer, a mode, a hook, an extension, or ``you``;
    absent in mode everything."""

    id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]
    view: Any = msgspec.UNSET
    decided_by: str | msgspec.UnsetType = msgspec.UNSET


class CompactDone(msgspec.Struct, frozen=True, kw_only=True, tag="compact_done"):
    """A compaction succeeded. ``compact_done`` is its last event; no ``done`` follows."""

    summary: str


class JobUpdate(msgspec.Struct, frozen=True, kw_only=True, tag="job_update"):
    """A background job ``ended``, or a pattern that the model watches for ``matched``. ``text`` describes the end, or
    is the line. Can arrive at any time, also while idle."""

    job: int
    command: str
    state: Literal["ended", "matched"]
    exit_code: int | None
    text: str


class Todos(msgspec.Struct, frozen=True, kw_only=True, tag="todos"):
    """The model's list of steps, complete; sent when it changes and when a session with another list begins."""

    items: tuple[Todo, ...]


class SessionFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_fault"):
    """The session cannot be saved; the conversation continues. With ``lost`` the run ended and records are missing."""

    message: str
    lost: bool = False


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, tag="diagnostic"):
    """A configuration problem, or a part of zot failed; the run continues. Can arrive at any time, also while idle."""

    source: str
    level: Literal["info", "warning", "error"]
    message: str


class Error(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="error"):
    """A prompt or compaction failed; ``done`` follows. Not sent after an abort."""

    message: str
    code: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="done"):
    """The prompt ended, successfully or not; also the last event of a failed or aborted compaction. A successful one
    ends with ``compact_done``. ``reason`` is ``handled`` if an extension answered in the model's place."""

    reason: str = ""


WireEvent = (
    UserMessage
    | TurnStart
    | AssistantStart
    | TextDelta
    | ThinkingDelta
    | ThinkingEnd
    | RetryWait
    | ToolUseStart
    | ToolUseArgs
    | ToolUseEnd
    | Usage
    | AssistantMessage
    | ToolCall
    | TurnEnd
    | ToolProgress
    | ToolResult
    | CompactDone
    | JobUpdate
    | Todos
    | SessionFault
    | Diagnostic
    | Error
    | Done
)


# --- from the core to the wire ---------------------------------------------------------------------------------

_encode = msgspec.json.Encoder().encode

# These have the wire's fields and are encoded directly: the hot path of a streaming answer.
_SAME: dict[type[ev.AgentEvent], type[WireEvent]] = {
    ev.TextDelta: TextDelta,
    ev.ThinkingDelta: ThinkingDelta,
    ev.ThinkingEnd: ThinkingEnd,
    ev.RetryWait: RetryWait,
    ev.ToolUseArgs: ToolUseArgs,
    ev.ToolProgress: ToolProgress,
    ev.TurnStart: TurnStart,
    ev.AssistantStart: AssistantStart,
    ev.ToolUseStart: ToolUseStart,
    ev.ToolUseEnd: ToolUseEnd,
    ev.JobUpdate: JobUpdate,
    ev.Todos: Todos,
    ev.SessionFault: SessionFault,
    ev.Error: Error,
    ev.Done: Done,
}


def encode(event: ev.AgentEvent) -> bytes | None:
    """The event as one line without its newline; None for events that are not on the wire (notices)."""
    if type(event) in _SAME:
        if isinstance(event, ev.ToolProgress) and event.data is not None:  # only for observers
            event = msgspec.structs.replace(event, data=None)
        return _encode(event)
    frame = _reshaped(event)
    return None if frame is None else _encode(frame)


def of(event: ev.AgentEvent) -> WireEvent | None:
    """The event as a wire struct; None if it is not on the wire."""
    if isinstance(event, ev.TextDelta):  # most of a streaming answer
        return TextDelta(delta=event.delta)
    same = _SAME.get(type(event))
    return _reshaped(event) if same is None else msgspec.convert(event, same, from_attributes=True)


def _reshaped(event: ev.AgentEvent) -> WireEvent | None:
    match event:
        case ev.UserMessage(message):
            return UserMessage(content=_contents(message.content), time=message.time)
        case ev.AssistantMessage(message):
            return AssistantMessage(content=_contents(message.content), time=message.time)
        case ev.ToolCall(call):
            return ToolCall(id=call.id, name=call.name, args=_own(call.value))
        case ev.ToolResultEvent(id, is_error, content, details):
            view = (attached_of(details) or {}).get("view", msgspec.UNSET)
            by = decided_by(details) or msgspec.UNSET
            made = tuple(map(_result, content))
            return ToolResult(id=id, is_error=is_error, content=made, view=view, decided_by=by)
        case ev.UsageEvent(usage, cumulative, auxiliary, quota):
            sums = msgspec.structs.asdict(totals_of(usage))
            left = tuple(Quota(**msgspec.structs.asdict(window)) for window in quota)
            return Usage(**sums, cumulative=totals_of(cumulative), auxiliary=auxiliary, quota=left)
        case ev.Diagnostic(text, of_extension, source, level):
            message = text.encode("utf-8", "replace").decode()  # paths may not be UTF-8
            return Diagnostic(source=source or ("extensions" if of_extension else "zot"), level=level, message=message)
        case ev.TurnEnd(stop, error):
            return TurnEnd(stop="end_turn" if stop == "end" else stop, error=error)
        case ev.CompactDone(summary, automatic):
            return None if automatic else CompactDone(summary=summary)
        case _:
            return None


def message_of(message: CoreMessage) -> Message:
    """A message of the transcript."""
    return Message(role=message.role, content=_contents(message.content), time=message.time)


def todos_of(todos: tuple[ev.Todo, ...]) -> tuple[Todo, ...]:
    return tuple(Todo(text=todo.text, status=todo.status) for todo in todos)


def totals_of(usage: CoreUsage) -> UsageTotals:
    return UsageTotals(
        input=usage.input_tokens,
        output=usage.output_tokens,
        reasoning=usage.reasoning_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
        cost_usd=usage.cost_usd,
    )


def message_text(message: Message | UserMessage | AssistantMessage) -> str:
    """The text blocks joined by newlines; empty if there is none."""
    return "\n".join(block.text for block in message.content if isinstance(block, TextContent))


def _contents(blocks: tuple[Block, ...]) -> tuple[Content, ...]:
    return tuple(_content(block) for block in blocks if not isinstance(block, ReasoningBlock))


def _content(block: TextBlock | ImageBlock | ToolCallBlock | ToolResultBlock) -> Content:
    match block:
        case ToolCallBlock(id, name):
            return ToolCallContent(id=id, name=name, args=_own(block.value))
        case ToolResultBlock(call_id, content, is_error):
            return ToolResultContent(call_id=call_id, is_error=is_error, content=tuple(map(_result, content)))
        case _:
            return _result(block)


def _own(args: Any) -> Any:
    """A copy: programs may change it while the tool gets the original."""
    return msgspec.to_builtins(args)


def _result(block: ResultBlock) -> TextContent | ImageContent:
    if isinstance(block, TextBlock):
        return TextContent(text=block.text)
    return ImageContent(mime_type=block.mime_type, bytes=len(block.data))
