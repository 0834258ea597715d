"""The live region at the bottom of the main screen, the only part that is repainted.

``frame`` returns the bytes from the shown state to the wanted one: settled rows are printed once above, changed rows
are rewritten. It never clears the screen or uses absolute rows, so the terminal scrolls and reflows as with any text.

After a resize the region's first row must be found from the cursor. A hidden cursor is parked on that row; for a shown
one the rows above are counted as the terminal broke them. Rows of the region never wrap.

Rows that a narrower window breaks push others out of the screen at its top, where nothing can erase them. So the region
begins with blank rows (the lead) if too few rows are above it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from zot.tui.width import cells

HIDE_CURSOR = "\x1b[?25l"
BEGIN = "\x1b[?2026h" + HIDE_CURSOR
END = "\x1b[?2026l"
SHOW_CURSOR = "\x1b[?25h"
FILL = "\x1b[K"  # at the end of a row: fill the rest with the row's background
# Erases from a row's beginning on. Not from its first cell: tmux treats erasing from the first cell of the screen
# as clearing it, and moves the content into its history.
_ERASE_BELOW = "\r\x1b[2K\x1b[C\x1b[J\r"
_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"
_NARROWER, _NARROWEST = 0.4, 40  # share and number of columns
_IN_FLIGHT_S = 0.1  # seconds in which rows may be on their way to the terminal
_REMEMBERED = 200  # printed rows that an overlay may be drawn over
_ENTER_ALTERNATE, _LEAVE_ALTERNATE = "\x1b[?1049h", "\x1b[?1049l"


class FramePosition(NamedTuple):
    """A cell of the region, counted from its top left."""

    row: int
    column: int


class LiveRegion:
    """``reflows``: the terminal re-wraps long rows when it gets narrower, as most do. ``shifts_cursor``: like xterm.js,
    it then moves the cursor down for each broken row, also for those below it, and cuts the row of the cursor."""

    def __init__(self, *, reflows: bool = True, shifts_cursor: bool = False) -> None:
        self.reflows = reflows
        self.shifts_cursor = shifts_cursor
        self._rows: list[str] = []
        self._cursor = FramePosition(0, 0)
        self._size = (0, 0)
        self._hidden = False
        self._stale = False
        self._below: int | None = None  # blank rows below the region, at most; None: unknown
        self._freed = 0  # at least: rows below it that were drawn before
        self._printed: int | None = 0  # settled rows since the first frame; None: its row no longer counts
        self._sent: deque[tuple[float, list[str]]] = deque(maxlen=8)  # settled rows and when they were written
        self._stale_at = 0.0

    def started_at(self, row: int, height: int) -> None:
        """The first frame began on this row of the screen, from 1. Call it once, before the next frame."""
        if self._printed is not None:
            extent = max(height - row + 1 - self._printed, len(self._rows))
            self._below = self._freed = extent - len(self._rows)

    def redraw(self) -> None:
        """Draw every row with the next frame: the window was resized, perhaps back to its size, or showed others."""
        if not self._stale:
            self._stale_at = time.monotonic()
        self._stale = True

    def frame(
        self,
        settled: Sequence[str],
        live: Sequence[str],
        cursor: FramePosition | None,
        columns: int,
        height: int,
        *,
        blank: str = "",
    ) -> str:
        """The bytes of one frame; empty if nothing changed. Without ``cursor`` the terminal's is hidden and parked.
        ``blank`` is an empty row on the theme's background."""
        rows = list(live[-max(height - 1, 1) :]) or [""]
        if self._size != (columns, height):
            self.redraw()
        resized = bool(self._rows) and self._stale
        self._stale = False
        self._printed = None if resized or self._printed is None else self._printed + len(settled)
        extent = max(self._extent(self._below, columns, height) - len(settled), len(rows))
        free = self.room(columns, height) - len(settled)
        lead = self._lead(rows, columns, height - extent, height - 1 - len(rows))
        if cursor is not None:
            row = min(max(cursor.row - (len(live) - len(rows)), 0), len(rows) - 1)
            cursor = FramePosition(row + lead, cursor.column)
        rows = [blank] * lead + rows
        if not settled and not resized and rows == self._rows and self._at(cursor):
            return ""
        again = self._unsure(columns, height) if resized else []
        self._below, self._freed = max(extent - len(rows), 0), max(free - len(rows), 0)
        repaints = settled or resized
        body = self._repaint(again, settled, rows, columns) if repaints else self._difference(rows)
        if settled and self.shifts_cursor:
            self._sent.append((time.monotonic(), list(settled[-height:])))
        self._rows, self._size = rows, (columns, height)
        self._hidden = cursor is None
        target = cursor or FramePosition(0, 0)
        move = self._move_to(target.row) + (f"\x1b[{target.column}C" if target.column else "")
        self._cursor = target
        return f"{BEGIN}{body}{move if cursor is None else move + SHOW_CURSOR}{END}"

    def room(self, columns: int, height: int) -> int:
        """How tall the region can be without pushing rows above it out of the screen, as far as is known."""
        return self._extent(self._freed, columns, height)

    def _extent(self, below: int | None, columns: int, height: int) -> int:
        """Rows from the region's first one to the bottom of the screen; all rows of the screen if unknown."""
        if below is None:
            return height
        rows = sum(self._broken(columns)) if self._is_broken(columns) else len(self._rows)
        return min(rows + max(below - max(self._size[1] - height, 0), 0), height)

    def _lead(self, rows: Sequence[str], columns: int, above: int, room: int) -> int:
        """Blank rows before the first: what a narrower window may push out, less the rows above the region.
        None before anything was printed: the start is not worth a gap."""
        if not self.reflows or self._printed == 0:
            return 0
        pushed = sum(broken(row, narrower(columns)) - 1 for row in rows)
        return max(min(pushed - above, room), 0)

    def _at(self, cursor: FramePosition | None) -> bool:
        return self._hidden if cursor is None else not self._hidden and cursor == self._cursor

    def _move_to(self, row: int) -> str:
        """Move to the first column of an existing row."""
        step = row - self._cursor.row
        self._cursor = FramePosition(row, 0)
        # Down by newlines: in a window that lost rows they scroll, and the way back up has the same length.
        return "\r" + ("\n" * step if step > 0 else f"\x1b[{-step}A" if step < 0 else "")

    def _unsure(self, columns: int, height: int) -> list[str]:
        """Settled rows to print again. If xterm.js got them after it had moved the cursor, they are below remnants of
        the region, not above them; in both cases they and the remnants have the same height."""
        if not self.shifts_cursor or not self._is_broken(columns):
            return []
        rows = [row for at, sent in self._sent if self._stale_at - at < _IN_FLIGHT_S for row in sent]
        room = height - self._extent(self._below, columns, height)
        while rows and sum(broken(row, columns) for row in rows) > room:
            rows.pop(0)
        return rows

    def _repaint(self, again: Sequence[str], settled: Sequence[str], rows: Sequence[str], columns: int) -> str:
        start = self._to_top(columns, sum(broken(row, columns) for row in again))
        above = "".join(f"\x1b[2K{row}\r\n" for row in (*again, *settled))
        # No newline after the last row, which may be the last of the screen.
        painted = _CUT + "\r\n".join(f"\x1b[2K{row}" for row in rows) + _WRAP
        self._cursor = FramePosition(len(rows) - 1, 0)
        # Erase first: a settled row that wraps would otherwise be followed by the rest of a row of the region.
        return f"{start}{_ERASE_BELOW}{above}{painted}"

    def _to_top(self, columns: int, more: int = 0) -> str:
        """To the region's first row, or ``more`` rows above it."""
        if not self._is_broken(columns):
            up = self._cursor.row
        elif self.shifts_cursor:
            up = self._cursor.row + _added(self._rows, self._cursor.row, columns)
        else:
            counts = self._broken(columns)[: self._cursor.row + 1]
            up = sum(counts[:-1]) + min(self._cursor.column // columns, counts[-1] - 1)
        up += more
        return f"\r\x1b[{up}A" if up else "\r"

    def _is_broken(self, columns: int) -> bool:
        """True if the terminal has broken rows that are longer than its new width."""
        return self.reflows and columns < self._size[0]

    def _broken(self, columns: int) -> list[int]:
        """The number of rows that the terminal made of each row."""
        return [broken(row, columns) for row in self._rows]

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
        return f"{_CUT}{''.join(parts)}{_WRAP}" if parts else ""

    def _new_row(self, number: int, row: str) -> str:
        if number == 0:
            return f"\r\x1b[2K{row}"
        move = self._move_to(number - 1)
        self._cursor = FramePosition(number, 0)
        return f"{move}\r\n\x1b[2K{row}"

    def leave(self) -> str:
        """Move to a new row under the region; its content stays and is forgotten here."""
        if not self._rows:
            return ""
        move = self._move_to(len(self._rows) - 1)
        self.forget()
        return f"{move}\r\n{SHOW_CURSOR}"

    def erase(self, columns: int) -> str:
        """Move to the region's first row and erase everything below."""
        if not self._rows:
            return ""
        move = self._to_top(columns)
        self.forget()
        return f"{BEGIN}{move}{_ERASE_BELOW}{SHOW_CURSOR}{END}"

    def forget(self) -> None:
        """Something else wrote to the terminal: start over at the cursor."""
        self._rows, self._cursor, self._size, self._hidden = [], FramePosition(0, 0), (0, 0), False
        self._below, self._freed, self._printed = None, 0, None
        self._sent.clear()


def narrower(columns: int) -> int:
    """To how many columns a window may shrink in one step without a trace."""
    return max(int(columns * _NARROWER), min(columns, _NARROWEST))


def broken(row: str, columns: int) -> int:
    """The number of rows that a terminal of this width makes of a row."""
    return max(-(-cells(row.replace(FILL, "")) // columns), 1)


def _added(rows: Sequence[str], cursor: int, columns: int) -> int:
    """The rows that xterm.js adds: it breaks the last row first, moves the cursor down for each one, and cuts a row
    that the cursor then is on."""
    moved = cursor
    for number in reversed(range(len(rows))):
        if number != moved:
            moved += broken(rows[number], columns) - 1
    return moved - cursor


class SettledBlocks:
    """Finished blocks on their way into the terminal's scrollback.
    Each row is returned once. Between two blocks is exactly one blank row; an empty block has no effect. A block may
    arrive in pieces (``more``), as streamed text does. Blocks that ``join`` (calls) follow a joining block of a
    single row without a gap, so that they form a list."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._any = False
        self.joinable = False  # the last block is a single row that the next one may join
        self.printed = 0
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)

    def add(self, rows: Sequence[str], *, joins: bool = False) -> None:
        """Add a separate block."""
        if rows := trim(rows):
            if self._any and not (joins and self.joinable):
                self._waiting.append("")
            self._waiting.extend(rows)
            self._any = True
            self.joinable = joins and len(rows) == 1

    def more(self, rows: Sequence[str]) -> None:
        """More rows of the last block, as they are."""
        self._waiting.extend(rows)
        self._any = self._any or bool(rows)
        self.joinable = self.joinable and not rows

    @property
    def begun(self) -> bool:
        """True if something was settled: the live region then begins with a blank row."""
        return self._any

    def take(self) -> list[str]:
        """The rows to print now."""
        rows, self._waiting = self._waiting, []
        self.printed += len(rows)
        self._recent.extend(rows)
        return rows

    def last(self, count: int) -> list[str]:
        """The newest rows, printed or not, for what is drawn over them."""
        return [*self._recent, *self._waiting][-count:] if count > 0 else []


def trim(rows: Sequence[str]) -> Sequence[str]:
    """Without blank rows at the ends, so that gaps do not double; tinted rows are not blank."""
    first, last = 0, len(rows)
    while first < last and not rows[first].strip():
        first += 1
    while last > first and not rows[last - 1].strip():
        last -= 1
    return rows[first:last]


class Alternate:
    """The alternate screen. ``frame`` enters it if needed; ``leave`` is empty if it was never entered."""

    def __init__(self) -> None:
        self.on = False
        self._rows: list[str] = []

    def frame(self, rows: Sequence[str], cursor: tuple[int, int] | None) -> str:
        """The bytes that show these rows: first all, later the changed ones."""
        before, self._rows = (self._rows if self.on else []), list(rows)
        if self.on and len(before) == len(rows):
            changed = [i for i, row in enumerate(rows) if row != before[i]]
        else:
            changed = list(range(len(rows)))
        opening = "" if self.on else f"{_ENTER_ALTERNATE}\x1b[2J"
        self.on = True
        body = "".join(f"\x1b[{i + 1};1H\x1b[2K{rows[i]}" for i in changed)
        place = f"\x1b[{cursor[0] + 1};{cursor[1] + 1}H{SHOW_CURSOR}" if cursor is not None else ""
        return f"{BEGIN}{opening}{body}{place}{END}"

    def leave(self) -> str:
        if not self.on:
            return ""
        self.on, self._rows = False, []
        return f"{_LEAVE_ALTERNATE}{SHOW_CURSOR}"
