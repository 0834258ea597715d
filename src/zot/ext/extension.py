"""The extension an author writes: register handlers, then ``run``.
Handlers of one event run in registration order; registering a command or tool twice is a ValueError."""

from __future__ import annotations

from zot.ext import frames
from zot.ext.answers import Answers
from zot.ext.context import CALL_TOOL_LIMIT, Context, call
from zot.ext.frames import EventIntercept, HelloAck, Panel
from zot.ext.host_methods import KIND_FEATURES, HostMethods
from zot.ext.record import Record
from zot.ext.registry import Registry
from zot.ext.results import (
    AssistantMessageDecision,
    TurnStartDecision,
    decision_of,
    system_prompt_of,
    tool_call_decision,
)
from zot.ext.server import Server
from zot.ext.surfaces import Surfaces

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, TypeVar

    from zot.ext.branch_state import BranchState
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
    from zot.ext.lines import Line

    Level = Literal["info", "success", "warn", "error"]
    AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])

CAPABILITIES = ("commands", "tools", "events", "panels", "tool_cancel", "call_tool", "edition2")


class Extension(Answers, Surfaces, HostMethods):
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

    # --- what this run offers

    @property
    def mode(self) -> str:
        """How zot runs: ``terminal``, ``print``, ``json``, ``stream``, ``rpc``, ``sdk``, ``daemon``, ``subagent``."""
        return self.host.mode

    @property
    def ui(self) -> Mapping[str, Any]:
        """What the front end can show: ``dialogs``, ``surfaces``, ``panels``, ``editor``, ``width``, ``height``, …"""
        return self.host.ui or {}

    @property
    def flags(self) -> Mapping[str, Any]:
        """The values of the flags the manifest declares."""
        return self.host.flags or {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """The values of the settings the manifest declares, without secrets."""
        return self.host.settings or {}

    @property
    def state(self) -> Any:
        """What the process before a reload returned from its ``on_state_save`` handler."""
        return self.host.state

    def has(self, feature: str) -> bool:
        """True if this zot has a feature, such as ``dialogs``; a mode may still have no place for it."""
        return self._server.offers(feature)

    def granted(self, word: str) -> bool:
        """True if a word of the manifest's ``uses`` holds in this run."""
        return word in self.host.granted

    # --- registration ------------------------------------------------------------------------------------------

    def command(
        self,
        name: str,
        description: str = "",
        *,
        complete: Callable[[str], Any] | None = None,
        arguments: str = "",
        headless: bool = False,
    ) -> Callable[[CommandHandler], CommandHandler]:
        """Register a slash command; the handler gets the text after the name, and a Context if it takes two
        arguments. A returned string is displayed. ``complete`` makes items of the text typed so far, ``headless`` lets
        ``zot -p "/name"`` run it."""

        def register(handler: CommandHandler) -> CommandHandler:
            self._registry.claim("command", name, handler)
            frame = frames.RegisterCommand(name=name, description=description)
            self._registry.commands[name] = (frame, handler)
            value = {"arguments": arguments, "complete": complete is not None, "headless": headless}
            if more := {key: given for key, given in value.items() if given}:
                self._registry.command_values[name] = more
            if complete is not None:
                self._on_complete(name, complete)
            if self._server.registered:
                self._server.send(self._registry.command_frame(name, self.has))
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
        label: str = "",
        prompt_line: str = "",
        guidelines: Sequence[str] = (),
        parallel: bool = False,
        timeout_s: int = 0,
        override: bool = False,
        ask: bool = False,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """A tool for the model. Name, description and schema come from the function unless given.

        With ``schema=`` the handler gets one dict (and a Context, if it takes two arguments); otherwise its
        parameters are the arguments, one of which may be annotated ``Context``. It returns a string, content
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
                label=label,
                prompt_line=prompt_line,
                guidelines=guidelines,
                parallel=parallel,
                timeout_s=timeout_s,
                override=override,
                ask=ask,
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

    def on(self, event: str, **options: Any) -> Callable[[EventHandler], EventHandler]:
        """Observe an event; all its handlers are called, in registration order. Options of the protocol narrow it:
        ``tools``, ``topics``, ``every_ms``, ``thinking``."""

        def register(handler: EventHandler) -> EventHandler:
            self._registry.events.setdefault(event, []).append(handler)
            self._subscribe(events=[event], event=event, options=options)
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
        self._intercept(
            "tool_call",
            lambda asked, ctx: tool_call_decision(call(handler, ctx, asked.tool_name, asked.tool_args or {})),
        )
        return handler

    intercept_tool_call_x = intercept_tool_call

    def intercept_turn_start(self, handler: TurnStartHandler) -> TurnStartHandler:
        """Called before each model call; returns a TurnStartDecision, or None to allow."""
        self._intercept("turn_start", lambda asked, ctx: decision_of(call(handler, ctx, asked.step), TurnStartDecision))
        return handler

    def intercept_assistant_message(self, handler: AssistantMessageHandler) -> AssistantMessageHandler:
        """Called before the user sees a message; returns an AssistantMessageDecision, or None to allow."""
        self._intercept(
            "assistant_message",
            lambda asked, ctx: decision_of(call(handler, ctx, asked.text), AssistantMessageDecision),
        )
        return handler

    def edit_system_prompt(self, handler: BeforeAgentStartHandler) -> BeforeAgentStartHandler:
        """Called with the request and its ``system_prompt``; returns a new one, or None to keep it."""
        self._intercept("before_agent_start", lambda asked, ctx: system_prompt_of(call(handler, ctx, asked)))
        return handler

    intercept_before_agent_start = edit_system_prompt

    def intercept(self, event: str, handler: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
        """Intercept any event by name; also a decorator: ``@ext.intercept("input")``. The handler gets an
        ``Interception`` and returns ``event.block(…)``, ``event.replace(…)``, ``event.handled(…)``, a text that
        replaces, or None. Options of the protocol narrow it: ``tools``, ``content``."""

        def asked_of(handler: Callable[..., Any]) -> Callable[[EventIntercept, Context], Record]:
            def ask(asked: EventIntercept, context: Context) -> Record:
                from zot.ext.interceptions import Interception, verdict_of  # not needed without interceptions

                seen = Interception(asked, context)
                return verdict_of(call(handler, context, seen), seen)

            return ask

        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            self._intercept(event, asked_of(handler), options)
            return handler

        return register if handler is None else register(handler)

    def branch_state(self, type: str, default: Any = None) -> BranchState:
        """A value that follows the branch of the session; ``type`` names its entries."""
        from zot.ext.branch_state import BranchState

        return BranchState(self, type, default)

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

    def _on_request(self, method: str, name: str, handler: Callable[..., Any]) -> None:
        self._registry.requests[method, name] = handler

    def _intercept(
        self,
        event: str,
        ask: Callable[[EventIntercept, Context], Record],
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._registry.interceptors.setdefault(event, []).append(ask)
        self._subscribe(intercept=[event], event=event, options=options or {})

    def _subscribe(
        self, event: str, options: Mapping[str, Any], events: Sequence[str] = (), intercept: Sequence[str] = ()
    ) -> None:
        if options:
            self._registry.options.setdefault(event, {}).update(options)
        if self._server.registered and (frame := self._registry.subscription(events, intercept, self.has)):
            self._server.send(frame)

    # --- at any time ----------------------------------------------------------------------------------------------

    def contribute(self, kind: str, name: str, value: Mapping[str, Any], *, wait: bool = False) -> Any:
        """Add or replace anything by its kind in the protocol, also before ``run``. With ``wait`` a refusal is raised,
        else it is a diagnostic of zot."""
        given = {key: each for key, each in value.items() if each is not None}
        frame = frames.Contribute(kind=kind, name=name, value=given)
        return self._server.contribute(frame, KIND_FEATURES.get(kind, "contribute"), wait=wait)

    def withdraw(self, kind: str, name: str) -> None:
        """Remove a contribution; does nothing if there is none."""
        frame = frames.Withdraw(kind=kind, name=name)
        self._server.contribute(frame, KIND_FEATURES.get(kind, "contribute"), wait=False)

    def notify(self, level: Level, message: str, *, desktop: bool = False) -> None:
        """Show a note below the transcript, with ``desktop`` also as a notification of the desktop."""
        self._server.send(frames.Notify(level=level, message=message, desktop=desktop))

    def clear_notes(self) -> None:
        """Remove every note of this extension."""
        self._server.send(frames.ClearNotes())

    def open_panel(self, id: str, title: str = "", lines: Sequence[str] = (), footer: str = "", **more: Any) -> None:
        """Open a panel without a command. ``rows``, ``place``, ``cursor`` and ``keys`` are of the second edition."""
        self._server.send(frames.OpenPanel(panel=Panel(id=id, title=title, lines=lines, footer=footer, **more)))

    def render_panel(
        self,
        id: str,
        title: str = "",
        lines: Sequence[str] = (),
        footer: str = "",
        *,
        rows: Sequence[Line] | None = None,
        place: Mapping[str, Any] | None = None,
        cursor: Mapping[str, int] | None = None,
    ) -> None:
        """Redraw the open panel; an empty title keeps the old one."""
        self._server.send(
            frames.PanelRender(
                panel_id=id, title=title, lines=lines, footer=footer, rows=rows, place=place, cursor=cursor
            )
        )

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
        current = self._server.current_call()
        parent = current.id if current and current.kind == "tool" else ""
        return self._server.host_calls.call(name, args, parent_id=parent, timeout=timeout)

    def log(self, *words: object) -> None:
        """Write a line to the extension's log file (stderr)."""
        self._server.log(*words)

    def run(self) -> None:
        """Greet the host, register, then serve until ``shutdown`` or the end of input."""
        self._server.run()

    def _call(self, method: str, params: Mapping[str, Any], **options: Any) -> Any:
        current = self._server.current_call()
        return self._server.request(method, params, parent_id=current.id if current else "", **options)

    def _decides(self) -> bool:
        current = self._server.current_call()
        return current is not None and current.kind == "intercept"

    def _send_if_registered(self, frame: Record) -> None:
        if self._server.registered:
            self._server.send(frame)
