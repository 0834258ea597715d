"""What extensions do on the screen: notes, prompts and commands, panels, surfaces, the editor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from zot.agent.extension_ui import EditorText, ExtensionUI, UiInfo
from zot.frontends.terminal.editor.chips import images_of
from zot.tui.sanitize import beginning, sanitize
from zot.tui.width import visible

if TYPE_CHECKING:
    from zot.core.session.session import Session
    from zot.frontends.terminal.editor.editor import Editor
    from zot.frontends.terminal.extensions.editor_additions import EditorAdditions
    from zot.frontends.terminal.extensions.panels import Panels
    from zot.frontends.terminal.screen.notice_area import Notes
    from zot.frontends.terminal.screen.theme_manager import ThemeManager
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.wire.extension_frames import Panel

LendTerminal = Callable[[str, "Sequence[str]", Callable[[], "Awaitable[int]"]], "Awaitable[int]"]
ROLES = (
    "fg",
    "muted",
    "accent",
    "tool",
    "error",
    "warning",
    "heading",
    "code",
    "link",
    "user",
    "diff_add",
    "diff_remove",
)
_LONGEST_ALERT = 200
_RESIZE_S = 0.2  # between two reports of the size
_OF_EDITOR = frozenset({"key", "keymap", "decoration", "completion"})


class UserActions(NamedTuple):
    """Actions of an extension in the user's place: submit a prompt, run a command, run queued prompts. ``own_commands``
    are name and summary of the terminal's commands."""

    submit: Callable[[str], None]
    run_command: Callable[[str], None]
    run_queued: Callable[[], None]
    own_commands: Callable[[], Iterable[tuple[str, str]]] = tuple


class SessionActions(Protocol):
    """Changes of session that extensions make."""

    def stop_work(self) -> Awaitable[bool]: ...

    def show(self, session: Session | None, note: str, draft: str) -> Awaitable[None]: ...

    def leave(self, extension: str) -> Awaitable[bool]: ...


