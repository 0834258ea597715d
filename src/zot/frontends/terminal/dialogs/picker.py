"""Choose one of a list: up and down, typing filters, enter picks. Most dialogs are this with rows of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import cut, wrap

FILTERED = "type to filter · enter picks · esc closes"
_LEAST = 4  # rows of the list that are always shown
PLAIN = "enter picks · esc closes"


class Picker(Dialog[str]):
    """Ends with the value of the chosen row. ``above`` are rows between the hint and the list; ``moved`` hears of
    every row the selection comes to, for a live preview."""

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
        moved: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__()
        self.title = title
        self.hint = hint or (FILTERED if filterable else PLAIN)
        self.list = SelectList(choices, filterable=filterable, selected=selected)
        self._above = tuple(above)
        self._most = most
        self._empty = "" if choices else empty
        self._moved = moved

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("fg", row) for line in self._above for row in wrap(f"  {line}", width, "  ")]
        rows = rows[: max(height - _LEAST, 0)]  # what is chosen must be seen, whatever is said about it
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


class YesNo(Picker):
    """A question whose safe answer is selected; ends with ``yes``, ``no`` or None."""

    def __init__(self, title: str, question: str, yes: str, no: str = "no") -> None:
        choices = [Choice("no", no), Choice("yes", yes)]
        super().__init__(title, choices, filterable=False, above=question.split("\n"))
