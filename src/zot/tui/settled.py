"""Finished blocks on their way into the terminal's own scrollback. Each row is handed out once and then forgotten.

Between two blocks stands exactly one blank row; a block that renders to nothing leaves no trace. A block may arrive in
pieces (``more``), as streamed text does. ``trim`` of blank rows at a block's ends keeps gaps from doubling.
"""

from __future__ import annotations

from collections.abc import Sequence

from zot.tui.width import visible


class Settled:
    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._any = False
        self.printed = 0

    def add(self, rows: Sequence[str]) -> None:
        """A block of its own."""
        if rows := trim(rows):
            if self._any:
                self._waiting.append("")
            self._waiting.extend(rows)
            self._any = True

    def more(self, rows: Sequence[str]) -> None:
        """More rows of the last block, as they are."""
        self._waiting.extend(rows)
        self._any = self._any or bool(rows)

    @property
    def begun(self) -> bool:
        """Whether anything was settled yet: the live region then begins with a blank row."""
        return self._any

    def take(self) -> list[str]:
        """What is to be printed now."""
        rows, self._waiting = self._waiting, []
        self.printed += len(rows)
        return rows


def trim(rows: Sequence[str]) -> Sequence[str]:
    """Without blank rows at the ends; tinted rows are not blank."""
    first, last = 0, len(rows)
    while first < last and not rows[first].strip():
        first += 1
    while last > first and not rows[last - 1].strip():
        last -= 1
    return rows[first:last]


def is_blank(row: str) -> bool:
    return not visible(row).strip()
