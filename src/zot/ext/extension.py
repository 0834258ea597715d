"""The extension an author writes: register handlers, then ``run``. Handlers of one event run in registration order;
registering a command or tool twice is a ValueError."""

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

TYPE_CHECKING = False  # what typing says, without importing it
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
    """One extension; ``guard=True`` declares that what it cannot decide must not happen."""

    def __init__(self, name: str, version: str = "", *, guard: bool = False) -> None:
        self.name = name
        self.version = version
        capabilities = (*CAPABILITIES, "guard") if guard else CAPABILITIES
        self._registry = Registry()
        self._server = Server(frames.Hello(name=name, version=version, capabilities=capabilities), self._registry)

    @property
    def host(self) -> HelloAck:
        """What the host said of itself; empty before it did."""
        return self._server.host

    # --- registration ------------------------------------------------------------------------------------------

    def command(self, name: str, description: str = "") -> Callable[[CommandHandler], CommandHandler]:
        """A slash command; the handler gets what followed the name. A returned string is displayed."""

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
        from zot.ext.typed_tools import description_of, tool_of  # extensions without tools need none of it

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
        """Says how far an operation of ``tool`` got: ``completed``, ``not_started`` or ``unknown``, or a ToolResult."""

        def register(handler: ReconcileHandler) -> ReconcileHandler:
            self._registry.claim("reconciler", tool, handler)
            self._registry.reconcilers[tool] = handler
            return handler

        return register

    def on(self, event: str) -> Callable[[EventHandler], EventHandler]:
        """Observes an event; all its handlers are called, in the order they were registered."""

        def register(handler: EventHandler) -> EventHandler:
            self._registry.events.setdefault(event, []).append(handler)
            self._send_if_registered(frames.Subscribe(events=[event]))
            return handler

        return register

    def on_hello(self, handler: Callable[[], Any]) -> Callable[[], Any]:
        """Runs when ``host`` is known, before the registrations are sent."""
        self._registry.on_hello.append(handler)
        return handler

    def intercept_tool_call(self, handler: InterceptHandler) -> InterceptHandler:
        """Asked before each tool runs: ``(allowed, reason)``, a ToolCallDecision, or None to allow.

        Interceptors of one event are asked in the order they were registered: each sees what those before it
        rewrote, and the first refusal is the answer.
        """
        self._intercept("tool_call", lambda asked: tool_call_decision(handler(asked.tool_name, asked.tool_args or {})))
        return handler

    intercept_tool_call_x = intercept_tool_call

    def intercept_turn_start(self, handler: TurnStartHandler) -> TurnStartHandler:
        """Asked before each model call; returns a TurnStartDecision, or None to allow."""
        self._intercept("turn_start", lambda asked: decision_of(handler(asked.step), TurnStartDecision))
        return handler

    def intercept_assistant_message(self, handler: AssistantMessageHandler) -> AssistantMessageHandler:
        """Asked before the user sees a message; returns an AssistantMessageDecision, or None to allow."""
        self._intercept("assistant_message", lambda asked: decision_of(handler(asked.text), AssistantMessageDecision))
        return handler

    def edit_system_prompt(self, handler: BeforeAgentStartHandler) -> BeforeAgentStartHandler:
        """Gets the request with its ``system_prompt``; returns the one to use instead, or None to keep it."""
        self._intercept("before_agent_start", lambda asked: system_prompt_of(handler(asked)))
        return handler

    intercept_before_agent_start = edit_system_prompt

    def on_panel_key(
        self, panel_id: str, on_key: PanelKeyHandler | None = None, on_close: PanelCloseHandler | None = None
    ) -> Callable[[PanelKeyHandler], PanelKeyHandler]:
        """Keys of a panel; also a decorator: ``@ext.on_panel_key("todos", on_close=gone)``.

        While the extension runs, a panel that is opened anew may be given new handlers.
        """
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

    # --- things to say at any time -----------------------------------------------------------------------------

    def notify(self, level: Level, message: str) -> None:
        """A note below the transcript."""
        self._server.send(frames.Notify(level=level, message=message))

    def clear_notes(self) -> None:
        """Takes back every note of this extension."""
        self._server.send(frames.ClearNotes())

    def open_panel(self, id: str, title: str = "", lines: Sequence[str] = (), footer: str = "") -> None:
        """Opens a panel without a command."""
        self._server.send(frames.OpenPanel(panel=Panel(id=id, title=title, lines=lines, footer=footer)))

    def render_panel(self, id: str, title: str = "", lines: Sequence[str] = (), footer: str = "") -> None:
        """Draws the open panel anew; an empty title keeps the old one."""
        self._server.send(frames.PanelRender(panel_id=id, title=title, lines=lines, footer=footer))

    def close_panel(self, id: str) -> None:
        self._server.send(frames.PanelClose(panel_id=id))

    def submit(self, words: str) -> None:
        """Submits text as if it was typed."""
        self._server.send(frames.Submit(text=words))

    def submit_slash(self, words: str) -> None:
        """Runs a slash command; the words begin with a slash."""
        self._server.send(frames.SubmitSlash(text=words))

    def call_tool(self, name: str, args: Mapping[str, Any], timeout: float = CALL_TOOL_LIMIT) -> frames.HostToolResult:
        """Asks the host to run a tool. RuntimeError if it does not offer that, TimeoutError if nothing came."""
        parent = self._server.current_call()
        return self._server.host_calls.call(name, args, parent=parent, timeout=timeout)

    def log(self, *words: object) -> None:
        """A line for the extension's log file (stderr)."""
        self._server.log(*words)

    def run(self) -> None:
        """Greets the host, registers, then serves until ``shutdown`` or the end of input."""
        self._server.run()

    def _send_if_registered(self, frame: Record) -> None:
        if self._server.registered:
            self._server.send(frame)
