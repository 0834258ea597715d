"""Panels of extensions on the screen. The one with the focus gets the keys, as a dialog of the lowest rank; others are
only drawn. zot's own questions hide them all. Which panels are open and focused is the host's decision."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import msgspec

from zot.frontends.terminal.dialogs.dialog import PANEL, WAITS, Dialog, titled_rule
from zot.frontends.terminal.extensions.dialog_box import frame_row
from zot.frontends.terminal.extensions.panel_place import Box, PanelPlace, parse_place
from zot.frontends.terminal.extensions.panel_rows import footer_rows, panel_rows, shown_lines, styled_rows
from zot.tui.sanitize import beginning, sanitize
from zot.tui.widgets import window
from zot.tui.width import cells, cut, pad, visible, without_start, wrap

if TYPE_CHECKING:
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.tui.keys import Key
    from zot.tui.theme import Theme
    from zot.wire.extension_frames import Panel

_NAMED = frozenset(
    {"up", "down", "left", "right", "enter", "tab", "backspace", "delete", "home", "end", "pageup", "pagedown"}
)
_TITLE = 200
_ESC_AGAIN_S = 0.5
_SHARE = 3  # panels without the focus have one third of the screen
_LEAST = 4  # rows of the screen over which nothing is drawn


class PanelOwner(Protocol):
    """Receiver of panel keys: the host, once it runs."""

    @property
    def focused_panel(self) -> tuple[str, str] | None: ...

    def panel_key(self, extension: str, panel_id: str, key: str, text: str = "", event: str = "") -> None: ...

    def panel_closed(self, extension: str, panel_id: str) -> None: ...

    def panel_resized(self, extension: str, panel_id: str, width: int, height: int) -> None: ...


class PanelView:
    """One open panel. ``dialog`` takes its keys while it has the focus."""

    def __init__(self, extension: str, panel: Panel, panels: Panels) -> None:
        self.extension = extension
        self.panel = panel
        self.place: PanelPlace = parse_place(panel.place)
        self.dialog: PanelDialog | None = None
        self.cursor: tuple[int, int] | None = None  # in the rows drawn last
        self._panels = panels
        self._made: tuple[Panel, object, int, list[str], int, list[str], tuple[int, int] | None] | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.extension, self.panel.id

    def redraw(self, panel: Panel) -> None:
        """Keeps title, place and keys where the new content has none."""
        place = panel.place if panel.place is not None else self.panel.place
        title = panel.title or self.panel.title
        self.panel = msgspec.structs.replace(panel, title=title, place=place, keys=self.panel.keys)
        self.place = parse_place(place)

    @property
    def title(self) -> str:
        return visible(sanitize(beginning(self.panel.title, _TITLE))).replace("\n", " ")

    @property
    def _styled(self) -> bool:
        return self.panel.rows is not None

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows around the selected one, then the footer."""
        self._panels.measured(self, width, height)
        made = self._made
        painter = self._panels.ui.painter
        if made is None or made[0] is not self.panel or made[1] is not painter or made[2] != width:
            made = self._made = (self.panel, painter, width, *self._laid_out(theme, width))
        _, _, _, rows, selected, footer, cursor = made
        room = max(height - len(footer), 1)
        first, last = window(len(rows), selected, room)
        self.cursor = (cursor[0] - first, cursor[1]) if cursor is not None and first <= cursor[0] < last else None
        return [*rows[first:last], *footer[: max(height - 1, 0)]]

    def _laid_out(self, theme: Theme, width: int) -> tuple[list[str], int, list[str], tuple[int, int] | None]:
        footer = footer_rows(theme, self.panel.footer, width)
        if self._styled:
            rows, selected, cursor = styled_rows(self.panel.rows, self.panel.cursor, self._panels.ui.painter, width)
            return rows, selected, footer, cursor
        lines, remark = shown_lines(self.panel.lines)
        notice = [theme.paint("warning", row) for row in wrap(remark, width)] if remark else []
        rows, selected = panel_rows(theme, lines, width)
        return rows, selected, notice + footer, None

    def inline(self, theme: Theme, width: int, height: int) -> list[str]:
        """With rules around it, and the name of its extension."""
        rule = titled_rule(theme, f"{self.title or self.extension} [{self.extension}]", width)
        return [rule, *self.rows(theme, width, max(height - 2, 1)), theme.paint("border", "─" * width)]

    # --- over the rest of the screen

    def boxed(self, theme: Theme, columns: int, rows: int, *, waits: bool) -> tuple[Box, list[str]]:
        """The box and its rows. Its first row, which only zot draws, names the extension."""
        place, full = self.place, self.place.mode == "full"
        most = place.most_rows(rows)
        width = place.box(columns, rows, most).width
        inner = width if full else width - 4
        head = [theme.paint("accent", cut(self.title, inner), bold=True)] if self.title and most > 4 else []
        head += [theme.paint("warning", cut(WAITS, inner))] if waits and most > 4 else []
        body = self.rows(theme, max(inner, 1), max(most - len(head) - (1 if full else 2), 1))
        if self.cursor is not None:
            self.cursor = (self.cursor[0] + 1 + len(head), self.cursor[1] + (0 if full else 2))
        text = [*head, *body]
        box = place.box(columns, rows, len(text) + (1 if full else 2))
        rule = frame_row(theme, self.extension, "panel", width)
        if full:
            return box, [rule, *(pad(row, width) for row in text[: box.height - 1]), *self._blank(box, len(text) + 1)]
        side = theme.paint("border", "┃")
        sides = [f"{side} {pad(row, inner)} {side}" for row in text[: max(box.height - 2, 0)]]
        return box, [rule, *sides, theme.paint("border", f"┗{'━' * max(width - 2, 0)}┛")][: box.height]

    def _blank(self, box: Box, taken: int) -> list[str]:
        return [" " * box.width] * max(box.height - taken, 0)


