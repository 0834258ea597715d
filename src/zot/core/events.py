"""The events of the core: one ordered stream of frozen structs, the same for every subscriber.

Most subscribers receive the *shown* events. Their order within a prompt::

    UserMessage
      TurnStart(step)
        AssistantStart
        (TextDelta | ThinkingDelta* ThinkingEnd | ToolUseStart | ToolUseArgs | ToolUseEnd)*
        UsageEvent
        AssistantMessage            absent when suppressed, empty or dropped on abort
        ToolCall*                   all calls of the message, before any tool runs
      TurnEnd(stop)
      if stop is tool_use: for each call in order: ToolProgress* ToolResultEvent
    [Error]                         not after an abort nor after a refused turn
    Done                            always, exactly once, last

A turn that failed before any content may be followed by another TurnStart with the same step, for a second model. One
that broke off in mid-answer may be followed by a UserMessage marked ``SYNTHETIC``, to make the model continue; the
next AssistantMessage then has both parts. ``RetryWait`` comes between a failed attempt and the next. ``Notice``,
``Todos``, ``JobUpdate``, ``Diagnostic`` and ``SessionFault`` may come anywhere, also while idle. A failure before the
model answered has no AssistantStart. The tags are the wire names; ``zot.wire.events`` encodes events as JSON.

*Recorded* events are for the session, which is the first subscriber: ``MessageAppended`` comes before the event that
shows the message, so everything shown is on disk. ``LifecycleEvent`` is for extensions, and front ends that ask a user.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.core.tool import ToolResult
from zot.provider.messages import (
    ENDED,
    ENDED_WHY,
    AnswerEnd,
    Message,
    QuotaWindow,
    ResultBlock,
    StopReason,
    ToolCallBlock,
    Usage,
)
from zot.provider.model_call import Noticed, Retrying

SYNTHETIC = "synthetic"  # in a user message's ``meta``: not typed by the user
REPLACES = "replaces"  # in a message's ``meta``: it replaces the unanswered prompt before it
PERMISSION_MODE = "permission_mode"  # likewise: zot informs the model about the mode
TYPED = "typed"  # likewise: the user's own words, which an extension rewrote
OF_EXTENSION = "extension"  # likewise: the extension that sent or rewrote the text
OF_ZOT = "zot"  # likewise: zot queued the prompt for the user, such as an approved plan
OF_PROMPTS = frozenset({REPLACES, TYPED, OF_EXTENSION, OF_ZOT, ENDED, ENDED_WHY})  # marks of messages that are prompts


def is_prompt(message: Message) -> bool:
    """True if the user, or zot or an extension in the user's place, asked for an answer with it."""
    return message.role == "user" and not message.meta.keys() - OF_PROMPTS


Status = Literal["completed", "failed", "blocked", "cancelled", "timed_out"]

# --- shown


class UserMessage(msgspec.Struct, frozen=True, tag="user_message"):
    message: Message


class TurnStart(msgspec.Struct, frozen=True, tag="turn_start"):
    step: int


class AssistantStart(msgspec.Struct, frozen=True, tag="assistant_start"):
    pass


class TextDelta(msgspec.Struct, frozen=True, gc=False, tag="text_delta"):
    delta: str


class ThinkingDelta(msgspec.Struct, frozen=True, gc=False, tag="thinking_delta"):
    """Thinking of the model; empty if the provider or a text interceptor hides it."""

    delta: str


class ThinkingEnd(msgspec.Struct, frozen=True, gc=False, tag="thinking_end"):
    """The model stopped thinking for now; ``seconds`` since its first thought."""

    seconds: float


class RetryWait(msgspec.Struct, frozen=True, gc=False, tag="retry_wait"):
    """An attempt failed, and ``attempt`` of ``attempts`` starts in ``wait_s`` seconds. ``reason`` is for the user."""

    attempt: int
    attempts: int
    wait_s: float
    reason: str


class ToolUseStart(msgspec.Struct, frozen=True, gc=False, tag="tool_use_start"):
    id: str
    name: str


class ToolUseArgs(msgspec.Struct, frozen=True, gc=False, tag="tool_use_args"):
    id: str
    delta: str


class ToolUseEnd(msgspec.Struct, frozen=True, gc=False, tag="tool_use_end"):
    id: str


