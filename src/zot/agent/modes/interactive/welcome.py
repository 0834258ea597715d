"""The first thing one sees: who this is and what to do, until the first prompt."""

from __future__ import annotations

import time

from zot import __version__
from zot.tui.theme import Theme
from zot.tui.width import cut

_VERSION_S = 1.5


class Welcome:
    def __init__(self) -> None:
        self._since = time.monotonic()
        self.gone = False

    @property
    def fresh(self) -> bool:
        """Whether the version is still to be shown, or has just to go."""
        return not self.gone and time.monotonic() - self._since < _VERSION_S + 0.3

    def lines(self, theme: Theme, width: int) -> list[str]:
        if self.gone:
            return []
        version = f" ({__version__})" if time.monotonic() - self._since < _VERSION_S else ""
        bar = theme.paint("accent", "▌ ")
        return [
            cut(bar + theme.paint("assistant", f"zot{version}", bold=True), width),
            cut(bar + theme.paint("muted", "ask something, or type /help"), width),
        ]
