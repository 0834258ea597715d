"""The one open panel: who owns it, who may redraw it, and who is told when it closes."""

from __future__ import annotations

from collections.abc import Callable

from zot.agent.extensions.child import Child
from zot.agent.extensions.surface import Surface
from zot.wire import frames


class Panels:
    def __init__(self, surface: Surface, find: Callable[[str], Child | None]) -> None:
        self._surface = surface
        self._find = find
        self._open: tuple[str, str] | None = None

    def open(self, child: Child, panel: frames.Panel | None) -> None:
        """A panel of another extension, or another one of the same, is replaced and its owner told."""
        if panel is None or not self._surface.interactive:
            return
        previous, self._open = self._open, (child.name, panel.id)
        if previous is not None and previous != self._open:
            self._surface.close_panel(*previous)
            self._tell(*previous)
        self._surface.open_panel(child.name, panel)

    def render(self, child: Child, frame: frames.PanelRender) -> None:
        if self._open == (child.name, frame.panel_id):
            panel = frames.Panel(id=frame.panel_id, title=frame.title, lines=frame.lines, footer=frame.footer)
            self._surface.render_panel(child.name, panel)

    def closed_by_child(self, child: Child, panel_id: str) -> None:
        if self._open == (child.name, panel_id):
            self._open = None
            self._surface.close_panel(child.name, panel_id)

    def closed_by_user(self, extension: str, panel_id: str) -> None:
        if self._open == (extension, panel_id):
            self._open = None
            self._tell(extension, panel_id)

    def key(self, extension: str, panel_id: str, key: str, text: str) -> None:
        if self._open == (extension, panel_id) and (child := self._find(extension)):
            child.send(frames.PanelKey(panel_id=panel_id, key=key, text=text if key == "rune" else ""))

    def child_ended(self, child: Child) -> None:
        if self._open is not None and self._open[0] == child.name:
            self.closed_by_child(child, self._open[1])

    def _tell(self, extension: str, panel_id: str) -> None:
        if child := self._find(extension):
            child.send(frames.PanelClose(panel_id=panel_id))
