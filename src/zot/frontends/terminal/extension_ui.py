"""What extensions do on the screen: notes, prompts and commands, and one panel at a time.
A panel passes every key to its extension; esc and ctrl+c close it. Long lines are wrapped here."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from zot.agent.extension_ui import ExtensionUI, UiInfo
from zot.frontends.terminal.dialogs.dialog import PANEL, Dialog
from zot.tui.keys import Key
from zot.tui.sanitize import beginning, excerpt, sanitize
from zot.tui.theme import Theme
from zot.tui.widgets import window
from zot.tui.width import RESET, visible, wrap

if TYPE_CHECKING:
    from zot.core.session.session import Session
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.screen.notice_area import Notes
    from zot.frontends.terminal.screen.theme_manager import ThemeManager
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.wire.extension_frames import Panel

_NAMED = frozenset(
    {"up", "down", "left", "right", "enter", "tab", "backspace", "delete", "home", "end", "pageup", "pagedown"}
)
_LINES, _CHARACTERS = 2_000, 200_000  # lines of a panel that are laid out
_TITLE, _FOOTER_LINES, _FOOTER = 200, 10, 1_000
_SEARCHED = 20_000  # lines among which the selected one of a huge panel is searched
_SELECTED = re.compile("^ *(▸ |● |\u200b)")


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
        panels: Panels,
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
        self.open_panel = panels.open
        self.render_panel = panels.render
        self.close_panel = panels.close

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
        self._ui.draw_surface(kind, extension, name, value, stale=stale)
        return ""

    def withdraw(self, extension: str, kind: str, name: str) -> None:
        self._ui.remove_surface(kind, extension, name)

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


class PanelOwner(Protocol):
    """Receiver of panel keys: the host, once it runs."""

    def panel_key(self, extension: str, panel_id: str, key: str, text: str) -> None: ...

    def panel_closed(self, extension: str, panel_id: str) -> None: ...


class NullPanelOwner:
    def panel_key(self, extension: str, panel_id: str, key: str, text: str) -> None: ...

    def panel_closed(self, extension: str, panel_id: str) -> None: ...


class PanelDialog(Dialog[bool]):
    """Ends with True if the user closed it."""

    rank = PANEL
    unasked = True

    def __init__(self, extension: str, panel: Panel, panels: Panels) -> None:
        super().__init__()
        self.extension = extension
        self.panel = panel
        self._panels = panels
        self._made: tuple[Panel, Theme, int, list[str], int, list[str]] | None = None

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        self.title = visible(sanitize(beginning(self.panel.title, _TITLE))).replace("\n", " ") or self.extension
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        made = self._made
        if made is None or made[0] is not self.panel or made[1:3] != (theme, width):
            lines, remark = shown_lines(self.panel.lines)
            footer = [theme.paint("warning", row) for row in wrap(remark, width)] if remark else []
            made = (
                *(self.panel, theme, width),
                *panel_rows(theme, lines, width),
                footer + _footer(theme, self.panel.footer, width),
            )
            self._made = made
        _, _, _, rows, selected, footer = made
        room = max(height - len(footer), 1)
        first, last = window(len(rows), selected, room)
        return [*rows[first:last], *footer[: max(height - 1, 0)]]

    def key(self, key: Key) -> bool:
        if key.name in ("esc", "ctrl+c"):
            self.finish(True)
            return True
        for name, text in panel_keys(key):
            self._panels.owner().panel_key(self.extension, self.panel.id, name, text)
        return True


class Panels:
    """``owner`` receives the keys: the host, once it runs."""

    def __init__(self, ui: ScreenServices, dialogs: Dialogs) -> None:
        self._ui = ui
        self._dialogs = dialogs
        self.owner: Callable[[], PanelOwner] = NullPanelOwner
        self._open: PanelDialog | None = None

    def open(self, extension: str, panel: Panel) -> None:
        old = self._open
        if old is not None and (old.extension, old.panel.id) != (extension, panel.id):
            self.owner().panel_closed(old.extension, old.panel.id)
        if old is not None:
            old.finish(False)
        self._open = PanelDialog(extension, panel, self)
        self._ui.spawn(self._show(self._open))

    async def _show(self, dialog: PanelDialog) -> None:
        if await self._dialogs.ask(dialog):
            self.owner().panel_closed(dialog.extension, dialog.panel.id)
        if self._open is dialog:
            self._open = None

    def render(self, extension: str, panel: Panel) -> None:
        if (dialog := self._of(extension, panel.id)) is not None:
            title = panel.title or dialog.panel.title
            dialog.panel = msgspec.structs.replace(panel, title=title)
            self._ui.redraw()

    def close(self, extension: str, panel_id: str) -> None:
        if (dialog := self._of(extension, panel_id)) is not None:
            dialog.finish(False)
            self._ui.redraw()

    def _of(self, extension: str, panel_id: str) -> PanelDialog | None:
        dialog = self._open
        if dialog is None or dialog.done or (dialog.extension, dialog.panel.id) != (extension, panel_id):
            return None
        return dialog


def panel_keys(key: Key) -> list[tuple[str, str]]:
    """Names of a key on the wire; a paste is one ``rune`` per character."""
    if key.name == "paste" or key.printable:
        return [("rune", character) for character in key.text]
    return [(key.name, "")] if key.name in _NAMED else [("unknown", "")]


def shown_lines(lines: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The lines to lay out, around the selected one in a huge panel, and a notice about the rest."""
    if len(lines) <= _LINES and sum(map(len, lines)) <= _CHARACTERS:
        return lines, ""
    selected = next(
        (
            n
            for n, line in enumerate(lines[:_SEARCHED])
            if _SELECTED.match(visible(sanitize(line[:_TITLE]))) is not None
        ),
        0,
    )
    first = max(0, min(selected - _LINES // 2, len(lines) - _LINES))
    kept = lines[first : first + _LINES]
    longest = _CHARACTERS // len(kept)
    remark = f"… this panel is too large: {len(lines) - len(kept):,} of its {len(lines):,} lines are not shown"
    if len(kept) == len(lines):
        remark = f"… this panel is too large: each line is truncated to {longest:,} characters"
    return tuple(line[:longest] for line in kept), remark


def panel_rows(theme: Theme, lines: tuple[str, ...], width: int) -> tuple[list[str], int]:
    """Wrapped rows, and the number of the first selected one."""
    rows: list[str] = []
    selected = 0
    for line in lines:
        clean = sanitize(line).replace("\t", "    ").replace("\n", " ")
        marker = _SELECTED.match(visible(clean))
        if marker:
            selected = len(rows)
            text = visible(clean)
            made = wrap(text, width, _indent(text) + "  ")  # the marker is only on the first row
            rows += [theme.selected(row.replace("\u200b", ""), width) for row in made]
        else:
            rows += [
                _ticks(theme, row)
                for row in wrap(
                    f"{clean}{RESET}" if "\x1b" in clean else theme.paint("muted", clean),
                    width,
                    _indent(visible(clean)),
                )
            ]
    return rows, selected


def _indent(line: str) -> str:
    """A line's indentation, for its continuation rows."""
    return " " * (len(line) - len(line.lstrip(" ")))


def _ticks(theme: Theme, row: str) -> str:
    """A tick is green; the text around it keeps its colour."""
    if "✓" not in row:
        return row
    opening = "".join(re.findall(r"\x1b\[[0-9;:]*m", row.partition("✓")[0].rpartition(RESET)[2]))
    return row.replace("✓", f"{RESET}{theme.paint('tool', '✓')}{opening}")


def _footer(theme: Theme, footer: str, width: int) -> list[str]:
    shown, remark = excerpt(footer, lines=_FOOTER_LINES, characters=_FOOTER)
    clean = visible(sanitize(f"{shown}{remark}")).strip()
    return ["", *(theme.paint("muted", row) for row in wrap(clean, width))] if clean else []
