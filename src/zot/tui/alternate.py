"""The alternate screen, for something to read that needs all of it; what was on the terminal is untouched below."""

from __future__ import annotations

from collections.abc import Sequence

from zot.tui.live_region import BEGIN, END, SHOW_CURSOR

_ENTER, _LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Alternate:
    """``frame`` enters it when needed; ``leave`` is empty when it was never entered."""

    def __init__(self) -> None:
        self.on = False
        self._rows: list[str] = []

    def frame(self, rows: Sequence[str], cursor: tuple[int, int] | None) -> str:
        """The bytes that show these rows: all of them at first, later those that changed."""
        before, self._rows = (self._rows if self.on else []), list(rows)
        if self.on and len(before) == len(rows):
            changed = [i for i, row in enumerate(rows) if row != before[i]]
        else:
            changed = list(range(len(rows)))
        opening = "" if self.on else f"{_ENTER}\x1b[2J"
        self.on = True
        body = "".join(f"\x1b[{i + 1};1H\x1b[2K{rows[i]}" for i in changed)
        place = f"\x1b[{cursor[0] + 1};{cursor[1] + 1}H{SHOW_CURSOR}" if cursor is not None else ""
        return f"{BEGIN}{opening}{body}{place}{END}"

    def leave(self) -> str:
        if not self.on:
            return ""
        self.on, self._rows = False, []
        return f"{_LEAVE}{SHOW_CURSOR}"