class TerminalExtensionUI(ExtensionUI):
    """Extension UI of the terminal."""

    def __init__(
        self,
        ui: ScreenServices,
        notes: Notes,
        panels: Callable[[], Panels],
        editor: Editor,
        additions: Callable[[], EditorAdditions],
        typing: UserActions,
        looks: ThemeManager,
        lend: LendTerminal,
        is_leaving: Callable[[], bool],
    ) -> None:
        self._ui = ui
        self._looks = looks
        self._lend = lend
        self._is_leaving = is_leaving
        self._resize: asyncio.TimerHandle | None = None
        self.sessions: Callable[[], SessionActions] | None = None  # once the agent is built
        self.late_notes: list[str] = []  # arrived while zot ends; printed once the screen is restored
        self._notes = notes
        self._typing = typing
        self._panels = panels
        self._editor = editor
        self._additions = additions

    @property
    def interactive(self) -> bool:
        return True

    def notify(self, extension: str, level: str, message: str) -> None:
        if self._is_leaving():
            from zot.agent.extension_ui import LEVELS  # only at the end of a run with extensions

            self.late_notes.append(f"[{extension}] {level if level in LEVELS else 'info'}: {message}")
            return
        self._notes.add(extension, level, message)
        self._ui.redraw()

    def display(self, extension: str, text: str) -> None:
        self.notify(extension, "info", text)

    def clear_notes(self, extension: str) -> None:
        self._notes.clear(extension)
        self._ui.redraw()

    def submit(self, extension: str, text: str) -> None:
        self._typing.submit(as_plain_text(text))

    def submit_slash(self, extension: str, text: str) -> None:
        self._typing.run_command(text)

    def run_queued(self) -> bool:
        self._typing.run_queued()
        return True

    def open_panel(self, extension: str, panel: Panel) -> None:
        self._panels().open(extension, panel)

    def render_panel(self, extension: str, panel: Panel) -> None:
        self._panels().render(extension, panel)

    def close_panel(self, extension: str, panel_id: str) -> None:
        self._panels().close(extension, panel_id)

    # --- second edition

    def run_compaction(self, focus: str) -> bool:
        self._typing.run_command(f"/compact {' '.join(focus.split())}".rstrip())
        return True

    def stop_work(self) -> Awaitable[bool] | None:
        return None if self.sessions is None else self.sessions().stop_work()

    async def show_session(self, session: Session | None, note: str, draft: str) -> None:
        if self.sessions is not None:
            await self.sessions().show(session, note, draft)

    def leave(self, extension: str) -> Awaitable[bool] | None:
        return None if self.sessions is None else self.sessions().leave(extension)

    def ui_info(self) -> UiInfo:
        size = self._ui.terminal.size()
        colours = {"none": 0, "256": 256, "true": 1 << 24}[self._looks.depth]
        return UiInfo(True, True, True, True, size.columns, size.rows, colours, bool(self._ui.painter.images))

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        if kind in _OF_EDITOR:
            return self._additions().put(kind, extension, name, value, stale=stale)
        self._ui.draw_surface(kind, extension, name, value, stale=stale)
        return ""

    def withdraw(self, extension: str, kind: str, name: str) -> None:
        if kind in _OF_EDITOR:
            self._additions().remove(kind, extension, name)
        else:
            self._ui.remove_surface(kind, extension, name)

    def read_editor(self) -> EditorText:
        editor = self._editor
        images = len(images_of(editor.buffer.units()))
        return EditorText(editor.text, editor.cursor_offset, images, editor.written_by)

    def write_editor(self, extension: str, text: str, cursor: int | None = None, *, insert: bool = False) -> bool:
        editor = self._editor
        if insert:
            at_start = editor.cursor_offset == 0
            editor.write_at_cursor(extension, as_plain_text(text) if at_start else text)
        else:
            shown = as_plain_text(text)
            added = len(shown) - len(text)
            editor.write(extension, shown, None if cursor is None else max(cursor, 0) + added)
        self._ui.redraw()
        return True

    def notify_desktop(self, extension: str, message: str) -> None:
        self._ui.terminal.alert(f"{extension}: {beginning(message, _LONGEST_ALERT)}")

    def run_in_terminal(
        self, extension: str, argv: Sequence[str], run: Callable[[], Awaitable[int]]
    ) -> Awaitable[int] | None:
        return self._lend(extension, argv, run)

    def resized(self) -> None:
        """Report the newest size, a few times a second."""
        if self._resize is None:
            self._resize = asyncio.get_running_loop().call_later(_RESIZE_S, self._report_size)

    def _report_size(self) -> None:
        self._resize = None
        size = self._ui.terminal.size()
        self.on_change("resize", {"width": size.columns, "height": size.rows})

    def theme_changed(self, name: str, base: str) -> None:
        self.on_change("theme_changed", {"name": name, "base": base})

    def theme_info(self) -> dict[str, Any] | None:
        theme = self._ui.theme
        colours = {role: theme.colour_of(role) for role in ROLES}
        known = {role: found.approximate() for role, found in colours.items() if found is not None}
        return {
            "name": theme.name,
            "base": theme.background,
            "roles": {role: "#{:02x}{:02x}{:02x}".format(*rgb) for role, rgb in known.items() if rgb is not None},
            "themes": [choice.value for choice in self._looks.choices()],
        }

    def set_theme(self, name: str) -> str:
        if all(choice.value != name for choice in self._looks.choices()):
            return f"unknown theme {name[:60]!r}"
        self._looks.choose(name)
        return ""

    def own_commands(self) -> Iterable[tuple[str, str]]:
        return self._typing.own_commands()


def as_plain_text(text: str) -> str:
    """Text of an extension for the editor.
    A leading space prevents that enter runs a shell or slash command the user did not type."""
    return f" {text}" if visible(sanitize(text)).startswith(("!", "/")) else text
