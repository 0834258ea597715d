"""The extension an author writes: register handlers, then ``run``.
Handlers of one event run in registration order; registering a command or tool twice is a ValueError."""

from __future__ import annotations

from zot.ext import frames
from zot.ext.calls import CALL_TOOL_LIMIT
from zot.ext.frames import EventIntercept, HelloAck, Panel
from zot.ext.record import Record
from zot.ext.results import (
    AssistantMessageDecision,
    TurnStartDecision,
    decision_of,
    system_prompt_of,
    tool_call_decision,
)
from zot.ext.server import Registry, Server

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, TypeVar

    from zot.ext.handlers import (
        AssistantMessageHandler,
        BeforeAgentStartHandler,
        CommandHandler,
        EventHandler,
        InterceptHandler,
        PanelCloseHandler,
        PanelKeyHandler,
        ReconcileHandler,
        TurnStartHandler,
    )

    Level = Literal["info", "success", "warn", "error"]
    AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])

CAPABILITIES = ("commands", "tools", "events", "panels", "tool_cancel", "call_tool")


class Extension:
    """One extension; with ``guard=True`` actions it cannot decide about are denied."""

    def __init__(self, name: str, version: str = "", *, guard: bool = False) -> None:
        self.name = name
        self.version = version
        capabilities = (*CAPABILITIES, "guard") if guard else CAPABILITIES
        self._registry = Registry()
        self._server = Server(frames.Hello(name=name, version=version, capabilities=capabilities), self._registry)

    @property
    def host(self) -> HelloAck:
        """The host's greeting; empty before it."""
        return self._server.host

    # --- registration ------------------------------------------------------------------------------------------

    def command(self, name: str, description: str = "") -> Callable[[CommandHandler], CommandHandler]:
        """Register a slash command; the handler gets the text after the name. A returned string is displayed."""

        def register(handler: CommandHandler) -> CommandHandler:
            self._registry.claim("command", name, handler)
            frame = frames.RegisterCommand(name=name, description=description)
            self._registry.commands[name] = (frame, handler)
            self._send_if_registered(frame)
            return handler

        return register

    def tool(
        self,
        name: str = "",
        description: str = "",
        *,
        schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        namespace: str = "",
        namespace_description: str = "",
        namespace_instructions: str = "",
        exposure: str = "",
        deferred: bool = False,
        interactive: bool = False,
        replay: str = "",
    ) -> Callable[[AnyHandler], AnyHandler]:
        """A tool for the model. Name, description and schema come from the function unless given.

        With ``schema=`` the handler gets one dict (and a ToolContext, if it takes two arguments); otherwise its
        parameters are the arguments, one of which may be annotated ``ToolContext``. It returns a string, content
        blocks, a ToolResult, or data, which becomes ``structured_content`` and its JSON text.
        """
        from zot.ext.typed_tools import description_of, tool_of  # not needed without tools

        def register(handler: AnyHandler) -> AnyHandler:
            given, call = tool_of(handler, schema)
            frame = frames.RegisterTool(
                name=name or handler.__name__,
                description=description or description_of(handler),
                schema=given,
                output_schema=output_schema,
                namespace=namespace,
                namespace_description=namespace_description,
                namespace_instructions=namespace_instructions,
                exposure=exposure,
                deferred=deferred,
                interactive=interactive,
                replay=replay,
            )
            self._registry.claim("tool", frame.name, handler)
            self._registry.tools[frame.name] = (frame, call)
            self._send_if_registered(frame)
            return handler

        return register

    def reconciler(self, tool: str) -> Callable[[ReconcileHandler], ReconcileHandler]:
        """State of an operation of ``tool``: ``completed``, ``not_started`` or ``unknown``, or a ToolResult."""

        def register(handler: ReconcileHandler) -> ReconcileHandler:
            self._registry.claim("reconciler", tool, handler)
            self._registry.reconcilers[tool] = handler
            return handler

        return register

    def on(self, event: str) -> Callable[[EventHandler], EventHandler]:
        """Observe an event; all its handlers are called, in registration order."""

        def register(handler: EventHandler) -> EventHandler:
            self._registry.events.setdefault(event, []).append(handler)
            self._send_if_registered(frames.Subscribe(events=[event]))
            return handler

        return register

    def on_hello(self, handler: Callable[[], Any]) -> Callable[[], Any]:
        """Called when ``host`` is set, before the registrations are sent."""
        self._registry.on_hello.append(handler)
        return handler

    def intercept_tool_call(self, handler: InterceptHandler) -> InterceptHandler:
        """Called before each tool runs; returns ``(allowed, reason)``, a ToolCallDecision, or None to allow.
        Interceptors of one event run in registration order: each sees the rewrites of the previous ones, and the
        first denial wins."""
        self._intercept("tool_call", lambda asked: tool_call_decision(handler(asked.tool_name, asked.tool_args or {})))
        return handler

    intercept_tool_call_x = intercept_tool_call

    def intercept_turn_start(self, handler: TurnStartHandler) -> TurnStartHandler:
        """Called before each model call; returns a TurnStartDecision, or None to allow."""
        self._intercept("turn_start", lambda asked: decision_of(handler(asked.step), TurnStartDecision))
        return handler

    def intercept_assistant_message(self, handler: AssistantMessageHandler) -> AssistantMessageHandler:
        """Called before the user sees a message; returns an AssistantMessageDecision, or None to allow."""
        self._intercept("assistant_message", lambda asked: decision_of(handler(asked.text), AssistantMessageDecision))
        return handler

    def edit_system_prompt(self, handler: BeforeAgentStartHandler) -> BeforeAgentStartHandler:
        """Called with the request and its ``system_prompt``; returns a new one, or None to keep it."""
        self._intercept("before_agent_start", lambda asked: system_prompt_of(handler(asked)))
        return handler

    intercept_before_agent_start = edit_system_prompt

    def on_panel_key(
        self, panel_id: str, on_key: PanelKeyHandler | None = None, on_close: PanelCloseHandler | None = None
    ) -> Callable[[PanelKeyHandler], PanelKeyHandler]:
        """Handle keys of a panel; also a decorator: ``@ext.on_panel_key("todos", on_close=closed)``.
        While the extension runs, a panel that is opened again may get new handlers."""
        if panel_id in self._registry.panels and not self._server.registered:
            raise ValueError(f'the keys of panel "{panel_id}" are registered twice: remove one of the two')
        self._registry.panels[panel_id] = (on_key, on_close)

        def register(handler: PanelKeyHandler) -> PanelKeyHandler:
            self._registry.panels[panel_id] = (handler, on_close)
            return handler

        return register

    def _intercept(self, event: str, ask: Callable[[EventIntercept], Record]) -> None:
        self._registry.interceptors.setdefault(event, []).append(ask)
        self._send_if_registered(frames.Subscribe(intercept=[event]))

    # --- at any time ----------------------------------------------------------------------------------------------

    def notify(self, level: Level, message: str) -> None:
        """Show a note below the transcript."""
        self._server.send(frames.Notify(level=level, message=message))

    def clear_notes(self) -> None:
        """Remove every note of this extension."""
        self._server.send(frames.ClearNotes())

    def open_panel(self, id: str, title: str = "", lines: Sequence[str] = (), footer: str = "") -> None:
        """Open a panel without a command."""
        self._server.send(frames.OpenPanel(panel=Panel(id=id, title=title, lines=lines, footer=footer)))

    def render_panel(self, id: str, title: str = "", lines: Sequence[str] = (), footer: str = "") -> None:
        """Redraw the open panel; an empty title keeps the old one."""
        self._server.send(frames.PanelRender(panel_id=id, title=title, lines=lines, footer=footer))

    def close_panel(self, id: str) -> None:
        self._server.send(frames.PanelClose(panel_id=id))

    def submit(self, words: str) -> None:
        """Submit text as if it was typed."""
        self._server.send(frames.Submit(text=words))

    def submit_slash(self, words: str) -> None:
        """Run a slash command; the text begins with a slash."""
        self._server.send(frames.SubmitSlash(text=words))

    def call_tool(self, name: str, args: Mapping[str, Any], timeout: float = CALL_TOOL_LIMIT) -> frames.HostToolResult:
        """Ask the host to run a tool. RuntimeError if unsupported, TimeoutError without a result."""
        parent = self._server.current_call()
        return self._server.host_calls.call(name, args, parent=parent, timeout=timeout)

    def log(self, *words: object) -> None:
        """Write a line to the extension's log file (stderr)."""
        self._server.log(*words)

    def run(self) -> None:
        """Greet the host, register, then serve until ``shutdown`` or the end of input."""
        self._server.run()

    def _send_if_registered(self, frame: Record) -> None:
        if self._server.registered:
            self._server.send(frame)
