"""What an extension may show or do through the front end: the protocol that every front end implements.

Calls are plain, quick and never raise; a front end that cannot show a thing ignores it (protocol reference, "Modes").
"""

from __future__ import annotations

from typing import Protocol

from zot.wire.extension_frames import Panel


class Surface(Protocol):
    @property
    def interactive(self) -> bool:
        """Whether a person is there: tools that wait for one may run, panels may open."""
        ...

    def notify(self, extension: str, level: str, message: str) -> None:
        """A one-shot note; an unknown level is shown as info."""
        ...

    def clear_notes(self, extension: str) -> None: ...

    def submit(self, extension: str, text: str) -> None:
        """As if typed: starts a turn, or queues behind the running one."""
        ...

    def submit_slash(self, extension: str, text: str) -> None:
        """Run a slash command; the text begins with a slash."""
        ...

    def open_panel(self, extension: str, panel: Panel) -> None: ...

    def render_panel(self, extension: str, panel: Panel) -> None:
        """Redraw: an empty title keeps the old one, lines and footer replace."""
        ...

    def close_panel(self, extension: str, panel_id: str) -> None: ...
