"""Null object of ``agent.extension_ui`` and base class of front ends that show a part."""

from __future__ import annotations

from zot.wire.extension_frames import Panel

LEVELS = ("info", "success", "warn", "error")


class NullExtensionUI:
    interactive = False

    def notify(self, extension: str, level: str, message: str) -> None: ...

    def clear_notes(self, extension: str) -> None: ...

    def display(self, extension: str, text: str) -> None: ...

    def submit(self, extension: str, text: str) -> None: ...

    def submit_slash(self, extension: str, text: str) -> None: ...

    def open_panel(self, extension: str, panel: Panel) -> None: ...

    def render_panel(self, extension: str, panel: Panel) -> None: ...

    def close_panel(self, extension: str, panel_id: str) -> None: ...
