"""The extension wire, protocol version 1: every frame as a struct. This file is its single source.

JSON Schema, the protocol reference, golden frames and the types of the author SDKs are generated from it
(``make generate``). On the wire ``type`` comes first, ``id`` second, then the keys in the order written here;
a key at its default is left out unless the struct says otherwise. Names are permanent; new fields have defaults.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

PROTOCOL_VERSION = 1


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all frames."""


class Panel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a panel shows."""

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
    format: str = ""  # "markdown": a hint for screens only


# --- child -> host ---------------------------------------------------------------------------------------------


class Hello(Frame, frozen=True, kw_only=True, tag="hello"):
    """The first frame of a child. ``capabilities`` are advisory, except ``guard``, which binds."""

    name: str = ""
    version: str = ""
    capabilities: tuple[str, ...] = ()


class RegisterCommand(Frame, frozen=True, kw_only=True, tag="register_command"):
    """A slash command; the name has no slash. The first registration of a name wins."""

    name: str = ""
    description: str = ""


class RegisterTool(Frame, frozen=True, kw_only=True, tag="register_tool"):
    """A tool the model may call; ``schema`` is a JSON Schema object."""

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
    """Events to watch and events to intercept; subscriptions add up."""

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
    """The answer to ``tool_call``; ``structured_content`` is for programs, the model reads ``content``."""

    id: str = ""
    content: tuple[Content, ...] = ()
    is_error: bool = False
    activate_tools: tuple[str, ...] = ()
    structured_content: Any = None


class EventInterceptResponse(Frame, frozen=True, kw_only=True, tag="event_intercept_response"):
    """The answer to ``event_intercept``. ``system_prompt`` is absent, or a string that replaces it exactly."""

    id: str = ""
    block: bool = False
    reason: str = ""
    modified_args: Any = None
    replace_text: str = ""
    system_prompt: Any = msgspec.UNSET


class Notify(Frame, frozen=True, kw_only=True, tag="notify"):
    """A one-shot note for the user."""

    level: str = ""
    message: str = ""


class ClearNotes(Frame, frozen=True, kw_only=True, tag="clear_notes"):
    """Remove every note of this extension."""


class PanelRender(Frame, frozen=True, kw_only=True, tag="panel_render"):
    """Redraw the open panel; an absent title keeps the old one, ``lines`` and ``footer`` replace."""

    panel_id: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""


class PanelClose(Frame, frozen=True, kw_only=True, tag="panel_close"):
    """Close a panel; sent by either side."""

    panel_id: str = ""


class OpenPanel(Frame, frozen=True, kw_only=True, tag="open_panel"):
    """Open a panel without a command."""

    panel: Panel | None = None


class Submit(Frame, frozen=True, kw_only=True, tag="submit"):
    """Submit text as if it was typed."""

    text: str = ""


class SubmitSlash(Frame, frozen=True, kw_only=True, tag="submit_slash"):
    """Run a slash command; the text begins with a slash."""

    text: str = ""


class CallTool(Frame, frozen=True, kw_only=True, tag="call_tool"):
    """Ask the host to run a tool."""

    id: str = ""
    name: str = ""
    args: Any = None
    parent_id: str = ""


class CallToolCancel(Frame, frozen=True, kw_only=True, tag="call_tool_cancel"):
    """Give up a ``call_tool``."""

    id: str = ""


class ShutdownAck(Frame, frozen=True, kw_only=True, tag="shutdown_ack"):
    """Accepted and otherwise ignored: the exit of the process is what counts."""


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
    """The host's greeting, exactly once, right after ``hello``."""

    protocol_version: int
    capabilities: tuple[str, ...] = ()
    zot_version: str
    provider: str
    model: str
    cwd: str
    extension_dir: str
    data_dir: str


class CommandInvoked(Frame, frozen=True, kw_only=True, tag="command_invoked"):
    """A slash command was typed; ``args`` is what followed its name, trimmed."""

    id: str
    name: str
    args: str = ""


class ToolCall(Frame, frozen=True, kw_only=True, tag="tool_call"):
    """Run a tool. ``id`` is the host's own, not the model's."""

    id: str
    name: str
    args: Any
    operation_key: str = ""
    reconcile: bool = False


class ToolCancel(Frame, frozen=True, kw_only=True, tag="tool_cancel"):
    """The call was abandoned; only sent to a child that announced ``tool_cancel``."""

    id: str


class ResultView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an observer sees of a tool result: cut to 256 KiB and 128 blocks."""

    content: tuple[Content, ...]
    is_error: bool
    truncated: bool = False


class Event(Frame, frozen=True, kw_only=True, tag="event"):
    """A lifecycle notification; which keys are present depends on ``event``."""

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
    """A question: may this happen, and how? Keys as the event needs them."""

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
    """The answer to a child's ``call_tool``; at most 256 KiB."""

    id: str
    name: str
    content: tuple[Content, ...]
    is_error: bool = False
    truncated: bool = False


class PanelKey(Frame, frozen=True, kw_only=True, tag="panel_key"):
    """A key pressed in the open panel; ``text`` only with ``rune``."""

    panel_id: str
    key: str
    text: str = ""


class Shutdown(Frame, frozen=True, kw_only=True, tag="shutdown"):
    """The end: finish, answer ``shutdown_ack`` if you like, exit."""


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
