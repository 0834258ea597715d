"""The RPC wire, protocol version 1: every command, response and event as a struct.

``docs/schema/rpc.json``, the reference page and the client libraries' types are generated from it. The agent's events
are in ``wire.events``, shared with ``--json``. On the wire ``type`` comes first, ``id`` second, then the keys in the
order written here. Names are permanent, new fields have defaults, and readers ignore unknown fields.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zot.wire.events import AssistantMessage as AssistantMessage
from zot.wire.events import AssistantStart as AssistantStart
from zot.wire.events import CompactDone as CompactDone
from zot.wire.events import Content as Content
from zot.wire.events import Diagnostic as Diagnostic
from zot.wire.events import Done as Done
from zot.wire.events import Error as Error
from zot.wire.events import ImageContent as ImageContent
from zot.wire.events import JailState as JailState
from zot.wire.events import JobUpdate as JobUpdate
from zot.wire.events import Message as Message
from zot.wire.events import Quota as Quota
from zot.wire.events import RetryWait as RetryWait
from zot.wire.events import SessionFault as SessionFault
from zot.wire.events import TextContent as TextContent
from zot.wire.events import TextDelta as TextDelta
from zot.wire.events import ThinkingDelta as ThinkingDelta
from zot.wire.events import ThinkingEnd as ThinkingEnd
from zot.wire.events import Todo as Todo
from zot.wire.events import Todos as Todos
from zot.wire.events import ToolCall as ToolCall
from zot.wire.events import ToolCallContent as ToolCallContent
from zot.wire.events import ToolProgress as ToolProgress
from zot.wire.events import ToolResult as ToolResult
from zot.wire.events import ToolResultContent as ToolResultContent
from zot.wire.events import ToolUseArgs as ToolUseArgs
from zot.wire.events import ToolUseEnd as ToolUseEnd
from zot.wire.events import ToolUseStart as ToolUseStart
from zot.wire.events import TurnEnd as TurnEnd
from zot.wire.events import TurnStart as TurnStart
from zot.wire.events import Usage as Usage
from zot.wire.events import UsageTotals as UsageTotals
from zot.wire.events import UserMessage as UserMessage
from zot.wire.events import WireEvent as WireEvent
from zot.wire.ops import Abort as Abort
from zot.wire.ops import Clear as Clear
from zot.wire.ops import Compact as Compact
from zot.wire.ops import GetChanges as GetChanges
from zot.wire.ops import GetMcpServers as GetMcpServers
from zot.wire.ops import GetMessages as GetMessages
from zot.wire.ops import GetModels as GetModels
from zot.wire.ops import GetState as GetState
from zot.wire.ops import Image as Image
from zot.wire.ops import Op as Command
from zot.wire.ops import Prompt as Prompt
from zot.wire.ops import Rewind as Rewind
from zot.wire.ops import SetModel as SetModel
from zot.wire.ops import SetPermissionMode as SetPermissionMode
from zot.wire.ops import SetReasoning as SetReasoning
from zot.wire.ops import Steer as Steer

PROTOCOL_VERSION = 1
MAX_LINE = 16 * 1024 * 1024  # of a command, without its line end
CAPABILITIES = (
    *("approvals", "call_hash", "commands", "dialogs", "elicitation", "panels", "permits", "plans", "questions"),
    *("queue", "sessions", "surfaces"),
)
REASONING = ("off", "minimum", "low", "medium", "high", "xhigh", "max")


# --- client -> zot ---------------------------------------------------------------------------------------------


class Hello(Command, frozen=True, kw_only=True, tag="hello"):
    """Get the versions, provider and model, and announce capabilities. If zot was started with a token, this must be
    the first line and contain it."""

    token: str = ""
    capabilities: tuple[str, ...] = ()


class Ping(Command, frozen=True, kw_only=True, tag="ping"):
    """Check that zot responds. Answered at once, even before zot is fully loaded."""


class Approve(Command, frozen=True, kw_only=True, tag="approve"):
    """Answer an ``approval_request``. Requires the capability ``approvals``. A request with ``outside`` accepts
    ``once``, ``session``, ``never`` and ``deny``; others accept ``once``, ``prefix``, ``tool``, ``all`` and
    ``deny``. ``call_hash`` is that of the request that the user saw; a different one is refused."""

    request_id: str
    decision: Literal["once", "prefix", "tool", "all", "deny", "session", "never"]
    reason: str = ""
    call_hash: str = ""


class AnswerElicitation(Command, frozen=True, kw_only=True, tag="answer_elicitation"):
    """Answer an ``elicitation_request``. Requires the capability ``elicitation``. ``accept`` sends the values of the
    fields, ``decline`` refuses, ``cancel`` dismisses the question without a choice."""

    request_id: str
    action: Literal["accept", "decline", "cancel"]
    content: Any = None


class AnswerQuestions(Command, frozen=True, kw_only=True, tag="answer_questions"):
    """Answer a ``question_request``. Requires the capability ``questions``. ``answers`` has one list of texts for each
    question: labels of its options or the user's own words, empty for none. ``declined``: the user answers none of
    them; ``comment`` may say why."""

    request_id: str
    answers: tuple[tuple[str, ...], ...] = ()
    declined: bool = False
    comment: str = ""


class AnswerPlan(Command, frozen=True, kw_only=True, tag="answer_plan"):
    """Answer a ``plan_request``. Requires the capability ``plans``. ``approve`` switches to ``mode``, one of the
    offered ``modes``, by default the offered ``mode``; ``fresh`` starts a new session with the plan; ``plan`` is the
    text as the user edited it, empty if unchanged. ``refuse`` sends ``comment`` to the model; without one the prompt
    ends."""

    request_id: str
    decision: Literal["approve", "refuse"]
    mode: str = ""
    fresh: bool = False
    plan: str = ""
    comment: str = ""


class AnswerDialog(Command, frozen=True, kw_only=True, tag="answer_dialog"):
    """Answer an ``ext_dialog`` with a value that fits its kind, or ``cancelled``. Requires the capability ``dialogs``.
    An unknown request fails with ``not_found``; a value that does not fit with ``bad_params``, and the dialog stays
    open."""

    request_id: str
    value: Any = None
    cancelled: bool = False


class ExtComplete(Command, frozen=True, kw_only=True, tag="ext_complete"):
    """Ask extensions to complete: the arguments of a ``command``, or the word after a ``trigger`` character. ``text``
    is the text to complete, ``cursor`` the cursor in it, ``before`` the line before it."""

    command: str = ""
    trigger: str = ""
    text: str = ""
    cursor: int = 0
    before: str = ""


class Permit(Command, frozen=True, kw_only=True, tag="permit"):
    """Answer a ``permit_request``. Requires the capability ``permits``. ``refuse`` ends the turn with ``reason`` as its
    error. ``usd`` limits the output, so that the call costs at most that; 0 is no limit."""

    request_id: str
    decision: Literal["go", "refuse"]
    reason: str = ""
    usd: float = 0.0


class GetCommands(Command, frozen=True, kw_only=True, tag="get_commands"):
    """List the commands of extensions and the prompt templates. Requires the capability ``commands``."""


class RunCommand(Command, frozen=True, kw_only=True, tag="run_command"):
    """Run an extension's command or submit a prompt template. The response arrives when the extension has answered.
    Requires the capability ``commands``."""

    name: str
    args: str = ""


class PanelKey(Command, frozen=True, kw_only=True, tag="panel_key"):
    """Send a key press to an extension's panel. Requires the capability ``panels``."""

    extension: str
    panel_id: str
    key: str
    text: str = ""


