"""The status bar: one line about the model and what it cost, one about the place; more lines where it is narrow."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import msgspec

from zot.tui.theme import Theme
from zot.tui.width import cells, cut


class Stat(msgspec.Struct, frozen=True):
    text: str
    role: str = "muted"


class StatusBar(msgspec.Struct, frozen=True):
    """``busy`` is styled already; everything else is plain text."""

    busy: str = ""
    model: str = ""
    stats: tuple[Stat, ...] = ()
    tags: tuple[str, ...] = ()
    place: str = ""

    def lines(self, theme: Theme, width: int) -> list[str]:
        model = theme.paint("muted", self.model)
        stats = " ".join(theme.paint(stat.role, stat.text) for stat in self.stats)
        whole = _line([self.busy, model, stats])
        rows = [whole] if cells(whole) <= width else self._split(model, stats, width)
        if place := self._place():
            rows.append(theme.paint("muted", f"  {place}"))
        return [cut(row, width) for row in rows if row.strip()]

    def _split(self, model: str, stats: str, width: int) -> list[str]:
        both = _line([model, stats])
        middle = [both] if cells(both) <= width else [_line([model]), _line([stats])]
        return [_line([self.busy]), *middle]

    def _place(self) -> str:
        if not self.place:
            return " ".join(self.tags)
        return " ".join([*self.tags, "-", self.place]) if self.tags else self.place


def _line(parts: Sequence[str]) -> str:
    return "  " + "  ".join(part for part in parts if part) if any(parts) else ""


def tokens(count: int) -> str:
    """``950``, ``2.7k``, ``35k``, ``1.1M``, ``12M``."""
    if count < 1_000:
        return str(count)
    for size, unit in ((1_000, "k"), (1_000_000, "M")):
        if count < 10 * size:
            return f"{count // (size // 10) / 10:.1f}{unit}"
        if count < 1_000 * size:
            return f"{count // size}{unit}"
    return f"{count // 1_000_000}M"


class Spinner:
    """A glyph that turns, a phrase that stays for the turn, and the seconds that pass.

    ``start`` picks the phrase; ``text`` is the line at this moment.
    """

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
