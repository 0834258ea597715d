"""What extensions may show over RPC: notes for every client; panels for one that announced them.

Nothing is written before the client spoke (and proved itself): until ``open`` the events wait. Requests to submit text
are not for programs and are refused aloud, once for each extension.
"""

from __future__ import annotations

from collections.abc import Collection

from zot.features.extensions.ui import SilentSurface
from zot.frontends.console import say
from zot.frontends.rpc.writer import Writer
from zot.wire.extension_frames import Panel
from zot.wire.rpc_frames import ExtClearNotes, ExtDisplay, ExtensionEvent, ExtNotify, ExtPanel, ExtPanelClose


class RpcSurface(SilentSurface):
    """``announced`` are the client's capabilities, which it may state at any time."""

    def __init__(self, writer: Writer, announced: Collection[str]) -> None:
        self._writer = writer
        self._announced = announced
        self._waiting: list[ExtensionEvent] | None = []
        self._titles: dict[tuple[str, str], str] = {}
        self._refused: set[str] = set()

    @property
    def interactive(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  a protocol's property
        return "panels" in self._announced

    def open(self) -> None:
        """The client has spoken: write what waits."""
        waiting, self._waiting = self._waiting or [], None
        for event in waiting:
            self._writer.tell(event)

    def notify(self, extension: str, level: str, message: str) -> None:
        self._tell(ExtNotify(extension=extension, level=level, message=message))

    def display(self, extension: str, text: str) -> None:
        """A command's answer."""
        self._tell(ExtDisplay(extension=extension, text=text))

    def clear_notes(self, extension: str) -> None:
        self._tell(ExtClearNotes(extension=extension))

    def submit(self, extension: str, text: str) -> None:
        self._refuse(extension, "submit")

    def submit_slash(self, extension: str, text: str) -> None:
        self._refuse(extension, "submit_slash")

    def open_panel(self, extension: str, panel: Panel) -> None:
        self._titles[extension, panel.id] = panel.title
        self.render_panel(extension, panel)

    def render_panel(self, extension: str, panel: Panel) -> None:
        title = panel.title or self._titles.get((extension, panel.id), "")
        self._titles[extension, panel.id] = title
        self._tell(
            ExtPanel(extension=extension, panel_id=panel.id, title=title, lines=panel.lines, footer=panel.footer)
        )

    def close_panel(self, extension: str, panel_id: str) -> None:
        self._titles.pop((extension, panel_id), None)
        self._tell(ExtPanelClose(extension=extension, panel_id=panel_id))

    def _tell(self, event: ExtensionEvent) -> None:
        if self._waiting is None:
            self._writer.tell(event)
        else:
            self._waiting.append(event)

    def _refuse(self, extension: str, what: str) -> None:
        if extension not in self._refused:
            self._refused.add(extension)
            say(f"extension {extension}: {what} is ignored in RPC mode")
