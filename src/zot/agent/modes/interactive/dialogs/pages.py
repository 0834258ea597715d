"""Rows that are longer than the room for them: where the window stands, and the keys that move it."""

from __future__ import annotations

from collections.abc import Sequence

from zot.tui.keys import Key


class Pages:
    """``show`` cuts the window out and remembers its height, so that a page is a page."""

    def __init__(self) -> None:
        self.top = 0
        self.height = 1
        self.count = 0

    def show(self, rows: Sequence[str], height: int) -> list[str]:
        self.height, self.count = max(height, 1), len(rows)
        self.go(self.top)
        return list(rows[self.top : self.top + self.height])

    def go(self, top: int) -> None:
        self.top = min(max(top, 0), max(self.count - self.height, 0))

    def reveal(self, row: int) -> None:
        """Move only if the row is not to be seen."""
        if not self.top <= row < self.top + self.height:
            self.go(row - self.height // 3)

    def key(self, key: Key) -> bool:
        steps = {"up": -1, "down": 1, "k": -1, "j": 1, "pageup": -self.height, "pagedown": self.height}
        steps |= {"space": self.height, "b": -self.height, "ctrl+u": -self.height // 2, "ctrl+d": self.height // 2}
        steps |= {"home": -self.count, "end": self.count, "g": -self.count, "G": self.count}
        if key.name not in steps:
            return False
        self.go(self.top + steps[key.name])
        return True

    @property
    def whole(self) -> bool:
        """Whether everything is to be seen at once."""
        return self.count <= self.height

    @property
    def place(self) -> str:
        """``12–31 of 90``."""
        return f"{self.top + 1}–{min(self.top + self.height, self.count)} of {self.count}"
