"""The screen of the fake terminal: pyte's, which keeps the rows that scroll away and reads its rows once.

pyte's own screen with a history looks at every attribute in Python, to page back, which no test does; that took two
thirds of what the terminal tests spend on drawing.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import pyte
from pyte import modes
from wcwidth import wcwidth

_FIRST_WIDE = "\u1100"


class Emulator(pyte.Screen):
    """``top`` contains the rows that scrolled off, oldest first. Code that changes ``buffer`` calls ``forget``."""

    def __init__(self, columns: int, rows: int) -> None:
        self.top: deque[Any] = deque(maxlen=100_000)
        self._rows: list[str] = []
        super().__init__(columns, rows)

    @property
    def display(self) -> list[str]:
        """The visible rows; only changed rows are read again."""
        again = self.dirty if len(self._rows) == self.lines else range(self.lines)
        if again is not self.dirty:
            self._rows = [""] * self.lines
        for y in again:
            if 0 <= y < self.lines:
                self._rows[y] = self._row(y)
        self.dirty.clear()
        return list(self._rows)

    def _row(self, y: int) -> str:
        """The cell after a wide character is covered by it."""
        line, row, covered = self.buffer[y], list[str](), False
        for x in range(self.columns):
            if covered:
                covered = False
                continue
            char = line[x].data
            covered = char >= _FIRST_WIDE and wcwidth(char[0]) == 2
            row.append(char)
        return "".join(row)

    def draw(self, data: str) -> None:
        above = self.cursor.y - 1  # a mark without a width may belong to the last character there
        super().draw(data)
        self.dirty.update((above, self.cursor.y - 1))

    def forget(self) -> None:
        self._rows = []

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        super().resize(lines, columns)
        self.forget()

    def reset(self) -> None:
        super().reset()
        self.top.clear()
        self.forget()

    def erase_in_display(self, how: int = 0, *args: Any, **more: Any) -> None:
        super().erase_in_display(how, *args, **more)
        if how == 3:
            self.top.clear()

    def index(self) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom:
            self.top.append(self.buffer[top])
        super().index()

    def restore_cursor(self) -> None:
        """Restores the position, not the visibility."""
        super().restore_cursor()
        self.cursor.hidden = modes.DECTCEM not in self.mode
