"""What a child may ask for of its own accord: names, subscriptions, tools to run, notes, panels, text to submit.

Answers to the host's questions do not pass here. At most one panel is open; only its owner may redraw it, and the owner
is told when somebody else closes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from zot.agent.config import Surface
from zot.features.extensions.child import ExtensionChild
from zot.features.extensions.nested_calls import NestedCalls
from zot.features.extensions.registry import NameRegistry
from zot.wire import extension_frames

_NOTES_PER_SECOND = 1000
_EVENTS = frozenset((*extension_frames.CLASSIC_EVENTS, *extension_frames.LATER_EVENTS))


class ChildRequests:
    def __init__(
        self,
        surface: Surface,
        registry: NameRegistry,
        panels: PanelRequests,
        nested: NestedCalls,
        on_tools_changed: Callable[[], None],
    ) -> None:
        self._surface = surface
        self._registry = registry
        self._panels = panels
        self._nested = nested
        self._on_tools_changed = on_tools_changed
        self._notes: dict[str, tuple[int, int]] = {}

    def dispatch(self, child: ExtensionChild, frame: extension_frames.ChildFrame) -> None:
        match frame:
            case extension_frames.RegisterCommand():
                self._registry.add_command(child, frame)
            case extension_frames.RegisterTool():
                if self._registry.add_tool(child, frame):
                    self._on_tools_changed()
            case extension_frames.Subscribe():
                _subscribe(child, frame)
            case extension_frames.CallTool():
                self._nested.requested(child, frame)
            case extension_frames.CallToolCancel(id=id):
                self._nested.cancelled(child, id)
            case _ if child.alive:  # what is said between `shutdown` and the exit is not shown
                self._show(child, frame)
            case _:
                pass

    def _show(self, child: ExtensionChild, frame: extension_frames.ChildFrame) -> None:
        match frame:
            case extension_frames.Notify(level=level, message=message) if message and self._may_note(child):
                self._surface.notify(child.name, level, message)
            case extension_frames.ClearNotes():
                self._surface.clear_notes(child.name)
            case extension_frames.PanelRender():
                self._panels.render(child, frame)
            case extension_frames.PanelClose(panel_id=panel_id):
                self._panels.closed_by_child(child, panel_id)
            case extension_frames.OpenPanel(panel=wanted):
                if panel := self._panels.claimed(child, wanted):
                    self._surface.open_panel(child.name, panel)
            case extension_frames.Submit(text=text) if text.strip():
                self._surface.submit(child.name, text)
            case extension_frames.SubmitSlash(text=text):
                self._slash(child, text.strip())
            case _:
                pass

    def _slash(self, child: ExtensionChild, text: str) -> None:
        if text.startswith("/"):
            self._surface.submit_slash(child.name, text)
        else:
            child.fault("bad submit_slash", f"sent submit_slash without a slash; it was refused: {text[:60]!r}")

    def _may_note(self, child: ExtensionChild) -> bool:
        """A flood of notes must not drown the screen."""
        second = int(time.monotonic())
        at, count = self._notes.get(child.name, (second, 0))
        count = count + 1 if at == second else 1
        self._notes[child.name] = (second, count)
        if count == _NOTES_PER_SECOND + 1:
            child.fault("too many notes", f"sent more than {_NOTES_PER_SECOND} notes in a second; some were dropped")
        return count <= _NOTES_PER_SECOND


def _subscribe(child: ExtensionChild, frame: extension_frames.Subscribe) -> None:
    known = {name for name in frame.intercept if name in extension_frames.INTERCEPTS}
    unknown = sorted(set(frame.intercept) - known)
    if unknown:
        names = ", ".join(name[:40] for name in unknown[:5])
        child.fault(
            "unknown intercept", f"cannot intercept {names}; possible are {', '.join(extension_frames.INTERCEPTS)}"
        )
    if child.permissions is not None:
        refused = sorted(name for name in known if not child.permissions.may_intercept(name))
        known.difference_update(refused)
        if refused:
            why = 'its permissions do not name it under "intercept", and it is not asked'
            child.fault("permissions", f"wants to intercept {', '.join(refused)}; {why}")
    child.events.update(_EVENTS.intersection(frame.events))
    if strange := set(frame.events) - _EVENTS:
        child.log.write(f"subscribed to events this host never sends: {', '.join(sorted(strange))[:500]}")
    child.intercepts |= known
    child.guarded |= known


class PanelRequests:
    """``find`` gives a running child by its name."""

    def __init__(self, surface: Surface, find: Callable[[str], ExtensionChild | None]) -> None:
        self._surface = surface
        self._find = find
        self._open: tuple[str, str] | None = None

    def claimed(self, child: ExtensionChild, panel: extension_frames.Panel | None) -> extension_frames.Panel | None:
        """The panel, which is the open one now; None when there is none or nobody could see it.

        A panel of another extension, or another one of the same, is closed and its owner told.
        """
        if panel is None or not self._surface.interactive:
            return None
        previous, self._open = self._open, (child.name, panel.id)
        if previous is not None and previous != self._open:
            self._surface.close_panel(*previous)
            self._tell(*previous)
        return panel

    def render(self, child: ExtensionChild, frame: extension_frames.PanelRender) -> None:
        if self._open == (child.name, frame.panel_id):
            panel = extension_frames.Panel(id=frame.panel_id, title=frame.title, lines=frame.lines, footer=frame.footer)
            self._surface.render_panel(child.name, panel)

    def closed_by_child(self, child: ExtensionChild, panel_id: str) -> None:
        if self._open == (child.name, panel_id):
            self._open = None
            self._surface.close_panel(child.name, panel_id)

    def closed_by_user(self, extension: str, panel_id: str) -> None:
        if self._open == (extension, panel_id):
            self._open = None
            self._tell(extension, panel_id)

    def key(self, extension: str, panel_id: str, key: str, text: str) -> None:
        if self._open == (extension, panel_id) and (child := self._find(extension)):
            child.send(extension_frames.PanelKey(panel_id=panel_id, key=key, text=text if key == "rune" else ""))

    def child_ended(self, child: ExtensionChild) -> None:
        if self._open is not None and self._open[0] == child.name:
            self.closed_by_child(child, self._open[1])

    def _tell(self, extension: str, panel_id: str) -> None:
        if child := self._find(extension):
            child.send(extension_frames.PanelClose(panel_id=panel_id))
