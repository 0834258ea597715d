"""What a question is about, in full: as many rows as there is room for, the rest a page away, and that is said.

Nobody approves what is out of sight, or what a screen would hide, without being told of it.
"""

from __future__ import annotations

from collections.abc import Callable

from zot.frontends.terminal.dialogs.text_dialogs import Pages
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.width import pad

Make = Callable[[Theme, int], list[str]]


class Evidence:
    """``make`` makes all the rows for a width; ``hidden`` is whether some of it had to be spelled out."""

    def __init__(self, make: Make, *, hidden: bool) -> None:
        self._make = make
        self._hidden = hidden
        self._made: tuple[Theme, int, list[str]] | None = None
        self._pages = Pages()

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows, the last of which says what cannot be seen."""
        if self._made is None or self._made[:2] != (theme, width):
            self._made = (theme, width, self._make(theme, max(width - 4, 1)))
        shown = self._pages.show(self._made[2], max(height - 1, 1))
        return [*("  " + row for row in shown), self._caution(theme, width)]

    def _caution(self, theme: Theme, width: int) -> str:
        said: list[str] = []
        if not self._pages.whole:
            said.append(f"rows {self._pages.place} · page up/down shows the rest")
        if self._hidden:
            said.append("⟨…⟩ marks what a terminal would hide")
        return theme.paint("warning", pad(f"  {' · '.join(said)}", width)) if said else ""

    def key(self, key: Key) -> bool:
        return self._pages.key(key)
