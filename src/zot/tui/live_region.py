"""The bottom of the screen, the only part that is ever repainted.

``frame`` turns what should be shown into the bytes that get there from what is shown: settled rows are printed once
where the region began and belong to the terminal from then on; of the region only rows that changed are written.
Nothing here clears the screen, addresses an absolute row or leaves the main screen, so what was on the terminal before
stays, and the terminal scrolls, reflows and searches it as it does any text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zot.tui.width import cells

BEGIN = "\x1b[?2026h\x1b[?25l"
END = "\x1b[?2026l"
SHOW_CURSOR = "\x1b[?25h"


class Place(NamedTuple):
    """A cell of the region, counted from its top left."""

    row: int
    column: int


class LiveRegion:
    """``reflows``: whether the terminal re-wraps long rows when it gets narrower, as most do."""

    def __init__(self, *, reflows: bool = True) -> None:
        self._reflows = reflows
        self._rows: list[str] = []
        self._cursor = Place(0, 0)
        self._width = 0
        self._hidden = False

    def frame(
        self, settled: Sequence[str], live: Sequence[str], cursor: Place | None, columns: int, height: int
    ) -> str:
        """The bytes of one frame; empty when nothing changed. ``live`` rows fit ``columns``, ``cursor`` is in them."""
        rows = list(live[-max(height - 1, 1) :]) or [""]
        if cursor is not None:
            cursor = Place(min(max(cursor.row - (len(live) - len(rows)), 0), len(rows) - 1), cursor.column)
        resized = bool(self._width) and columns != self._width
        if not settled and not resized and rows == self._rows and self._at(cursor):
            return ""
        body = self._repaint(settled, rows, columns, height) if settled or resized else self._difference(rows)
        self._rows, self._width = rows, columns
        return f"{BEGIN}{body}{self._show(cursor)}{END}"

    def _at(self, cursor: Place | None) -> bool:
        return self._hidden if cursor is None else not self._hidden and cursor == self._cursor

    def _show(self, cursor: Place | None) -> str:
        self._hidden = cursor is None
        target = cursor or Place(len(self._rows) - 1, 0)
        move = self._move_to(target.row) + (f"\x1b[{target.column}C" if target.column else "")
        self._cursor = target
        return move if cursor is None else move + SHOW_CURSOR

    def _move_to(self, row: int) -> str:
        """To the first column of a row that exists."""
        step = row - self._cursor.row
        self._cursor = Place(row, 0)
        return "\r" + (f"\x1b[{step}B" if step > 0 else f"\x1b[{-step}A" if step < 0 else "")

    def _repaint(self, settled: Sequence[str], rows: Sequence[str], columns: int, height: int) -> str:
        up = min(self._rows_above_cursor(columns), height - 1)
        start = f"\r\x1b[{up}A" if up else "\r"
        # The last row has no newline after it: the region ends where the screen may.
        painted = "\r\n".join(f"\x1b[2K{row}" for row in (*settled, *rows))
        self._cursor = Place(len(rows) - 1, 0)
        return f"{start}{painted}\x1b[J" if self._fits(rows[-1], columns) else f"{start}\x1b[J{painted}"

    @staticmethod
    def _fits(row: str, columns: int) -> bool:
        """Whether the cursor stands after the row, and not in its last cell, where erasing would bite."""
        return cells(row) < columns

    def _rows_above_cursor(self, columns: int) -> int:
        """How far up the region begins, after the terminal broke its rows to the new width."""
        if not self._reflows or columns >= self._width:
            return self._cursor.row
        broken = sum(max(-(-cells(row) // columns), 1) for row in self._rows[: self._cursor.row])
        return broken + self._cursor.column // columns

    def _difference(self, rows: list[str]) -> str:
        parts: list[str] = []
        for number, row in enumerate(rows):
            if number >= len(self._rows):
                parts.append(self._new_row(number, row))
            elif row != self._rows[number]:
                parts.append(f"{self._move_to(number)}\x1b[2K{row}")
        if len(rows) < len(self._rows):
            parts.append(f"{self._move_to(len(rows))}\x1b[J")
        self._rows = rows
        return "".join(parts)

    def _new_row(self, number: int, row: str) -> str:
        if number == 0:
            return f"\r\x1b[2K{row}"
        move = self._move_to(number - 1)
        self._cursor = Place(number, 0)
        return f"{move}\r\n\x1b[2K{row}"

    def leave(self) -> str:
        """To a fresh row under the region; what it shows stays and is forgotten here."""
        if not self._rows:
            return ""
        move = self._move_to(len(self._rows) - 1)
        self.forget()
        return f"{move}\r\n{SHOW_CURSOR}"

    def erase(self) -> str:
        """Back to the region's first row, with nothing below it."""
        if not self._rows:
            return ""
        move = self._move_to(0)
        self.forget()
        return f"{BEGIN}{move}\x1b[J{SHOW_CURSOR}{END}"

    def forget(self) -> None:
        """Something else wrote to the terminal: start over where the cursor is."""
        self._rows, self._cursor, self._width, self._hidden = [], Place(0, 0), 0, False
