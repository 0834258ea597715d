"""What an extension may ask of its own accord: the seam between the host and the mode it runs under.

Calls are plain, quick and never raise; a mode that cannot show a thing ignores it (protocol reference, "Modes"). What a
slash command answers does not pass here: it is a value, and ``commands`` has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zot.agent.extension_ui import Surface
from zot.wire.extension_frames import Panel

__all__ = ["LEVELS", "SilentSurface", "Surface"]

LEVELS = ("info", "success", "warn", "error")


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
