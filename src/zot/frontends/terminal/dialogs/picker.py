"""Choose one of a list: up and down, typing filters, enter picks. Base of most dialogs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zot.core.session.turn_history import PromptTurn
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import cut, wrap

FILTERED = "type to filter · enter picks · esc closes"
_LEAST = 4  # minimum rows of the list
PLAIN = "enter picks · esc closes"


class Picker(Dialog[str]):
    """Ends with the value of the chosen row. Matches of a filter keep the order of an ``ordered`` list.
    ``above`` are rows between the hint and the list; ``moved`` is called for every selected row, for a live preview."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        hint: str = "",
        selected: str = "",
        filterable: bool = True,
        above: Sequence[str] = (),
        most: int = 14,
        empty: str = "there is nothing to choose",
        ordered: bool = False,
        moved: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__()
        self.title = title
        self.hint = hint or (FILTERED if filterable else PLAIN)
        self.list = SelectList(choices, filterable=filterable, selected=selected, ordered=ordered)
        self._above = tuple(above)
        self._most = most
        self._empty = "" if choices else empty
        self._moved = moved

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("fg", row) for line in self._above for row in wrap(f"  {line}", width, "  ")]
        rows = rows[: max(height - _LEAST, 0)]  # the selection must stay visible
        if self.list.filter:
            rows.append(theme.paint("accent", cut(f"  filter: {self.list.filter}", width)))
        if self._empty:
            return [*rows, *(theme.paint("muted", row) for row in wrap(f"  {self._empty}", width, "  "))]
        room = max(min(height - len(rows), self._most), 1)
        return [*rows, *self.list.lines(theme, width, room)]

    def key(self, key: Key) -> bool:
        if key.name == "enter":
            if (chosen := self.list.chosen) is not None:
                self.finish(chosen.value)
            return True
        before = self.list.chosen
        used = self.list.key(key)
        if self._moved is not None and (now := self.list.chosen) is not None and now is not before:
            self._moved(now.value)
        return used


class LivePicker(Picker):
    """Its rows change while it is open: ``choices`` is called for every frame."""

    animated = True

    def __init__(self, title: str, choices: Callable[[], Sequence[Choice]], *, selected: str = "") -> None:
        super().__init__(title, choices(), selected=selected)
        self._choices = choices

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        self.list.set_choices(self._choices())
        return super().rows(theme, width, height)


class YesNo(Picker):
    """A question with the safe answer selected; ends with ``yes``, ``no`` or None."""

    def __init__(self, title: str, question: str, yes: str, no: str = "no") -> None:
        choices = [Choice("no", no), Choice("yes", yes)]
        super().__init__(title, choices, filterable=False, above=question.split("\n"))


# Choose a turn of the conversation by its prompt.

_ROWS = 12
_PAGE = 5

_LABEL = 500  # characters of a prompt


class TurnPicker(Dialog[int]):
    """Ends with the number of the turn, from 0. ``filter`` is the initial filter."""

    hint = "type to filter · enter picks · esc closes"

    def __init__(self, title: str, turns: Sequence[PromptTurn], *, filter: str = "", newest: bool = True) -> None:
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


def _label(number: int, turn: PromptTurn) -> str:
    """``#3   2t  the first line of the prompt``."""
    badge = "99+t" if turn.tools > 99 else f"{turn.tools}t" if turn.tools else ""
    text = turn.prompt.text().strip()
    return f"#{number + 1:<4} {badge:>4}  {one_line(text.partition(chr(10))[0][:_LABEL]) or '(no text)'}"
