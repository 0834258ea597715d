"""ctrl+r: find an earlier prompt by any part of it. Enter puts it into the editor; esc changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zot.frontends.terminal.editor.popups import ROWS
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList, TextField
from zot.tui.width import cut

_BEGINNING = 200  # characters of a prompt, where letters may be gathered


class HistorySearch:
    """``take`` gets the chosen text, ``close`` is called when it is over."""

    def __init__(self, entries: Sequence[str], query: str, take: Callable[[str], None], close: Callable[[], None]):
        self._entries = list(reversed(entries))
        self._take = take
        self._close = close
        self._field = TextField(query)
        self._list = SelectList((), filterable=False)
        self._search()

    @property
    def visible(self) -> bool:
        return True

    def key(self, key: Key) -> bool:
        if key.name in ("enter", "tab"):
            self._finish()
        elif key.name in ("esc", "ctrl+c", "ctrl+g"):
            self._close()
        elif key.name in ("ctrl+r", "ctrl+s"):
            self._list.key(Key("down" if key.name == "ctrl+r" else "up"))
        elif key.name not in ("home", "end") and self._list.key(key):
            pass
        elif self._field.key(key):
            self._search()
        return True

    def escape(self) -> None:
        self._close()

    def _finish(self) -> None:
        chosen = self._list.chosen
        self._close()
        if chosen is not None:
            self._take(self._entries[int(chosen.value)])

    def _search(self) -> None:
        """Newest first: what contains the words, or else what has their letters in order."""
        query, pattern = self._field.text.lower(), Pattern(self._field.text)
        words = query.split()
        found = [number for number, text in enumerate(self._entries) if _has_all(words, text.lower())]
        if not found:
            ranked = [(pattern.rank(text[:_BEGINNING]), number) for number, text in enumerate(self._entries)]
            found = [number for _, number in sorted((r, n) for r, n in ranked if r is not None)]
        rows = [Choice(str(number), cut(one_line(self._entries[number][:1000]), 500)) for number in found]
        self._list = SelectList(rows, filterable=False, found=pattern)

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        text, _ = self._field.line(theme, max(width - 12, 4))
        head = f"  {theme.paint('accent', 'history:')} {text}▏"
        return [cut(head, width), *self._list.lines(theme, width, max(min(height - 1, ROWS), 1))]


def _has_all(words: Sequence[str], lower: str) -> bool:
    return all(word in lower for word in words)
