"""The RPC wire, protocol version 1: every command, response and event as a struct. This file is its single source.

``docs/schema/rpc.json``, the reference page and the client libraries' types are generated from it. Events are what
``extproto.events`` writes, as a client reads them. On the wire ``type`` comes first, ``id`` second, then the keys in
the order written here. Names are permanent; new fields have defaults, and a reader ignores what it does not know.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

PROTOCOL_VERSION = 1
MAX_LINE = 16 * 1024 * 1024  # of a command, without its line end
CAPABILITIES = ("approvals", "commands", "panels")
REASONING = ("off", "minimum", "low", "medium", "high", "xhigh", "max")


# --- client -> zot ---------------------------------------------------------------------------------------------


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all commands. The response repeats ``id``, unless it is empty."""

    id: str = ""


class Hello(Command, frozen=True, kw_only=True, tag="hello"):
    """Who are you? With a token in zot's environment this must be the first line, and carry it."""

    token: str = ""
    capabilities: tuple[str, ...] = ()


class Image(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An image of a prompt: PNG, JPEG, GIF or WebP. Its type is taken from the content."""

    mime_type: str | None = None
    data: bytes


class Prompt(Command, frozen=True, kw_only=True, tag="prompt"):
    """Say something to the model. Answered when its turn comes; events follow, up to one ``done``."""

    message: str = ""
    images: tuple[Image, ...] = ()


class Abort(Command, frozen=True, kw_only=True, tag="abort"):
    """End the running prompt or compaction, at once; queued ones stay. Succeeds when idle, too."""


class Compact(Command, frozen=True, kw_only=True, tag="compact"):
    """Replace the transcript by a summary. Ends with ``compact_done`` and no ``done``; with ``done`` if it failed."""


class GetState(Command, frozen=True, kw_only=True, tag="get_state"):
    """Provider, model, directory, size of the transcript, usage, and whether something runs."""


class GetMessages(Command, frozen=True, kw_only=True, tag="get_messages"):
    """The transcript as it is now."""


class Clear(Command, frozen=True, kw_only=True, tag="clear"):
    """Drop the transcript; the usage stays. Needs an idle agent."""


class SetModel(Command, frozen=True, kw_only=True, tag="set_model"):
    """Another model of the same provider, from the next prompt on. Needs an idle agent."""

    model: str


class SetReasoning(Command, frozen=True, kw_only=True, tag="set_reasoning"):
    """How hard the model thinks, from the next prompt on. Needs an idle agent."""

    reasoning: str


class GetModels(Command, frozen=True, kw_only=True, tag="get_models"):
    """The models of the current provider."""


class Ping(Command, frozen=True, kw_only=True, tag="ping"):
    """Are you there?"""


class Approve(Command, frozen=True, kw_only=True, tag="approve"):
    """The answer to ``approval_request``. Needs the capability ``approvals``."""

    request_id: str
    decision: Literal["once", "tool", "all", "deny"]
    reason: str = ""


class GetCommands(Command, frozen=True, kw_only=True, tag="get_commands"):
    """The commands of the extensions. Needs the capability ``commands``."""


class RunCommand(Command, frozen=True, kw_only=True, tag="run_command"):
    """Run an extension's command; answered when the extension answered. Needs the capability ``commands``."""

    name: str
    args: str = ""


class PanelKey(Command, frozen=True, kw_only=True, tag="panel_key"):
    """A key pressed in a panel. Needs the capability ``panels``."""

    extension: str
    panel_id: str
    key: str
    text: str = ""


class PanelClose(Command, frozen=True, kw_only=True, tag="panel_close"):
    """The user closed a panel. Needs the capability ``panels``."""

    extension: str
    panel_id: str


AnyCommand = (
    Hello
    | Prompt
    | Abort
    | Compact
    | GetState
    | GetMessages
    | Clear
    | SetModel
    | SetReasoning
    | GetModels
    | Ping
    | Approve
    | GetCommands
    | RunCommand
    | PanelKey
    | PanelClose
)


# --- objects inside responses and events -----------------------------------------------------------------------


class UsageTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and cost. ``reasoning`` is null when the provider does not count it."""

    input: int
    output: int
    reasoning: int | None
    cache_read: int
    cache_write: int
    cost_usd: float


class TextContent(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """Text."""

    text: str


class ImageContent(msgspec.Struct, frozen=True, kw_only=True, tag="image"):
    """An image, by its size: the data itself is never sent."""

    mime_type: str
    bytes: int


class ToolCallContent(msgspec.Struct, frozen=True, kw_only=True, tag="tool_call"):
    """A call the model made."""

    id: str
    name: str
    args: Any


class ToolResultContent(msgspec.Struct, frozen=True, kw_only=True, tag="tool_result"):
    """The answer to a call."""

    call_id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]


Content = TextContent | ImageContent | ToolCallContent | ToolResultContent


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the transcript."""

    role: Literal["user", "assistant", "tool"]
    content: tuple[Content, ...]
    time: str


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the current provider."""

    id: str
    provider: str
    context_window: int
    max_output: int
    reasoning: bool


class CommandInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One command of an extension."""

    name: str
    description: str
    extension: str


# --- zot -> client: responses ----------------------------------------------------------------------------------


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="response"):
    """The answer to a command: ``data`` for the commands that return some, ``error`` exactly when it failed."""

    id: str = ""
    command: str
    success: bool
    data: Any = msgspec.UNSET
    error: str = ""


