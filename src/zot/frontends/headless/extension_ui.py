"""Notes of extensions in front ends without a screen: lines on stderr.

It does not inherit from ``SilentSurface``: a run without extensions imports nothing of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.frontends.console import print_line

if TYPE_CHECKING:
    from zot.wire.extension_frames import Panel


class StderrExtensionUI:
    """Prints notes; ignores panels and submitted prompts."""

    interactive = False

    def notify(self, extension: str, level: str, message: str) -> None:
        from zot.features.extensions.ui import LEVELS

        print_line(f"[{extension}] {level if level in LEVELS else 'info'}: {message}")

    def clear_notes(self, extension: str) -> None: ...

    def submit(self, extension: str, text: str) -> None: ...

    def submit_slash(self, extension: str, text: str) -> None: ...

    def open_panel(self, extension: str, panel: Panel) -> None: ...

    def render_panel(self, extension: str, panel: Panel) -> None: ...

    def close_panel(self, extension: str, panel_id: str) -> None: ...
