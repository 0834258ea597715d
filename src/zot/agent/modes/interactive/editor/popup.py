"""The contract of what opens above the editor while typing: completions, files, the search of the history."""

from __future__ import annotations

from typing import Protocol

from zot.tui.keys import Key
from zot.tui.theme import Theme

ROWS = 12


class Popup(Protocol):
    """While ``visible``, ``key`` gets keys before anyone else and says whether it used one; ``escape`` is esc."""

    @property
    def visible(self) -> bool: ...

    def key(self, key: Key) -> bool: ...

    def escape(self) -> None: ...

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows."""
        ...
