"""The status bar: one line about the model and what it cost, one about the place; more lines where it is narrow."""

from __future__ import annotations

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
