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
    model: str = ""
    stats: tuple[Stat, ...] = ()
    tags: tuple[str, ...] = ()
    place: str = ""

    def lines(self, theme: Theme, width: int) -> list[str]:
        model = theme.paint("muted", self.model)
        stats = " ".join(theme.paint(stat.role, stat.text) for stat in self.stats)
        whole = _line([model, stats])
        rows = [whole] if cells(whole) <= width else [_line([model]), _line([stats])]
        if place := self._place():
            rows.append(theme.paint("muted", f"  {place}"))
        return [cut(row, width) for row in rows if row.strip()]

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


def duration(seconds: float) -> str:
    """``12s``, ``2m13s``, ``1h02m``."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"


def spinner_glyph(theme: Theme, elapsed: float) -> str:
    """The theme's spinner after so many seconds, always as wide as its widest frame."""
    frames = theme.spinner.frames
    frame = frames[int(elapsed * 1000 / theme.spinner.interval_ms) % len(frames)]
    return frame + " " * (max(map(cells, frames)) - cells(frame))
