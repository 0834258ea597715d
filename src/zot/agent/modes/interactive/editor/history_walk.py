"""Going through earlier prompts, and coming back to the draft exactly as it was left."""

from __future__ import annotations

from zot.agent.modes.interactive.editor.history import History
from zot.tui.text_buffer import Position, TextBuffer, units_of


class HistoryWalk:
    def __init__(self, history: History, buffer: TextBuffer) -> None:
        self._history = history
        self._buffer = buffer
        self._entries: list[str] = []
        self._index: int | None = None
        self._draft: tuple[list[str], Position] = ([], Position(0, 0))
        self.sideways = False  # begun with left on an empty editor: left and right go on

    @property
    def under_way(self) -> bool:
        return self._index is not None

    def older(self) -> bool:
        """One back; False when there is nothing older."""
        if self._index is None:
            self._entries = self._history.entries()
            self._draft = (self._buffer.units(), self._buffer.cursor)
        index = len(self._entries) if self._index is None else self._index
        if not index:
            return False
        self._show(index - 1)
        return True

    def newer(self) -> bool:
        """One forward, past the newest the draft; False when no walk is under way."""
        if self._index is None:
            return False
        if self._index + 1 < len(self._entries):
            self._show(self._index + 1)
            return True
        units, cursor = self._draft
        self._put(units)
        self._buffer.move(cursor)
        self.leave()
        return True

    def leave(self) -> None:
        """What is shown is the draft from now on."""
        self._index, self.sideways = None, False

    def _show(self, index: int) -> None:
        self._index = index
        self._put(units_of(self._entries[index]))

    def _put(self, units: list[str]) -> None:
        self._buffer.replace(Position(0, 0), self._buffer.end, units)
