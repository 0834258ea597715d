"""Choose a turn of the conversation by its prompt."""

from __future__ import annotations

from collections.abc import Sequence

from zot.core.session.turn_history import Turn
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import cut

_ROWS = 12
_PAGE = 5

_LABEL = 500  # characters of a prompt


class TurnPicker(Dialog[int]):
    """Ends with the number of the turn, from 0. ``filter`` is what is looked for already."""

    hint = "type to filter · enter picks · esc closes"

    def __init__(self, title: str, turns: Sequence[Turn], *, filter: str = "", newest: bool = True) -> None:
        super().__init__()
        self.title = title
        rows = [Choice(str(i), _label(i, turn)) for i, turn in enumerate(turns)]
        selected = str(len(turns) - 1) if newest else ""
        self._list = SelectList(rows, selected=selected, ordered=True)
        for letter in filter:
            self._list.key(Key(letter, letter))

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        head = [theme.paint("accent", cut(f"  filter: {self._list.filter}", width))] if self._list.filter else []
        return [*head, *self._list.lines(theme, width, min(max(height - len(head), 1), _ROWS))]

    def key(self, key: Key) -> bool:
        if key.name == "enter":
            if (chosen := self._list.chosen) is not None:
                self.finish(int(chosen.value))
            return True
        return self._list.key(key, page=_PAGE)


def _label(number: int, turn: Turn) -> str:
    """``#3   2t  the first line of the prompt``."""
    badge = "99+t" if turn.tools > 99 else f"{turn.tools}t" if turn.tools else ""
    text = turn.prompt.text().strip()
    return f"#{number + 1:<4} {badge:>4}  {one_line(text.partition(chr(10))[0][:_LABEL]) or '(no text)'}"
