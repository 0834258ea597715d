"""What extensions may do to the screen of a front end. ``ExtensionUI`` shows nothing; front ends override a part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from zot.core.session.session import Session
    from zot.wire.extension_frames import Panel

LEVELS = ("info", "success", "warn", "error")
SURFACES = frozenset({"status", "widget", "header", "footer", "title", "working", "thinking", "border", "decoration"})


class UiInfo(msgspec.Struct, frozen=True):
    """What a front end can show, as ``hello_ack`` reports it. ``colors`` is 0, 16, 256 or 16777216."""

    dialogs: bool = False
    surfaces: bool = False
    panels: bool = False
    editor: bool = False
    width: int = 0
    height: int = 0
    colors: int = 0
    images: bool = False


class EditorText(msgspec.Struct, frozen=True):
    """The prompt being written. ``source`` is the extension that put the text there, empty for the user."""

    text: str
    cursor: int
    images: int = 0
    source: str = ""


def _ignore_change(event: str, data: dict[str, Any]) -> None: ...


class ExtensionUI:
    """Calls are quick and never raise; unsupported ones are ignored (protocol reference, "Modes").
    Values of contributions are as sent: front ends draw them with ``zot.wire.lines``."""

    on_change: Callable[[str, dict[str, Any]], None] = staticmethod(_ignore_change)
    """Set by the extension host: receives ``resize``, ``theme_changed`` and ``ui_changed`` with their data."""

    @property
    def interactive(self) -> bool:
        """True if a user is present: tools that need an answer may run, panels may open."""
        return False

    def notify(self, extension: str, level: str, message: str) -> None:
        """A short note; an unknown level is shown as info."""

    def clear_notes(self, extension: str) -> None: ...

    def display(self, extension: str, text: str) -> None:
        """The answer of a slash command, of one or more lines."""

    def submit(self, extension: str, text: str) -> None:
        """Submit text as if typed: starts a turn, or queues behind the running one."""

    def submit_slash(self, extension: str, text: str) -> None:
        """Run a slash command; the text begins with a slash."""

    def open_panel(self, extension: str, panel: Panel) -> None: ...

    def render_panel(self, extension: str, panel: Panel) -> None:
        """Redraw; an empty title keeps the old one, lines and footer are replaced."""

    def close_panel(self, extension: str, panel_id: str) -> None: ...

    # --- second edition

    def run_queued(self) -> bool:
        """An extension queued a prompt while the conversation is idle: run it. False if it waits for the program."""
        return False

    def run_compaction(self, focus: str) -> bool:
        """Compact the idle conversation as for the user; false if the caller does it."""
        return False

    def stop_work(self) -> Awaitable[bool] | None:
        """Cancel running work and wait; false if it does not end in time. None: only the conversation works."""
        return None

    async def show_session(self, session: Session | None, note: str, draft: str) -> None:
        """An extension opened this session, or began an empty one (None): show it, with ``draft`` in the editor."""

    def leave(self, extension: str) -> Awaitable[bool] | None:
        """End zot, after a line and a time in which the user can stop it: true if zot ends. None if the run ends by
        itself when nothing is left to do."""
        return None

    def ui_info(self) -> UiInfo:
        """What can be shown now."""
        return UiInfo()

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        """Draw or replace a contribution; returns why it conflicts with another, or nothing.
        ``stale``: its process ended and may renew it; drawn dimmed."""
        return ""

    def withdraw(self, extension: str, kind: str, name: str) -> None: ...

    def notify_desktop(self, extension: str, message: str) -> None: ...

    def own_commands(self) -> Iterable[tuple[str, str]]:
        """Name and summary of the front end's own slash commands."""
        return ()

    def read_editor(self) -> EditorText | None:
        """None without an editor."""
        return None

    def write_editor(self, extension: str, text: str, cursor: int | None = None, *, insert: bool = False) -> bool:
        """Replace the text, or insert it as a paste; false without an editor."""
        return False

    def run_in_terminal(
        self, extension: str, argv: Sequence[str], run: Callable[[], Awaitable[int]]
    ) -> Awaitable[int] | None:
        """Hand the user's terminal to a program that ``run`` starts, after one line that names extension and command;
        its exit status, or None without a terminal."""
        return None

    def theme_info(self) -> dict[str, Any] | None:
        """``name``, ``base``, ``roles`` and ``themes``; None without themes."""
        return None

    def set_theme(self, name: str) -> str:
        """Use a theme for this run; returns why it cannot be used, or nothing."""
        return "themes are not available in this mode"

    def panel_size(self, extension: str, panel_id: str) -> tuple[int, int]:
        """Width and height of an open panel."""
        return 0, 0
