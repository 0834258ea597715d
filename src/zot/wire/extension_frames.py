"""The extension wire, protocol version 1: every frame as a struct. This file is its single source.

JSON Schema, the protocol reference, golden frames and the types of the author SDKs are generated from it
(``make generate``). On the wire ``type`` comes first, ``id`` second, then the keys in the order written here;
a key with its default value is omitted unless the struct says otherwise. Names are permanent; new fields have defaults.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

PROTOCOL_VERSION = 1


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all frames."""


class Panel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a panel."""

    id: str
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""


class Content(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One block of a tool result: ``text`` (``text``) or ``image`` (``mime_type``, base64 ``data``)."""

    type: str
    text: str = ""
    mime_type: str = ""
    data: str = ""
    format: str = ""  # "markdown": a hint for display


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


class Subscribe(Frame, frozen=True, kw_only=True, tag="subscribe"):
    """Subscribes to events to observe and events to intercept. Further subscriptions are added."""

    events: tuple[str, ...] = ()
    intercept: tuple[str, ...] = ()


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


class EventInterceptResponse(Frame, frozen=True, kw_only=True, tag="event_intercept_response"):
    """The answer to ``event_intercept``. ``system_prompt``, if present, replaces the whole system prompt."""

    id: str = ""
    block: bool = False
    reason: str = ""
    modified_args: Any = None
    replace_text: str = ""
    system_prompt: Any = msgspec.UNSET


class Notify(Frame, frozen=True, kw_only=True, tag="notify"):
    """Shows a notification to the user."""

    level: str = ""
    message: str = ""


class ClearNotes(Frame, frozen=True, kw_only=True, tag="clear_notes"):
    """Removes all notifications of this extension."""


class PanelRender(Frame, frozen=True, kw_only=True, tag="panel_render"):
    """Redraws an open panel. ``lines`` and ``footer`` replace the old ones; an absent title stays unchanged."""

    panel_id: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""


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
    | ShutdownAck
)


# --- host -> child ---------------------------------------------------------------------------------------------


class HelloAck(Frame, frozen=True, kw_only=True, tag="hello_ack"):
    """zot's answer to ``hello``, sent exactly once."""

    protocol_version: int
    capabilities: tuple[str, ...] = ()
    zot_version: str
    provider: str
    model: str
    cwd: str
    extension_dir: str
    data_dir: str


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


class EventIntercept(Frame, frozen=True, kw_only=True, tag="event_intercept"):
    """Asks whether an action may happen, and whether to change it. The keys depend on ``event``."""

    id: str
    event: Literal["tool_call", "turn_start", "assistant_message", "before_agent_start"]
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
ACTIONS = ("prompt", "insert", "display", "open_panel", "tool_prompt", "noop")
EXPOSURES = ("direct", "codemode", "deferred", "model-only")
REPLAYS = ("never", "safe", "idempotent", "reconcile")
PANEL_KEYS = (
    *("up", "down", "left", "right", "enter", "tab", "backspace", "delete"),
    *("home", "end", "pageup", "pagedown", "rune", "esc", "unknown"),
)