class PanelDialog(Dialog[bool]):
    """Takes the keys of a panel. Ends with True if the user closed it."""

    rank = PANEL
    unasked = True

    def __init__(self, view: PanelView, panels: Panels) -> None:
        super().__init__()
        self.view = view
        self._panels = panels
        self._escaped = 0.0

    @property
    def overlaid(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  it may change
        return self.view.place.mode != "inline"

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        self.title = self.view.title or self.view.extension
        if self.view.panel.rows is not None:
            self.title += f" [{self.view.extension}]"
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = self.view.rows(theme, width, height)
        self.cursor = None if self.waits else self.view.cursor
        return rows

    def key(self, key: Key) -> bool:
        every = self.view.panel.keys in ("all", "release")
        now, before = time.monotonic(), self._escaped
        if key.name == "ctrl+c" or (key.name == "esc" and not (every and now - before > _ESC_AGAIN_S)):
            self.finish(True)
            return True
        self._escaped = now if key.name == "esc" else 0.0
        event = "press" if self.view.panel.keys == "release" else ""
        for name, text in panel_keys(key, every=every):
            self._panels.owner.panel_key(*self.view.key, name, text, event)
        return True


class Panels:
    """``find_owner`` returns the host, once it runs."""

    def __init__(self, ui: ScreenServices, dialogs: Dialogs, find_owner: Callable[[], PanelOwner | None]) -> None:
        self.ui = ui
        self._dialogs = dialogs
        self._find_owner = find_owner
        self._views: dict[tuple[str, str], PanelView] = {}

    @property
    def owner(self) -> PanelOwner:
        owner = self._find_owner()
        assert owner is not None, "only the host opens panels"
        return owner

    def open(self, extension: str, panel: Panel) -> None:
        self._remove((extension, panel.id))
        self._views[extension, panel.id] = PanelView(extension, panel, self)
        self._follow_focus()

    def render(self, extension: str, panel: Panel) -> None:
        if (view := self._views.get((extension, panel.id))) is not None:
            view.redraw(panel)
            self._follow_focus()

    def close(self, extension: str, panel_id: str) -> None:
        self._remove((extension, panel_id))
        self._follow_focus()

    def _remove(self, key: tuple[str, str]) -> None:
        view = self._views.pop(key, None)
        if view is not None and view.dialog is not None:
            view.dialog.finish(False)

    def _follow_focus(self) -> None:
        """The dialog that takes keys belongs to the panel with the focus."""
        focused = self.owner.focused_panel
        for key, view in self._views.items():
            if view.dialog is not None and key != focused:
                view.dialog.finish(False)
                view.dialog = None
            elif view.dialog is None and key == focused:
                view.dialog = PanelDialog(view, self)
                self.ui.spawn(self._take_keys(view, view.dialog))
        self.ui.redraw()

    async def _take_keys(self, view: PanelView, dialog: PanelDialog) -> None:
        if await self._dialogs.ask(dialog) and self._views.get(view.key) is view:
            del self._views[view.key]
            self.owner.panel_closed(*view.key)
            self._follow_focus()

    def measured(self, view: PanelView, width: int, height: int) -> None:
        self.owner.panel_resized(*view.key, width, height)

    # --- drawing

    def _shown(self) -> bool:
        """False while a question or a dialog is open: nothing of a panel is drawn then."""
        top = self._dialogs.top
        return top is None or top.rank == PANEL

    @property
    def cover(self) -> bool:
        """True if something is drawn over the rest of the screen."""
        return self._shown() and any(self._covers(view) for view in self._views.values())

    @staticmethod
    def _covers(view: PanelView) -> bool:
        return view.place.mode == "overlay" or (view.place.mode == "full" and view.dialog is not None)

    def beside(self, theme: Theme, width: int, height: int) -> list[list[str]]:
        """Inline panels without the focus, within their share of the screen."""
        if not self._shown():
            return []
        room, blocks = height // _SHARE, list[list[str]]()
        for view in self._views.values():
            if view.place.mode == "inline" and view.dialog is None and room >= _LEAST:
                blocks.append(view.inline(theme, width, room))
                room -= len(blocks[-1]) + 1
        return blocks

    def over(self, base: list[str], columns: int, typing: int, bar: int) -> tuple[list[str], tuple[int, int] | None]:
        """The rows of the screen with overlays on them, and the cursor in the one that has the focus. The last ``bar``
        rows, which name the permission mode, stay as they are; so do the ``typing`` rows of the editor under those
        without the focus."""
        theme, cursor = self.ui.theme, None
        for view in sorted(filter(self._covers, self._views.values()), key=lambda view: view.dialog is not None):
            dialog = view.dialog
            waits = dialog is not None and dialog.waits
            rows = len(base) - (typing if dialog is None or waits else bar)
            if rows < _LEAST:
                continue
            box, drawn = view.boxed(theme, columns, rows, waits=waits)
            for number, row in enumerate(drawn, box.row):
                base[number] = laid_over(base[number], row, box)
            if dialog is not None and not waits and view.cursor is not None and view.cursor[0] < len(drawn):
                cursor = (box.row + view.cursor[0], box.column + view.cursor[1])
        return base, cursor


def laid_over(below: str, row: str, box: Box) -> str:
    """The row of a box on a row of the screen."""
    start = cut(below, box.column, "")
    before = f"{start}{' ' * (box.column - cells(start))}\x1b[0m"
    return f"{before}{pad(row, box.width)}\x1b[0m{without_start(below, box.column + box.width)}"


def panel_keys(key: Key, *, every: bool = False) -> list[tuple[str, str]]:
    """Names of a key on the wire; a paste is one ``rune`` per character. ``every``: keys have all their names."""
    if key.name == "paste" or key.printable:
        return [("rune", character) for character in key.text]
    return [(key.name, "")] if every or key.name in _NAMED else [("unknown", "")]
