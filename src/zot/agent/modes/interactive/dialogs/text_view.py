"""A text to read, as tall as there is room: what doctor says, what was spent, a skill. Any closing key ends it."""

from __future__ import annotations

from collections.abc import Callable

from zot.agent.modes.interactive.dialogs.dialog import Dialog
from zot.agent.modes.interactive.dialogs.pages import Pages
from zot.tui.keys import Key
from zot.tui.theme import Theme

Rows = Callable[[Theme, int], list[str]]


class TextView(Dialog[bool]):
    """``render`` makes the rows for a theme and a width; it is called again when either changes."""

    def __init__(self, title: str, render: Rows, *, most: int = 100) -> None:
        super().__init__()
        self.title = title
        self._render = render
        self._most = most
        self._pages = Pages()
        self._made: tuple[Theme, int, list[str]] | None = None

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        if self._made is None or self._made[0] is not theme or self._made[1] != width:
            self._made = (theme, width, self._render(theme, width))
        self._pages.show(self._made[2], min(height - 3, self._most))
        place = "" if self._pages.whole else f"{self._pages.place} · up/down, page up/down · "
        self.hint = f"{place}esc closes"
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        assert self._made is not None
        return self._pages.show(self._made[2], min(height, self._most))

    def key(self, key: Key) -> bool:
        if key.name in ("enter", "q"):
            self.finish(True)
            return True
        return self._pages.key(key)