class PanelClose(Command, frozen=True, kw_only=True, tag="panel_close"):
    """Report that the user closed a panel. Requires the capability ``panels``."""

    extension: str
    panel_id: str


class GetQueue(Command, frozen=True, kw_only=True, tag="get_queue"):
    """List messages that join the running prompt, and prompts that wait for it."""


class Unqueue(Command, frozen=True, kw_only=True, tag="unqueue"):
    """Remove a waiting prompt and get its text; the command that sent it fails. ``index`` is that of ``get_queue``."""

    index: int


class FindFiles(Command, frozen=True, kw_only=True, tag="find_files"):
    """Find files and directories to mention with ``@``, the best first. ``src/`` lists a directory, ``/``, ``~/`` and
    ``../`` begin outside paths; files that git ignores are left out."""

    query: str = ""
    limit: int = 50


class GetImage(Command, frozen=True, kw_only=True, tag="get_image"):
    """Get an image of the transcript, of which messages and events have the size only. ``tool_id`` is the call whose
    result has it; without one, ``message`` is the place in ``get_messages``, from 0."""

    tool_id: str = ""
    message: int = 0
    index: int = 0


class WatchFrames(Command, frozen=True, kw_only=True, tag="watch_frames"):
    """Begin or end to send every frame of extensions as ``ext_frame``."""

    on: bool = True