class HelloData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``hello``. ``capabilities`` are the accepted ones, present when the client announced some."""

    protocol_version: int
    version: str
    provider: str
    model: str
    capabilities: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``prompt`` and ``compact``: the turn has come, events follow."""

    started: bool = True


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_state``."""

    provider: str
    model: str
    cwd: str
    message_count: int
    busy: bool
    usage: UsageTotals


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_messages``."""

    messages: tuple[Message, ...]


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_models``."""

    models: tuple[ModelInfo, ...]


class ModelSet(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``set_model``."""

    model: str


class ReasoningSet(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``set_reasoning``."""

    reasoning: str


class Pong(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``ping``."""

    pong: bool = True


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """Data of ``get_commands``."""

    commands: tuple[CommandInfo, ...]


class CommandRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of ``run_command``. For ``prompt`` and ``tool_prompt`` it comes when their turn does, as for a prompt."""

    action: Literal["prompt", "insert", "display", "open_panel", "tool_prompt", "noop"]
    insert: str = ""
    started: bool = False


# --- zot -> client: events -------------------------------------------------------------------------------------


class UserMessage(msgspec.Struct, frozen=True, kw_only=True, tag="user_message"):
    """The prompt as it was added to the transcript."""

    content: tuple[Content, ...]
    time: str


class TurnStart(msgspec.Struct, frozen=True, kw_only=True, tag="turn_start"):
    """A model call begins."""

    step: int


class AssistantStart(msgspec.Struct, frozen=True, kw_only=True, tag="assistant_start"):
    """The model began to answer."""


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="text_delta"):
    """A piece of the answer. ``merged`` says how many pieces were joined because the client read too slowly."""

    delta: str
    merged: int = 0


class ToolUseStart(msgspec.Struct, frozen=True, kw_only=True, tag="tool_use_start"):
    """The model begins to write a tool call."""

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
    """What a model call used, once per call, and the running sum."""

    input: int
    output: int
    reasoning: int | None
    cache_read: int
    cache_write: int
    cost_usd: float
    cumulative: UsageTotals
    auxiliary: bool = False


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True, tag="assistant_message"):
    """The complete answer, as the user may see it."""

    content: tuple[Content, ...]
    time: str


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, tag="tool_call"):
    """The model wants a tool to run; ``args`` is null when they were empty or invalid."""

    id: str
    name: str
    args: Any


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn_end"):
    """The model call is over. After ``tool_use`` the tools run, then the next turn begins."""

    stop: Literal["end_turn", "tool_use", "length", "error", "aborted"]
    error: str = ""


class ToolProgress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="tool_progress"):
    """Output of a running tool. ``merged`` as in ``text_delta``; ``dropped`` counts characters left out before it."""

    id: str
    text: str
    merged: int = 0
    dropped: int = 0


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, tag="tool_result"):
    """A tool finished, failed or was refused."""

    id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]


class CompactDone(msgspec.Struct, frozen=True, kw_only=True, tag="compact_done"):
    """A compaction succeeded: its last event, in place of ``done``."""

    summary: str


class Error(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="error"):
    """A prompt or compaction failed; ``done`` follows. Never after an abort."""

    message: str
    code: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """The prompt is over, whatever the outcome; so is a failed compaction. A good one ends in ``compact_done``."""


class ExtNotify(msgspec.Struct, frozen=True, kw_only=True, tag="ext_notify"):
    """A note of an extension."""

    extension: str
    level: str
    message: str


class ExtDisplay(msgspec.Struct, frozen=True, kw_only=True, tag="ext_display"):
    """Text an extension's command wants shown."""

    extension: str
    text: str


class ExtClearNotes(msgspec.Struct, frozen=True, kw_only=True, tag="ext_clear_notes"):
    """Remove the notes of this extension."""

    extension: str


class ExtPanel(msgspec.Struct, frozen=True, kw_only=True, tag="ext_panel"):
    """A panel opens or is redrawn: it looks exactly like this now."""

    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


class ExtPanelClose(msgspec.Struct, frozen=True, kw_only=True, tag="ext_panel_close"):
    """The extension closed its panel."""

    extension: str
    panel_id: str


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, tag="approval_request"):
    """May this call run? ``args`` are those that will run; the agent waits for ``approve``."""

    request_id: str
    tool_id: str
    name: str
    args: Any
    preview: str


ExtensionEvent = ExtNotify | ExtDisplay | ExtClearNotes | ExtPanel | ExtPanelClose

Event = (
    UserMessage
    | TurnStart
    | AssistantStart
    | TextDelta
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
    | Error
    | Done
    | ExtensionEvent
    | ApprovalRequest
)

ServerLine = Response | Event

# What the ``data`` of a successful response holds; commands that are not here return none.
DATA: dict[str, type[msgspec.Struct]] = {
    "hello": HelloData,
    "prompt": Started,
    "compact": Started,
    "get_state": State,
    "get_messages": Messages,
    "set_model": ModelSet,
    "set_reasoning": ReasoningSet,
    "get_models": Models,
    "ping": Pong,
    "get_commands": Commands,
    "run_command": CommandRun,
}
