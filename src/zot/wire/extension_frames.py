"""The extension wire, protocol version 1: every frame as a struct. This file is its single source.

JSON Schema, the protocol reference, golden frames and the types of the author SDKs are generated from it
(``make generate``). On the wire ``type`` comes first, ``id`` second, then the keys in the order written here;
a key with its default value is omitted unless the struct says otherwise. Names are permanent; new fields have defaults.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

PROTOCOL_VERSION = 1

InterceptName = Literal[
    "tool_call",
    "turn_start",
    "assistant_message",
    "before_agent_start",
    "input",
    "user_shell",
    "prompt_start",
    "context",
    "model_request",
    "provider_payload",
    "tool_result",
    "session_before",
    "compaction",
    "prompt_end",
]


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all frames."""


class Panel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a panel. Keys after ``footer`` are for extensions of the second edition."""

    id: str
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""
    rows: Any = None
    place: Any = None
    cursor: Any = None
    keys: str = ""


class Content(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One block of a tool result: ``text`` (``text``) or ``image`` (``mime_type``, base64 ``data``)."""

    type: str
    text: str = ""
    mime_type: str = ""
    data: str = ""
    format: str = ""  # "markdown": a hint for display


# --- both directions (second edition) --------------------------------------------------------------------------


class Request(Frame, frozen=True, kw_only=True, tag="request"):
    """Asks the other side to do something; exactly one ``response`` follows."""

    id: str = ""
    method: str = ""
    params: Any = None
    parent_id: str = ""
    timeout_ms: int = 0


