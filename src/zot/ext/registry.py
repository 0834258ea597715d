"""What an author registered: handlers by name, and the frames that announce them."""

from __future__ import annotations

import os

from zot.ext import frames

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from zot.ext.context import Context
    from zot.ext.handlers import EventHandler, PanelCloseHandler, PanelKeyHandler, ReconcileHandler
    from zot.ext.record import Record

    Intercept = Callable[[frames.EventIntercept, Context], Record]
    Offers = Callable[[str], bool]

INTERCEPTS = ("before_agent_start", "tool_call", "turn_start", "assistant_message")
EVENTS2 = frozenset(
    (
        *("prompt_start", "prompt_end", "idle", "message_end", "message_delta", "tool_start", "tool_update"),
        *("model_changed", "tools_changed", "mode_changed", "usage", "session_info", "files_changed"),
        *("queue_changed", "dialog", "resize", "theme_changed", "settings_changed", "bus", "ui_changed"),
    )
)


class Registry:
    """Registered handlers. Handlers of one event form a chain, names are unique."""

    def __init__(self) -> None:
        self.commands: dict[str, tuple[frames.RegisterCommand, Callable[..., Any]]] = {}
        self.command_values: dict[str, dict[str, Any]] = {}  # keys that only a contribution has
        self.tools: dict[str, tuple[frames.RegisterTool, Callable[[dict[str, Any], Context], Any]]] = {}
        self.reconcilers: dict[str, ReconcileHandler] = {}
        self.events: dict[str, list[EventHandler]] = {}
        self.interceptors: dict[str, list[Intercept]] = {}
        self.options: dict[str, dict[str, Any]] = {}  # of ``subscribe``, by event
        self.panels: dict[str, tuple[PanelKeyHandler | None, PanelCloseHandler | None]] = {}
        self.requests: dict[tuple[str, str], Callable[..., Any]] = {}  # by method, and name of key or command
        self.on_hello: list[Callable[[], Any]] = []
        self._named: dict[tuple[str, str], Callable[..., Any]] = {}

    def claim(self, kind: str, name: str, handler: Callable[..., Any]) -> None:
        """Register a handler under a name. ValueError if it is taken; the host ignores case in commands."""
        key = (kind, name.lower() if kind == "command" else name)
        if first := self._named.get(key):
            both = f"by {_place(first)} and by {_place(handler)}"
            raise ValueError(f'{kind} "{name}" is registered twice, {both}: remove one, or give it another name')
        self._named[key] = handler

    def command_frame(self, name: str, offers: Offers) -> Record:
        frame = self.commands[name][0]
        if name not in self.command_values or not offers("contribute"):
            return frame
        value = {"description": frame.description, **self.command_values[name]}
        return frames.Contribute(kind="command", name=name, value=value)

    def announced(self, offers: Offers) -> Iterator[Record]:
        for name in self.commands:
            yield self.command_frame(name, offers)
        for tool, _ in self.tools.values():
            yield tool
        if subscribe := self.subscription(self.events, self.interceptors, offers):
            yield subscribe

    def subscription(self, events: Any, intercept: Any, offers: Offers) -> frames.Subscribe | None:
        """Without what this zot does not know."""
        observed = [event for event in events if event not in EVENTS2 or offers("request")]
        asked = [event for event in INTERCEPTS if event in intercept]
        if offers("intercept2"):
            asked += [event for event in intercept if event not in INTERCEPTS]
        if not observed and not asked:
            return None
        options = {event: self.options[event] for event in (*observed, *asked) if event in self.options}
        return frames.Subscribe(
            events=observed, intercept=asked, options=options if options and offers("request") else None
        )


def _place(handler: Callable[..., Any]) -> str:
    """Source location of a handler."""
    name = getattr(handler, "__name__", "") or type(handler).__name__
    code = getattr(handler, "__code__", None)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else name