class UsageEvent(msgspec.Struct, frozen=True, tag="usage"):
    usage: Usage
    cumulative: Usage
    auxiliary: bool = False
    quota: tuple[QuotaWindow, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant_message"):
    """The message for the user; the transcript has the original."""

    message: Message


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    call: ToolCallBlock


class TurnEnd(msgspec.Struct, frozen=True, tag="turn_end"):
    stop: StopReason
    error: str = ""


class ToolProgress(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="tool_progress"):
    """``text`` is appended to what was shown, or replaces it (``replace``). ``fraction`` is from 0 to 1, ``view`` a
    ``wire.lines.View`` in place of the output so far, ``content`` a partial result as on the wire, ``data`` only for
    observers."""

    id: str
    text: str
    replace: bool = False
    fraction: float | None = None
    view: Any = None
    content: Any = None
    data: Any = None


class ToolResultEvent(msgspec.Struct, frozen=True, tag="tool_result"):
    """``details`` is for screens and logs only; it is never sent to a model."""

    id: str
    is_error: bool
    content: tuple[ResultBlock, ...]
    details: dict[str, Any] | None = None


class CompactStart(msgspec.Struct, frozen=True, tag="compact_start"):
    """Compaction starts; ``automatic`` if not requested by the user."""

    automatic: bool = False


class CompactDone(msgspec.Struct, frozen=True, tag="compact_done"):
    summary: str
    automatic: bool = False


class JobUpdate(msgspec.Struct, frozen=True, tag="job_update"):
    """A background job ``ended``, or a pattern that the model watches for ``matched``; ``text`` describes the end, or
    is the line. May come anywhere, also while idle."""

    job: int
    command: str
    state: Literal["ended", "matched"]
    exit_code: int | None
    text: str


TodoStatus = Literal["pending", "in_progress", "done"]


class Todo(msgspec.Struct, frozen=True):
    """One step of the list that the model keeps."""

    text: str
    status: TodoStatus = "pending"


class Todos(msgspec.Struct, frozen=True, tag="todos"):
    """The model replaced its list of steps, or another session with another list began."""

    items: tuple[Todo, ...]


class Notice(msgspec.Struct, frozen=True, tag="notice"):
    """Information for the user outside the conversation (a retry, a repair)."""

    text: str
    level: Literal["info", "warn", "error"] = "info"


class Error(msgspec.Struct, frozen=True, tag="error", omit_defaults=True):
    """``code`` names the kind of failure for programs (``rate_limited``, ``step_limit``, …)."""

    message: str
    code: str = ""


class Done(msgspec.Struct, frozen=True, omit_defaults=True, tag="done"):
    """``reason`` is ``handled`` if an extension answered the prompt in the model's place."""

    reason: str = ""


class SessionFault(msgspec.Struct, frozen=True, tag="session_fault", omit_defaults=True):
    """The session cannot be saved; emitted when saving fails and, as ``lost``, if rows are missing at close."""

    message: str
    lost: bool = False


Level = Literal["info", "warning", "error"]


class Diagnostic(msgspec.Struct, frozen=True, tag="diagnostic"):
    """A problem that does not stop the run, reported by ``source``; ``of_extension`` for an extension's fault."""

    text: str
    of_extension: bool = False
    source: str = ""
    level: Level = "warning"


ShownEvent = (
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
    | UsageEvent
    | AssistantMessage
    | ToolCall
    | TurnEnd
    | ToolProgress
    | ToolResultEvent
    | CompactStart
    | CompactDone
    | JobUpdate
    | Todos
    | Notice
    | SessionFault
    | Diagnostic
    | Error
    | Done
)


def event_of_call(event: Retrying | Noticed) -> ShownEvent:
    """What subscribers see of a model call before its answer."""
    if isinstance(event, Noticed):
        return Diagnostic(event.text, source="provider")
    return RetryWait(event.attempt, event.attempts, event.wait_s, event.reason)


# --- recorded


class MessageAppended(msgspec.Struct, frozen=True, tag="message_appended"):
    """The transcript has grown by this message; one marked ``REPLACES`` replaced the last."""

    message: Message


class TranscriptCompacted(msgspec.Struct, frozen=True, tag="transcript_compacted"):
    """All but the last ``keep_tail`` messages became ``summary``."""

    keep_tail: int
    summary: Message


class UsageCounted(msgspec.Struct, frozen=True, tag="usage_counted"):
    """``model`` as ``provider/id`` if it is not the conversation's; ``role`` is what the model was chosen for."""

    usage: Usage
    cumulative: Usage
    model: str = ""
    role: str = ""


class ToolStarting(msgspec.Struct, frozen=True, tag="tool_starting"):
    """This call runs next; if zot dies now, the model reads that it was interrupted."""

    call: ToolCallBlock


class ToolReturned(msgspec.Struct, frozen=True, tag="tool_returned"):
    """``original`` is the tool's own result, if an interceptor changed it."""

    call_id: str
    result: ToolResult
    original: ToolResult | None = None


class Checkpoint(msgspec.Struct, frozen=True, tag="checkpoint"):
    """Everything so far must be durable now; after a turn with calls, as soon as one runs."""


class AnswerEnded(msgspec.Struct, frozen=True, tag="answer_ended"):
    """A prompt ended, and the last message does not show how. ``message`` replaces it: it has the mark of an answer
    that was ``cancelled`` or ``failed``."""

    how: AnswerEnd
    message: Message
    why: str = ""


class ModelChanged(msgspec.Struct, frozen=True, tag="model_changed"):
    """This model answers from the next request on."""

    provider: str
    model: str


RecordedEvent = (
    MessageAppended
    | TranscriptCompacted
    | UsageCounted
    | ToolStarting
    | ToolReturned
    | AnswerEnded
    | Checkpoint
    | ModelChanged
)

# --- lifecycle


class PromptAccepted(msgspec.Struct, frozen=True, tag="prompt_accepted"):
    """Input was accepted, before it is appended or queued; not repeated when a queued prompt runs."""

    text: str
    image_count: int = 0
    queued: bool = False


class ConfirmationRequested(msgspec.Struct, frozen=True, tag="confirmation_requested"):
    """The user is about to be asked."""

    call: ToolCallBlock
    preview: str
    origin: str = ""


class PermissionDecided(msgspec.Struct, frozen=True, tag="permission_decided"):
    """``origin`` is the extension that requested the call, empty for the model. ``by`` names who decided: a rule and
    its file, a saved answer, the mode, a hook, an extension, or ``you``."""

    call: ToolCallBlock
    decision: Literal["approved", "denied", "cancelled"]
    source: Literal["user", "remembered", "policy", "yolo"]
    reason: str = ""
    origin: str = ""
    by: str = ""


class ToolEnded(msgspec.Struct, frozen=True, tag="tool_ended"):
    """``call`` has the final arguments; ``executed``: the tool's code was started, and ran for ``seconds``."""

    call: ToolCallBlock
    status: Status
    executed: bool
    result: ToolResult
    origin: str = ""
    seconds: float = 0.0


class PromptStarted(msgspec.Struct, frozen=True, tag="prompt_started"):
    """A prompt begins its first step. ``source`` is person, rpc, sdk or extension."""

    prompt_id: str
    text: str
    image_count: int
    source: str


class PromptEnded(msgspec.Struct, frozen=True, tag="prompt_ended"):
    """Its last step has ended with this stop reason."""

    prompt_id: str
    status: str
    steps: int
    usage: Usage


class Idle(msgspec.Struct, frozen=True, tag="idle"):
    """No step, retry, compaction or queued prompt is left."""


class ToolRunning(msgspec.Struct, frozen=True, tag="tool_running"):
    """A tool starts with these final arguments."""

    call: ToolCallBlock
    origin: str = ""


ModelSource = Literal["person", "extension", "fallback", "resume"]


class ModelSelected(msgspec.Struct, frozen=True, tag="model_selected"):
    """The user, an extension, the fallback or a resumed session selected model or reasoning level."""

    provider: str
    model: str
    reasoning: str
    previous: str
    source: ModelSource = "person"
    extension: str = ""


class ToolsChanged(msgspec.Struct, frozen=True, tag="tools_changed"):
    active: tuple[str, ...]


class QueueChanged(msgspec.Struct, frozen=True, tag="queue_changed"):
    steering: int
    queued: int


class SessionRenamed(msgspec.Struct, frozen=True, tag="session_renamed"):
    """A name or label changed."""

    session_id: str
    name: str = ""
    entry_id: str = ""
    label: str = ""


class EntryAdded(msgspec.Struct, frozen=True, tag="entry_added"):
    """An extension added something that users see and the model may not: ``view`` as the extension sent it (a View of
    its protocol), or None; then front ends show one folded row with ``text``."""

    entry_id: str
    extension: str
    kind: str
    view: Any = None
    text: str = ""


class CompactionStarted(msgspec.Struct, frozen=True, tag="compaction_started"):
    id: str
    message_count: int
    token_estimate: int


class CompactionEnded(msgspec.Struct, frozen=True, tag="compaction_ended"):
    """Every started compaction ends with exactly one of these."""

    started: CompactionStarted
    status: Status
    error: str = ""


class SessionStarted(msgspec.Struct, frozen=True, tag="session_started"):
    """A conversation became the active one. ``reason`` is why: start, new, resume, fork, rewind or clear."""

    session_id: str
    reason: str = "start"
    previous: str = ""
    name: str = ""


class SessionEnded(msgspec.Struct, frozen=True, tag="session_ended"):
    """The conversation that was active is over. ``action`` is new, resume, fork, rewind, clear or exit."""

    session_id: str
    reason: Literal["shutdown", "session_switch"]
    action: str = ""


LifecycleEvent = (
    PromptAccepted
    | PromptStarted
    | PromptEnded
    | Idle
    | ToolRunning
    | ModelSelected
    | ToolsChanged
    | QueueChanged
    | SessionRenamed
    | EntryAdded
    | ConfirmationRequested
    | PermissionDecided
    | ToolEnded
    | CompactionStarted
    | CompactionEnded
    | SessionStarted
    | SessionEnded
)

AgentEvent = ShownEvent | RecordedEvent | LifecycleEvent

SHOWN: tuple[type[AgentEvent], ...] = ShownEvent.__args__
RECORDED: tuple[type[AgentEvent], ...] = RecordedEvent.__args__
LIFECYCLE: tuple[type[AgentEvent], ...] = LifecycleEvent.__args__