AnyCommand = (
    Hello
    | Prompt
    | Steer
    | Abort
    | Compact
    | GetState
    | GetMessages
    | GetChanges
    | Rewind
    | Clear
    | SetModel
    | SetReasoning
    | SetPermissionMode
    | GetModels
    | GetMcpServers
    | Ping
    | Approve
    | AnswerElicitation
    | AnswerDialog
    | AnswerQuestions
    | AnswerPlan
    | Permit
    | GetCommands
    | RunCommand
    | ExtComplete
    | PanelKey
    | PanelClose
    | GetQueue
    | Unqueue
    | FindFiles
    | GetImage
    | WatchFrames
)


# --- objects inside responses and events -----------------------------------------------------------------------


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A model."""

    id: str
    provider: str
    context_window: int
    max_output: int
    reasoning: bool


class CommandInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command of an extension, or a prompt template, whose ``extension`` is empty."""

    name: str
    description: str
    extension: str
    arguments: str = ""


class McpServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An MCP server. ``shown`` is its command or address, ``tokens`` the approximate cost of its tool definitions in a
    request, and ``known`` is false until the server has listed its tools once."""

    name: str
    origin: str
    state: Literal["off", "starting", "ready", "needs login", "failed", "not trusted"]
    shown: str
    tools: int = 0
    tokens: int = 0
    known: bool = False
    error: str = ""
    log: str = ""
    about: str = ""
    version: str = ""


class PromptChanges(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the session, with the number of files and lines it changed."""

    prompt: int
    text: str
    files: int
    added: int
    removed: int


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A changed file. ``diff`` is in unified format without the file header; if there is no diff, ``note`` says why."""

    path: str
    change: Literal["created", "changed", "deleted"]
    added: int = 0
    removed: int = 0
    diff: str = ""
    note: str = ""


class RewoundFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result for one file. ``conflict``: something else changed it, so it was not touched; ``lost``: its earlier
    content is unknown; ``failed``: it could not be changed. ``reason`` explains these three."""

    path: str
    outcome: Literal["restored", "removed", "recreated", "overwritten", "conflict", "lost", "failed"]
    reason: str = ""


# --- zot -> client: responses ----------------------------------------------------------------------------------


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="response"):
    """The answer to a command. ``data`` depends on the command; ``error`` is present if and only if the command
    failed."""

    id: str = ""
    command: str
    success: bool
    data: Any = msgspec.UNSET
    error: str = ""


class HelloData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``hello``. ``capabilities`` are the accepted ones; absent if the client announced none."""

    protocol_version: int
    version: str
    provider: str
    model: str
    capabilities: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``prompt`` and ``compact``: the work has started and events follow."""

    started: bool = True


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_state``. The fields after ``todos`` are for clients that announced ``sessions``:
    ``context_tokens`` is the size of the last request (0: unknown), ``title`` that of the session or its first words,
    ``permission_limit`` the widest mode that can be set."""

    provider: str
    model: str
    cwd: str
    message_count: int
    busy: bool
    usage: UsageTotals
    permission_mode: str = ""
    jail: JailState | None = None
    todos: tuple[Todo, ...] = ()
    context_tokens: int | msgspec.UnsetType = msgspec.UNSET
    context_window: int | msgspec.UnsetType = msgspec.UNSET
    reasoning: str | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType = msgspec.UNSET
    session_id: str | msgspec.UnsetType = msgspec.UNSET
    permission_limit: str | msgspec.UnsetType = msgspec.UNSET


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_messages``."""

    messages: tuple[Message, ...]


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_changes``: all prompts, the changed files, and reasons why the list may be incomplete."""

    prompts: tuple[PromptChanges, ...]
    files: tuple[ChangedFile, ...]
    unknown: tuple[str, ...] = ()


class Rewound(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``rewind``: the files, reasons why the list may be incomplete, and the text of the prompt that was
    undone."""

    files: tuple[RewoundFile, ...]
    unknown: tuple[str, ...] = ()
    text: str = ""


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_models``."""

    models: tuple[ModelInfo, ...]


class McpServers(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_mcp_servers``."""

    servers: tuple[McpServer, ...]


