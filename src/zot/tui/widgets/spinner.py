"""A glyph that turns, a phrase that stays for the turn, and the seconds that pass."""

from __future__ import annotations

import random
import time

from zot.tui.theme import Theme
from zot.tui.width import cells


class Spinner:
    """``start`` picks the phrase; ``text`` is the line at this moment."""

    def __init__(self) -> None:
        self._started = 0.0
        self._choice = 0
        self.fixed = ""  # said instead of the phrase, e.g. while compacting

    def start(self, fixed: str = "") -> None:
        self._started = time.monotonic()
        self._choice = random.randrange(1 << 16)
        self.fixed = fixed

    def text(self, theme: Theme, *, instead: str = "") -> str:
        elapsed = time.monotonic() - self._started
        frames, messages = theme.spinner.frames, theme.spinner.messages
        frame = frames[int(elapsed * 1000 / theme.spinner.interval_ms) % len(frames)]
        frame += " " * (max(map(cells, frames)) - cells(frame))
        phrase = instead or self.fixed or messages[self._choice % len(messages)]
        return (
            f"{theme.paint('spinner', frame)} {theme.paint('assistant', phrase)} "
            f"{theme.paint('muted', f'- {int(elapsed)}s')}"
        )
