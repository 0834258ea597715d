"""What an extension may ask of its own accord: the seam between the host and the mode it runs under.

Calls are plain, quick and never raise; a mode that cannot show a thing ignores it (protocol reference, "Modes"). What a
slash command answers does not pass here: it is a value, and ``commands`` has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from zot.wire.extension_frames import Panel

LEVELS = ("info", "success", "warn", "error")


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


class SilentSurface:
    """Shows nothing; the base for modes that show a part."""

    interactive = False

    def notify(self, extension: str, level: str, message: str) -> None: ...

    def clear_notes(self, extension: str) -> None: ...

    def submit(self, extension: str, text: str) -> None: ...

    def submit_slash(self, extension: str, text: str) -> None: ...

    def open_panel(self, extension: str, panel: Panel) -> None: ...

    def render_panel(self, extension: str, panel: Panel) -> None: ...

    def close_panel(self, extension: str, panel_id: str) -> None: ...