class ModelSet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``set_model``; ``provider`` if the command named one."""

    model: str
    provider: str = ""


class ReasoningSet(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``set_reasoning``."""

    reasoning: str


class PermissionModeSet(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``set_permission_mode``."""

    permission_mode: str


class Pong(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``ping``."""

    pong: bool = True


class Steered(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``steer``. ``steered``: it joins the running prompt; otherwise it is a prompt of its own, and waits."""

    steered: bool


class SteeringMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that joins the running prompt; ``images`` is their number, ``text`` its first 2,000 characters."""

    text: str
    images: int


class QueuedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting prompt; ``index`` stays the same while it waits."""

    index: int
    text: str
    images: int


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_queue``."""

    steering: tuple[SteeringMessage, ...]
    queued: tuple[QueuedPrompt, ...]


class Unqueued(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``unqueue``: the whole text."""

    text: str


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    """A path, as it is mentioned; a directory ends with a slash."""

    path: str
    kind: Literal["file", "directory"]


class FoundFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``find_files``."""

    files: tuple[FoundFile, ...]


class ImageData(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_image``."""

    mime_type: str
    data: bytes


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_commands``."""

    commands: tuple[CommandInfo, ...]


class CompletionItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An offer of an extension: ``value`` replaces ``replace`` characters before the cursor, without it the arguments,
    or the trigger and its word. ``label`` is a Line."""

    value: str
    label: Any = None
    description: str = ""
    replace: int = 0
    extension: str = ""


class Completions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``ext_complete``; ``more``: there are further items."""

    items: tuple[CompletionItem, ...]
    more: bool = False


class CommandRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``run_command``. For ``prompt`` and ``tool_prompt`` the response arrives when the prompt starts."""

    action: Literal["prompt", "insert", "display", "open_panel", "tool_prompt", "noop"]
    insert: str = ""
    started: bool = False


# --- zot -> client: events besides the agent's ------------------------------------------------------------------


class ExtNotify(msgspec.Struct, frozen=True, kw_only=True, tag="ext_notify"):
    """A notification of an extension."""

    extension: str
    level: str
    message: str


class ExtDisplay(msgspec.Struct, frozen=True, kw_only=True, tag="ext_display"):
    """Text to display, from an extension's command."""

    extension: str
    text: str


class ExtClearNotes(msgspec.Struct, frozen=True, kw_only=True, tag="ext_clear_notes"):
    """Remove all notifications of this extension."""

    extension: str


class ExtPanel(msgspec.Struct, frozen=True, kw_only=True, tag="ext_panel"):
    """An extension opened or redrew a panel. The content is complete and replaces the previous one. Extensions of the
    second edition may send ``rows`` (Lines) instead of ``lines``, and say where the panel stands, where the cursor is
    and which keys it wants."""

    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str
    rows: Any = msgspec.UNSET
    place: Any = msgspec.UNSET
    cursor: Any = msgspec.UNSET
    keys: str | msgspec.UnsetType = msgspec.UNSET


class ExtPanelClose(msgspec.Struct, frozen=True, kw_only=True, tag="ext_panel_close"):
    """The extension closed its panel."""

    extension: str
    panel_id: str


class ExtSurface(msgspec.Struct, frozen=True, kw_only=True, tag="ext_surface"):
    """An extension drew or replaced something beside the conversation: a status item, a widget, a header, a footer, a
    title, the row of work, a border or a decoration of the editor. Without ``value`` it was withdrawn. ``stale``: its
    process ended and may renew it."""

    extension: str
    kind: str
    name: str
    value: Any = msgspec.UNSET
    stale: bool | msgspec.UnsetType = msgspec.UNSET


class DialogOption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An option of a dialog; ``label`` is a Line."""

    value: str
    label: Any = None
    description: str = ""
    group: str = ""
    disabled: bool = False


class DialogField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a form."""

    name: str
    kind: Literal["text", "number", "integer", "yes", "choice", "choices", "path"] = "text"
    title: str = ""
    description: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    pattern: str = ""


class ExtDialog(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="ext_dialog"):
    """An extension asks the user; it waits for ``answer_dialog``. The value is a boolean for ``confirm`` and ``url``, a
    string for ``select``, ``input`` and ``editor``, a list of strings for ``choose``, an object by field name for
    ``form``. ``message`` are Lines. After ``timeout_s`` zot closes it."""

    request_id: str
    extension: str
    kind: Literal["confirm", "select", "choose", "input", "editor", "form", "url"]
    title: str
    message: Any = None
    options: tuple[DialogOption, ...] = ()
    default: Any = None
    placeholder: str = ""
    text: str = ""
    fields: tuple[DialogField, ...] = ()
    url: str = ""
    timeout_s: int = 0
    yes: str = ""
    no: str = ""


class ExtDialogClose(msgspec.Struct, frozen=True, kw_only=True, tag="ext_dialog_close"):
    """A dialog is over: answered, cancelled by the extension or too late."""

    request_id: str


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """Access that a jailed call requested outside its jail. Approval allows exactly ``path``, or the whole network,
    whatever ``host`` is named. ``missing``: the path does not exist yet and would be created."""

    access: Literal["read", "write", "network"]
    path: str = ""
    kind: Literal["file", "directory"] = "file"
    missing: bool = False
    host: str = ""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="approval_request"):
    """A tool call needs approval; the agent waits for ``approve``. ``args`` are the arguments it will run with.
    ``prefix`` is the command prefix that the decision ``prefix`` allows from now on; for several joined commands
    ``prefixes`` has one for each. With ``outside`` (only if zot was
    started with ``--ask-outside``) the call failed in its jail; approval runs it again with this access. With
    ``reason`` a hook or a rule requires approval: every approval applies to this call only. ``call_hash`` (with the
    capability ``call_hash``) is the SHA-256 of the JSON of ``[name, args, outside]``, keys sorted, without spaces."""

    request_id: str
    tool_id: str
    name: str
    args: Any
    preview: str
    prefix: str = ""
    outside: tuple[Outside, ...] = ()
    reason: str = ""
    prefixes: tuple[str, ...] = ()
    call_hash: str = ""


class ElicitationField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a form. ``choices`` are the allowed values, ``labels`` the texts to show for them."""

    name: str
    kind: Literal["text", "number", "integer", "yes", "choice", "choices"]
    title: str = ""
    description: str = ""
    required: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


class ElicitationRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="elicitation_request"):
    """An MCP server asks the user a question during a call, which waits for ``answer_elicitation``: to fill in
    ``fields``, or to open ``url`` in a browser."""

    request_id: str
    server: str
    message: str
    url: str = ""
    fields: tuple[ElicitationField, ...] = ()


class QuestionOption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer that a question offers."""

    label: str
    description: str = ""


class UserQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question of the model. Without ``options`` it asks for text; ``multiple`` allows several options. The user may
    always answer in other words."""

    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False


class QuestionRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="question_request"):
    """The model asks the user; its call waits for ``answer_questions``."""

    request_id: str
    tool_id: str
    questions: tuple[UserQuestion, ...]


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="plan_request"):
    """In plan mode the model presents a plan (Markdown); its call waits for ``answer_plan``. ``path`` is the saved
    file, ``modes`` are the permission modes that may follow, ``mode`` the default one."""

    request_id: str
    tool_id: str
    plan: str
    modes: tuple[str, ...]
    mode: str
    path: str = ""


class RequestClosed(msgspec.Struct, frozen=True, kw_only=True, tag="request_closed"):
    """A ``question_request`` or ``plan_request`` is over: answered, aborted or too late."""

    request_id: str


class McpState(msgspec.Struct, frozen=True, kw_only=True, tag="mcp_state"):
    """An MCP server started, stopped, failed or listed its tools; ``server`` is its entry in ``get_mcp_servers``."""

    server: McpServer


class PermitRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="permit_request"):
    """A model call, or a retry of one, needs a permit; the agent waits for ``permit``. Sent only to a client that
    announced ``permits``. ``usd`` is the estimated cost of its input; ``least_usd``, ``usual_usd`` and ``most_usd`` are
    estimates with a short answer, one of usual length and the longest one. ``unpriced``: the price of the model is
    unknown, so a cost limit cannot be enforced."""

    request_id: str
    provider: str
    model: str
    usd: float = 0.0
    unpriced: bool = False
    least_usd: float = 0.0
    usual_usd: float = 0.0
    most_usd: float = 0.0


class PermitSettled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="permit_settled"):
    """The result of a permitted call. ``rate_limited``: the provider rejected it; ``pause_s`` is the pause it requires,
    absent if it named none."""

    request_id: str
    usd: float = 0.0
    outcome: Literal["ok", "failed", "rate_limited"] = "ok"
    pause_s: float = 0.0


class QueueChanged(msgspec.Struct, frozen=True, kw_only=True, tag="queue_changed"):
    """The lists of ``get_queue`` changed. Sent only to a client that announced ``queue``."""

    steering: tuple[SteeringMessage, ...]
    queued: tuple[QueuedPrompt, ...]


class SessionChanged(msgspec.Struct, frozen=True, kw_only=True, tag="session_changed"):
    """Another transcript is shown: read ``get_messages`` again. After ``rename`` only the title is another. Sent only
    to a client that announced ``sessions``."""

    action: Literal["clear", "new", "fork", "resume", "rewind", "rename"]
    session_id: str
    title: str
    message_count: int


class ExtFrame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="ext_frame"):
    """A frame between zot and an extension, after ``watch_frames``; ``in`` comes from the extension. ``t`` is a Unix
    time, ``latency`` the seconds since the request that it answers. ``text`` is there instead of ``frame`` if that is
    no JSON, or longer than 64 KiB (``cut``). ``dropped`` frames before it were left out, because the client did not
    read."""

    extension: str
    direction: Literal["in", "out"]
    t: float
    frame: Any = msgspec.UNSET
    latency: float | msgspec.UnsetType = msgspec.UNSET
    text: str = ""
    cut: bool = False
    dropped: int = 0


ViewEvent = QueueChanged | SessionChanged | ExtFrame

ExtensionEvent = ExtNotify | ExtDisplay | ExtClearNotes | ExtPanel | ExtPanelClose | ExtSurface

Asked = (
    ApprovalRequest
    | ElicitationRequest
    | ExtDialog
    | ExtDialogClose
    | QuestionRequest
    | PlanRequest
    | RequestClosed
    | PermitRequest
    | PermitSettled
)

KnownEvent = WireEvent | ExtensionEvent | McpState | Asked | ViewEvent
ServerLine = Response | KnownEvent


class Unknown(msgspec.Struct, frozen=True):
    """An event this version does not know, unchanged. Ignore it."""

    type: str
    raw: dict[str, Any]


Event = KnownEvent | Unknown  # as a client decodes them

# The ``data`` of a successful response by command; the others return none.
DATA: dict[str, type[msgspec.Struct]] = {
    "hello": HelloData,
    "prompt": Started,
    "compact": Started,
    "get_state": State,
    "get_messages": Messages,
    "get_changes": Changes,
    "rewind": Rewound,
    "set_model": ModelSet,
    "set_reasoning": ReasoningSet,
    "set_permission_mode": PermissionModeSet,
    "get_models": Models,
    "get_mcp_servers": McpServers,
    "ping": Pong,
    "get_commands": Commands,
    "run_command": CommandRun,
    "ext_complete": Completions,
    "steer": Steered,
    "get_queue": Queue,
    "unqueue": Unqueued,
    "find_files": FoundFiles,
    "get_image": ImageData,
}
