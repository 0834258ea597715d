"""The screens of extensions where a conversation has several front ends: all show what extensions draw, and a question
about the screen goes to the first that can answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.extension_ui import EditorText, ExtensionUI, UiInfo

if TYPE_CHECKING:
    from zot.core.session.session import Session
    from zot.wire.extension_frames import Panel


class SharedUI(ExtensionUI):
    """``first`` is that of the front end that built the conversation."""

    def __init__(self, first: ExtensionUI) -> None:
        self._all = [first]
        self._panels: dict[tuple[str, str], Panel] = {}
        self._drawn: dict[tuple[str, str, str], tuple[Any, bool]] = {}
        self.on_change = first.on_change
        first.on_change = self._changed

    def join(self, surface: ExtensionUI) -> Callable[[], None]:
        """Draw here too, what is there and what follows. Call the result to leave."""
        surface.on_change = self._guest_changed
        self._all.append(surface)
        for (extension, _), panel in self._panels.items():
            surface.open_panel(extension, panel)
        for (extension, kind, name), (value, stale) in self._drawn.items():
            surface.contribute(extension, kind, name, value, stale=stale)

        def leave() -> None:
            if surface in self._all:
                self._all.remove(surface)

        return leave

    def _changed(self, event: str, data: dict[str, Any]) -> None:
        self.on_change(event, data)

    def _guest_changed(self, event: str, data: dict[str, Any]) -> None:
        """Sizes and themes are those of the first screen."""
        if event == "ui_changed":
            self.on_change(event, msgspec.to_builtins(self.ui_info()))

    @property
    def _first(self) -> ExtensionUI:
        return self._all[0]

    @property
    def interactive(self) -> bool:
        return any(each.interactive for each in self._all)

    # --- on every screen

    def notify(self, extension: str, level: str, message: str) -> None:
        for each in self._all:
            each.notify(extension, level, message)

    def clear_notes(self, extension: str) -> None:
        for each in self._all:
            each.clear_notes(extension)

    def display(self, extension: str, text: str) -> None:
        for each in self._all:
            each.display(extension, text)

    def open_panel(self, extension: str, panel: Panel) -> None:
        self._panels[extension, panel.id] = panel
        for each in self._all:
            each.open_panel(extension, panel)

    def render_panel(self, extension: str, panel: Panel) -> None:
        before = self._panels.get((extension, panel.id))
        title = panel.title or (before.title if before is not None else "")
        self._panels[extension, panel.id] = msgspec.structs.replace(panel, title=title)
        for each in self._all:
            each.render_panel(extension, panel)

    def close_panel(self, extension: str, panel_id: str) -> None:
        self._panels.pop((extension, panel_id), None)
        for each in self._all:
            each.close_panel(extension, panel_id)

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        """The conflict on the first screen that has one."""
        self._drawn[extension, kind, name] = value, stale
        if len(self._all) == 1:  # extensions may draw a thousand times a second
            return self._all[0].contribute(extension, kind, name, value, stale=stale)
        conflicts = [each.contribute(extension, kind, name, value, stale=stale) for each in self._all]
        return next(filter(None, conflicts), "")

    def withdraw(self, extension: str, kind: str, name: str) -> None:
        self._drawn.pop((extension, kind, name), None)
        for each in self._all:
            each.withdraw(extension, kind, name)

    def notify_desktop(self, extension: str, message: str) -> None:
        for each in self._all:
            each.notify_desktop(extension, message)

    def ui_info(self) -> UiInfo:
        """What any of them can show; the size is that of the first."""
        every = [each.ui_info() for each in self._all]
        can = {
            name: any(getattr(info, name) for info in every)
            for name in ("dialogs", "surfaces", "panels", "editor", "images")
        }
        sized = next((info for info in every if info.width), every[0])
        return msgspec.structs.replace(sized, **can)

    # --- by the first that can

    def submit(self, extension: str, text: str) -> None:
        self._first.submit(extension, text)

    def submit_slash(self, extension: str, text: str) -> None:
        self._first.submit_slash(extension, text)

    def run_queued(self) -> bool:
        return any(each.run_queued() for each in self._all)

    def run_compaction(self, focus: str) -> bool:
        return any(each.run_compaction(focus) for each in self._all)

    def stop_work(self) -> Awaitable[bool] | None:
        return next((work for each in self._all if (work := each.stop_work()) is not None), None)

    async def show_session(self, session: Session | None, note: str, draft: str) -> None:
        """The others follow the event of the change."""
        await self._first.show_session(session, note, draft)

    def leave(self, extension: str) -> Awaitable[bool] | None:
        return self._first.leave(extension)

    def own_commands(self) -> Iterable[tuple[str, str]]:
        return self._first.own_commands()

    def read_editor(self) -> EditorText | None:
        return next((text for each in self._all if (text := each.read_editor()) is not None), None)

    def write_editor(self, extension: str, text: str, cursor: int | None = None, *, insert: bool = False) -> bool:
        return any(each.write_editor(extension, text, cursor, insert=insert) for each in self._all)

    def run_in_terminal(
        self, extension: str, argv: Sequence[str], run: Callable[[], Awaitable[int]]
    ) -> Awaitable[int] | None:
        return self._first.run_in_terminal(extension, argv, run)

    def theme_info(self) -> dict[str, Any] | None:
        return next((info for each in self._all if (info := each.theme_info()) is not None), None)

    def set_theme(self, name: str) -> str:
        return self._first.set_theme(name)

    def panel_size(self, extension: str, panel_id: str) -> tuple[int, int]:
        sizes = (each.panel_size(extension, panel_id) for each in self._all)
        return next((size for size in sizes if size != (0, 0)), (0, 0))
