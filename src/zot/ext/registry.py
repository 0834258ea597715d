"""What an extension registered: its handlers by name, before and while it runs."""

from __future__ import annotations

from zot.ext import frames

TYPE_CHECKING = False  # what typing says, without importing it
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from zot.ext.calls import ToolContext
    from zot.ext.handlers import CommandHandler, EventHandler, PanelCloseHandler, PanelKeyHandler, ReconcileHandler
    from zot.ext.record import Record

INTERCEPTS = ("before_agent_start", "tool_call", "turn_start", "assistant_message")


class Registry:
    """Handlers by name; ``frames`` are the registrations in the order they are sent."""

    def __init__(self) -> None:
        self.commands: dict[str, tuple[frames.RegisterCommand, CommandHandler]] = {}
        self.tools: dict[str, tuple[frames.RegisterTool, Callable[[dict[str, Any], ToolContext], Any]]] = {}
        self.reconcilers: dict[str, ReconcileHandler] = {}
        self.events: dict[str, EventHandler] = {}
        self.interceptors: dict[str, Callable[[frames.EventIntercept], Record]] = {}
        self.panels: dict[str, tuple[PanelKeyHandler | None, PanelCloseHandler | None]] = {}
        self.on_hello: Callable[[], Any] | None = None
        self.rich_tool_call = False  # the handler that returns a decision wins over the plain one

    def frames(self) -> Iterator[Record]:
        for command, _ in self.commands.values():
            yield command
        for tool, _ in self.tools.values():
            yield tool
        intercept = [event for event in INTERCEPTS if event in self.interceptors]
        if self.events or intercept:
            yield frames.Subscribe(events=list(self.events), intercept=intercept)
        yield frames.Ready()
