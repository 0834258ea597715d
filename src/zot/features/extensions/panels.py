"""Open panels of extensions: who may draw them, and which one gets the keys.
One panel of the first edition is open at a time. Of the second edition up to eight are open, one per extension and id;
one has the focus."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec

from zot.agent.extension_ui import ExtensionUI
from zot.features.extensions.child import ExtensionChild
from zot.wire import extension_frames
from zot.wire.limits import PANEL_INTERVAL, PANELS

_KEYS = ("", "named", "all", "release")
_COVERING = ("overlay", "full")
PanelKey = tuple[str, str]  # extension and panel id


class _Open(msgspec.Struct):
    edition2: bool
    wants_focus: bool = True
    size: tuple[int, int] = (0, 0)
    drawn: float = 0.0
    waiting: extension_frames.Panel | None = None  # drawn next
    timer: asyncio.TimerHandle | None = None


class PanelRequests:
    """``find`` returns a running child by name."""

    def __init__(self, surface: ExtensionUI, find: Callable[[str], ExtensionChild | None]) -> None:
        self._surface = surface
        self._find = find
        self._open: dict[PanelKey, _Open] = {}  # the newest last
        self.focused: PanelKey | None = None

    def claimed(self, child: ExtensionChild, panel: extension_frames.Panel | None) -> extension_frames.Panel | None:
        """The panel is open from now on, and the caller shows it; None if it cannot be shown. One of the first edition
        closes the previous one, whose owner is notified."""
        if panel is None or not self._surface.interactive:
            return None
        key, edition2 = (child.name, panel.id), child.edition2
        if not edition2:
            panel = extension_frames.Panel(id=panel.id, title=panel.title, lines=panel.lines, footer=panel.footer)
            for other in [other for other, opened in self._open.items() if other != key and not opened.edition2]:
                self._forget(other)
                self._surface.close_panel(*other)
                self._send_close(*other)
        elif (refused := self._refusal(child, panel)) is not None:
            child.fault(*refused)
            return None
        if panel.rows is not None:
            _check_size(child, panel.rows)
        self._drop_timer(key)
        self._open.pop(key, None)
        self._open[key] = _Open(edition2, wants_focus(panel.place))
        self._settle_focus(key)
        return panel

    def render(self, child: ExtensionChild, frame: extension_frames.PanelRender) -> None:
        """Redraw; of the second edition at most 60 times a second, the newest."""
        key = (child.name, frame.panel_id)
        if (opened := self._open.get(key)) is None:
            return
        panel = extension_frames.Panel(id=frame.panel_id, title=frame.title, lines=frame.lines, footer=frame.footer)
        if not opened.edition2:
            self._surface.render_panel(child.name, panel)
            return
        if frame.place is not None:
            if _covers(frame.place) and (
                refused := self._refusal(child, msgspec.structs.replace(panel, place=frame.place))
            ):
                child.fault(*refused)
                return
            opened.wants_focus = wants_focus(frame.place)
            self._settle_focus(key)
        if frame.rows is not None:
            _check_size(child, frame.rows)
        title = panel.title or (opened.waiting.title if opened.waiting is not None else "")
        place = frame.place if frame.place is not None or opened.waiting is None else opened.waiting.place
        panel = msgspec.structs.replace(panel, title=title, rows=frame.rows, place=place, cursor=frame.cursor)
        opened.waiting = panel
        if opened.timer is None:
            wait = opened.drawn + PANEL_INTERVAL - time.monotonic()
            if wait <= 0:
                self._draw(key)
            else:
                opened.timer = asyncio.get_running_loop().call_later(wait, self._draw, key)

    def _draw(self, key: PanelKey) -> None:
        if (opened := self._open.get(key)) is None:
            return
        opened.timer, opened.drawn = None, time.monotonic()
        panel, opened.waiting = opened.waiting, None
        if panel is not None:
            self._surface.render_panel(key[0], panel)

    # --- closing

    def closed_by_child(self, child: ExtensionChild, panel_id: str) -> None:
        key = (child.name, panel_id)
        if key in self._open:
            self._forget(key)
            self._settle_focus()
            self._surface.close_panel(*key)

    def closed_by_user(self, extension: str, panel_id: str) -> None:
        if (extension, panel_id) in self._open:
            self._forget((extension, panel_id))
            self._send_close(extension, panel_id)
            self._settle_focus()

    def child_ended(self, child: ExtensionChild) -> None:
        for name, panel_id in [key for key in self._open if key[0] == child.name]:
            self._forget((name, panel_id))
            self._settle_focus()
            self._surface.close_panel(name, panel_id)

    def _forget(self, key: PanelKey) -> None:
        self._drop_timer(key)
        del self._open[key]
        if self.focused == key:
            self.focused = None

    def _drop_timer(self, key: PanelKey) -> None:
        if (opened := self._open.get(key)) is not None and opened.timer is not None:
            opened.timer.cancel()

    # --- keys, focus and size

    def key(self, extension: str, panel_id: str, key: str, text: str, event: str = "") -> None:
        opened = self._open.get((extension, panel_id))
        if opened is not None and opened.wants_focus and (child := self._find(extension)):
            shown = text if key == "rune" else ""
            child.send(extension_frames.PanelKey(panel_id=panel_id, key=key, text=shown, event=event))

    def resized(self, extension: str, panel_id: str, width: int, height: int) -> None:
        """Also at opening; told only to extensions of the second edition."""
        opened = self._open.get((extension, panel_id))
        if opened is None or not opened.edition2 or opened.size == (width, height):
            return
        opened.size = (width, height)
        if child := self._find(extension):
            child.send(extension_frames.PanelResize(panel_id=panel_id, width=width, height=height))

    def _settle_focus(self, asking: PanelKey | None = None) -> None:
        """The focus goes to the panel that asks, if none has it or its extension has it; else to the newest panel that
        wants it once the one that had it is closed or gives it up."""
        before = self.focused
        held = before is not None and before in self._open and self._open[before].wants_focus
        now = before if held else None
        if asking is not None and self._open[asking].wants_focus and (now is None or now[0] == asking[0]):
            now = asking
        if now is None:
            now = next((key for key in reversed(self._open) if self._open[key].wants_focus), None)
        self.focused = now
        if now != before:
            self._send_focus(before, focused=False)
            self._send_focus(now, focused=True)

    def _send_focus(self, key: PanelKey | None, *, focused: bool) -> None:
        if key is not None and key in self._open and self._open[key].edition2 and (child := self._find(key[0])):
            child.send(extension_frames.PanelFocus(panel_id=key[1], focused=focused))

    def _send_close(self, extension: str, panel_id: str) -> None:
        if child := self._find(extension):
            child.send(extension_frames.PanelClose(panel_id=panel_id))

    # --- what may be opened

    def _refusal(self, child: ExtensionChild, panel: extension_frames.Panel) -> tuple[str, str] | None:
        """Kind and text of the diagnostic if it cannot be opened."""
        key = (child.name, panel.id)
        if key not in self._open and len(self._open) >= PANELS:
            return "too many panels", f"opened more than {PANELS} panels; {panel.id[:60]!r} was not shown"
        if panel.keys not in _KEYS:
            return "bad panel", f"panel {panel.id[:60]!r}: keys: expected named, all or release"
        if _covers(panel.place):
            from zot.features.extensions.contributions import imitates_zot

            if imitates_zot(child.name):
                return "denied", f"may not open an overlay: the name {child.name!r} could be taken for zot's"
        return None


def _check_size(child: ExtensionChild, rows: Any) -> None:
    from zot.wire.lines import MOST_CHARS, MOST_LINES, is_cut  # only for styled panels

    if is_cut(rows):
        child.fault("panel cut", f"a panel has at most {MOST_LINES} rows of {MOST_CHARS:,} characters; it was cut")


def wants_focus(place: Any) -> bool:
    return not (isinstance(place, dict) and cast("dict[str, Any]", place).get("focus") is False)


def _covers(place: Any) -> bool:
    return isinstance(place, dict) and cast("dict[str, Any]", place).get("mode") in _COVERING