class ResponseError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request failed: a code for programs and a sentence for users."""

    code: str = ""
    message: str = ""
    data: Any = None


class Response(Frame, frozen=True, kw_only=True, tag="response"):
    """The answer to a ``request``; ``error`` wins over ``result``."""

    id: str = ""
    result: Any = None
    error: ResponseError | None = None


class Progress(Frame, frozen=True, kw_only=True, tag="progress"):
    """How far an open request, tool call, command or interception is."""

    id: str = ""
    text: str = ""
    fraction: float | None = None
    content: tuple[Content, ...] = ()
    view: Any = None
    data: Any = None


class Cancel(Frame, frozen=True, kw_only=True, tag="cancel"):
    """The asker no longer needs the answer; the ``response`` still follows."""

    id: str = ""
    reason: str = ""


# --- child -> host ---------------------------------------------------------------------------------------------


class Hello(Frame, frozen=True, kw_only=True, tag="hello"):
    """The first frame an extension sends. ``capabilities`` are advisory, except ``guard``, which is binding."""

    name: str = ""
    version: str = ""
    capabilities: tuple[str, ...] = ()


class RegisterCommand(Frame, frozen=True, kw_only=True, tag="register_command"):
    """Registers a slash command; the name has no slash. The first registration of a name wins."""

    name: str = ""
    description: str = ""


class RegisterTool(Frame, frozen=True, kw_only=True, tag="register_tool"):
    """Registers a tool for the model; ``schema`` is a JSON Schema object."""

    name: str = ""
    description: str = ""
    schema: Any = None
    output_schema: Any = None
    namespace: str = ""
    namespace_description: str = ""
    namespace_instructions: str = ""
    exposure: str = ""
    deferred: bool = False
    interactive: bool = False
    replay: str = ""
    label: str = ""
    prompt_line: str = ""
    guidelines: tuple[str, ...] = ()
    parallel: bool = False
    timeout_s: int = 0
    override: bool = False
    ask: bool = False


class Subscribe(Frame, frozen=True, kw_only=True, tag="subscribe"):
    """Subscribes to events to observe and events to intercept. Further subscriptions are added."""

    events: tuple[str, ...] = ()
    intercept: tuple[str, ...] = ()
    options: Any = None
    drop: tuple[str, ...] = ()


class Ready(Frame, frozen=True, kw_only=True, tag="ready"):
    """All initial registrations were sent."""


class CommandResponse(Frame, frozen=True, kw_only=True, tag="command_response"):
    """The answer to ``command_invoked``; a non-empty ``error`` cancels the action."""

    id: str = ""
    action: str = ""
    prompt: str = ""
    insert: str = ""
    display: str = ""
    open_panel: Panel | None = None
    tool_name: str = ""
    tool_args: Any = None
    error: str = ""


class ToolResult(Frame, frozen=True, kw_only=True, tag="tool_result"):
    """The answer to ``tool_call``. The model reads ``content``; ``structured_content`` is for programs."""

    id: str = ""
    content: tuple[Content, ...] = ()
    is_error: bool = False
    activate_tools: tuple[str, ...] = ()
    structured_content: Any = None
    view: Any = None
    details: Any = None
    usage: Any = None
    end_turn: bool = False


class EventInterceptResponse(Frame, frozen=True, kw_only=True, tag="event_intercept_response"):
    """The answer to ``event_intercept``. ``system_prompt``, if present, replaces the whole system prompt."""

    id: str = ""
    block: bool = False
    reason: str = ""
    modified_args: Any = None
    replace_text: str = ""
    system_prompt: Any = msgspec.UNSET
    value: Any = None
    handled: bool = False
    ask: bool = False


class Notify(Frame, frozen=True, kw_only=True, tag="notify"):
    """Shows a notification to the user."""

    level: str = ""
    message: str = ""
    desktop: bool = False


class ClearNotes(Frame, frozen=True, kw_only=True, tag="clear_notes"):
    """Removes all notifications of this extension."""


class PanelRender(Frame, frozen=True, kw_only=True, tag="panel_render"):
    """Redraws an open panel. ``lines`` and ``footer`` replace the old ones; an absent title stays unchanged."""

    panel_id: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""
    rows: Any = None
    place: Any = None
    cursor: Any = None


class PanelClose(Frame, frozen=True, kw_only=True, tag="panel_close"):
    """Closes a panel; sent by either side."""

    panel_id: str = ""


class OpenPanel(Frame, frozen=True, kw_only=True, tag="open_panel"):
    """Opens a panel without a command."""

    panel: Panel | None = None


class Submit(Frame, frozen=True, kw_only=True, tag="submit"):
    """Submits text as if the user had typed it."""

    text: str = ""


class SubmitSlash(Frame, frozen=True, kw_only=True, tag="submit_slash"):
    """Runs a slash command; the text begins with a slash."""

    text: str = ""


class CallTool(Frame, frozen=True, kw_only=True, tag="call_tool"):
    """Requests that zot runs a tool."""

    id: str = ""
    name: str = ""
    args: Any = None
    parent_id: str = ""


class CallToolCancel(Frame, frozen=True, kw_only=True, tag="call_tool_cancel"):
    """Cancels a ``call_tool``."""

    id: str = ""


class Contribute(Frame, frozen=True, kw_only=True, tag="contribute"):
    """Adds or replaces a contribution of this extension; with ``id`` zot answers with a ``response``."""

    id: str = ""
    kind: str = ""
    name: str = ""
    value: Any = None


class Withdraw(Frame, frozen=True, kw_only=True, tag="withdraw"):
    """Removes a contribution; does nothing if there is none."""

    id: str = ""
    kind: str = ""
    name: str = ""


class ShutdownAck(Frame, frozen=True, kw_only=True, tag="shutdown_ack"):
    """Optional; zot accepts and ignores it, and waits for the process to exit."""


ChildFrame = (
    Hello
    | RegisterCommand
    | RegisterTool
    | Subscribe
    | Ready
    | CommandResponse
    | ToolResult
    | EventInterceptResponse
    | Notify
    | ClearNotes
    | PanelRender
    | PanelClose
    | OpenPanel
    | Submit
    | SubmitSlash
    | CallTool
    | CallToolCancel
    | Request
    | Response
    | Progress
    | Cancel
    | Contribute
    | Withdraw
    | ShutdownAck
)


# --- host -> child ---------------------------------------------------------------------------------------------


class HelloAck(Frame, frozen=True, kw_only=True, tag="hello_ack"):
    """zot's answer to ``hello``, sent exactly once. Keys after ``data_dir``: only for the second edition."""

    protocol_version: int
    capabilities: tuple[str, ...] = ()
    zot_version: str
    provider: str
    model: str
    cwd: str
    extension_dir: str
    data_dir: str
    edition: int = 0
    features: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    mode: str = ""
    ui: Any = None
    session: Any = None
    flags: Any = None
    settings: Any = None
    limits: Any = None
    state: Any = None
    resume: str = ""


class CommandInvoked(Frame, frozen=True, kw_only=True, tag="command_invoked"):
    """The user ran a slash command; ``args`` is the trimmed text after its name."""

    id: str
    name: str
    args: str = ""


class ToolCall(Frame, frozen=True, kw_only=True, tag="tool_call"):
    """Run a tool. ``id`` is zot's own, not the model's id of the call."""

    id: str
    name: str
    args: Any
    operation_key: str = ""
    reconcile: bool = False


class ToolCancel(Frame, frozen=True, kw_only=True, tag="tool_cancel"):
    """A tool call was cancelled. Sent only to an extension that announced ``tool_cancel``."""

    id: str


