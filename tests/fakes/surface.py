"""An extension UI that records the requests of extensions."""

from __future__ import annotations

from typing import Any

from zot.wire.extension_frames import Panel


class FakeSurface:
    """``calls`` holds (what, extension, …) in order, ``faults`` the diagnostics."""

    def __init__(self, *, interactive: bool = True) -> None:
        self.interactive = interactive
        self.calls: list[tuple[Any, ...]] = []
        self.faults: list[str] = []

    def of(self, what: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == what]

    def notify(self, extension: str, level: str, message: str) -> None:
        self.calls.append(("notify", extension, level, message))

    def clear_notes(self, extension: str) -> None:
        self.calls.append(("clear_notes", extension))

    def submit(self, extension: str, text: str) -> None:
        self.calls.append(("submit", extension, text))

    def submit_slash(self, extension: str, text: str) -> None:
        self.calls.append(("submit_slash", extension, text))

    def open_panel(self, extension: str, panel: Panel) -> None:
        self.calls.append(("open_panel", extension, panel))

    def render_panel(self, extension: str, panel: Panel) -> None:
        self.calls.append(("render_panel", extension, panel))

    def close_panel(self, extension: str, panel_id: str) -> None:
        self.calls.append(("close_panel", extension, panel_id))