class ResultView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool result as an observer sees it, truncated to 256 KiB and 128 blocks."""

    content: tuple[Content, ...]
    is_error: bool
    truncated: bool = False


class Event(Frame, frozen=True, kw_only=True, tag="event"):
    """Notification of a lifecycle event; the keys depend on ``event``."""

    event: str
    session_id: str = ""
    cwd: str = ""
    sequence: int = 0
    step: int = 0
    stop: str = ""
    error: str = ""
    tool_id: str = ""
    tool_name: str = ""
    tool_args: Any = None
    tool_args_raw: str = ""
    tool_preview: str = ""
    status: str = ""
    executed: bool | None = None
    result: ResultView | None = None
    decision: str = ""
    source: str = ""
    stage: str = ""
    by: str = ""
    text: str = ""
    queued: bool = False
    image_count: int = 0
    compaction_id: str = ""
    message_count: int = 0
    token_estimate: int = 0
    agent_id: str = ""
    agent_run_id: str = ""
    name: str = ""
    reason: str = ""
    origin_extension: str = ""
    data: Any = None


class EventIntercept(Frame, frozen=True, kw_only=True, tag="event_intercept"):
    """Asks whether an action may happen, and whether to change it. The keys depend on ``event``."""

    id: str
    event: InterceptName
    tool_id: str = ""
    tool_name: str = ""
    tool_args: Any = None
    step: int = 0
    text: str = ""
    session_id: str = ""
    agent_run_id: str = ""
    cwd: str = ""
    provider: str = ""
    model: str = ""
    system_prompt: str | None = None
    origin_extension: str = ""
    data: Any = None


class HostToolResult(Frame, frozen=True, kw_only=True, tag="tool_result"):
    """The answer to ``call_tool``, truncated to 256 KiB."""

    id: str
    name: str
    content: tuple[Content, ...]
    is_error: bool = False
    truncated: bool = False


class PanelKey(Frame, frozen=True, kw_only=True, tag="panel_key"):
    """The user pressed a key in the open panel; ``text`` is present only with ``rune``."""

    panel_id: str
    key: str
    text: str = ""
    event: str = ""


class PanelResize(Frame, frozen=True, kw_only=True, tag="panel_resize"):
    """The size of an open panel, when it opens and when it changes."""

    panel_id: str
    width: int
    height: int


class PanelFocus(Frame, frozen=True, kw_only=True, tag="panel_focus"):
    """Whether a panel has the focus and gets the keys."""

    panel_id: str
    focused: bool


class Shutdown(Frame, frozen=True, kw_only=True, tag="shutdown"):
    """zot shuts down: finish, optionally send ``shutdown_ack``, and exit."""


HostFrame = (
    HelloAck
    | CommandInvoked
    | ToolCall
    | ToolCancel
    | Event
    | EventIntercept
    | HostToolResult
    | PanelKey
    | PanelClose
    | PanelResize
    | PanelFocus
    | Request
    | Response
    | Progress
    | Cancel
    | Shutdown
)

INTERCEPTS = ("before_agent_start", "tool_call", "turn_start", "assistant_message")
CLASSIC_EVENTS = ("session_start", "turn_start", "tool_call", "assistant_message", "turn_end")
LATER_EVENTS = (
    "session_end",
    "user_prompt_submit",
    "tool_result",
    "tool_confirmation_requested",
    "permission_decision",
    "pre_compact",
    "post_compact",
    "subagent_start",
    "subagent_stop",
)
# Second edition: only for a child whose hello announced EDITION2.
EDITION2 = "edition2"
FEATURES = (
    *("request", "contribute", "progress", "intercept2", "deltas", "dialogs", "surfaces", "panels2", "editor"),
    *("keys", "session", "chat", "model", "agents", "exec", "terminal", "tools2", "providers", "render"),
    *("completion", "bus", "settings", "secrets", "resources", "theme", "state"),
)
EDITION2_INTERCEPTS = (
    *("input", "user_shell", "prompt_start", "context", "model_request", "provider_payload", "tool_result"),
    *("session_before", "compaction", "prompt_end"),
)
EDITION2_EVENTS = (
    *("prompt_start", "prompt_end", "idle", "message_end", "message_delta", "tool_start", "tool_update"),
    *("model_changed", "tools_changed", "mode_changed", "usage", "session_info", "files_changed", "queue_changed"),
    *("dialog", "resize", "theme_changed", "settings_changed", "bus", "ui_changed"),
)
ERROR_CODES = (
    *("unknown_method", "bad_params", "denied", "unavailable", "refused", "cancelled", "timeout", "busy"),
    *("budget", "not_found", "conflict", "too_large", "failed"),
)
ACTIONS = ("prompt", "insert", "display", "open_panel", "tool_prompt", "noop")
EXPOSURES = ("direct", "codemode", "deferred", "model-only")
REPLAYS = ("never", "safe", "idempotent", "reconcile")
PANEL_KEYS = (
    *("up", "down", "left", "right", "enter", "tab", "backspace", "delete"),
    *("home", "end", "pageup", "pagedown", "rune", "esc", "unknown"),
)
