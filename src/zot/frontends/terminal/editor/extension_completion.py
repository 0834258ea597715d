"""Completion by extensions in the editor: arguments of their commands, and words behind trigger characters.
One query at a time; typing on cancels it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zot.features.extensions.completion import CompletionQuery, OfferedItem, OnItems
from zot.frontends.terminal.editor.path_completion import ROWS
from zot.tui.fuzzy import Pattern
from zot.tui.sanitize import one_line
from zot.tui.text_buffer import Position, Token
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import visible

if TYPE_CHECKING:
    import asyncio

    from zot.tui.keys import Key
    from zot.tui.text_buffer import TextBuffer
    from zot.tui.theme import Theme

_LONGEST = 256  # characters of a word, since each key checks it


class CompletionSource(NamedTuple):
    """The host: its triggers with the characters that must follow, and its answers."""

    triggers: Callable[[], Mapping[str, int]]
    ask: Callable[[CompletionQuery, OnItems], Coroutine[Any, Any, None]]


class TypedWord(NamedTuple):
    """A word behind a trigger; ``start`` is the position of the trigger."""

    start: Position
    trigger: str
    text: str


class ExtensionCompletion:
    """``arrived`` is called when there are new items."""

    def __init__(
        self,
        source: CompletionSource,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None] | None],
        arrived: Callable[[], None],
    ) -> None:
        self._source = source
        self._spawn = spawn
        self._arrived = arrived
        self._query: CompletionQuery | None = None
        self._items: Sequence[OfferedItem] = ()
        self._task: asyncio.Task[None] | None = None

    def arguments(self, command: str, typed: str) -> Sequence[Choice]:
        """Whole arguments that may follow ``/command ``."""
        items = self._items_of(CompletionQuery(command=command, text=typed, cursor=len(typed)))
        return [_choice(item, _replaced(typed, item)) for item in items]

    def word(self, buffer: TextBuffer) -> TypedWord | None:
        """The word behind a trigger that ends at the cursor."""
        triggers = self._source.triggers()
        line, end = buffer.line, buffer.cursor.column
        for column in range(end - 1, max(end - _LONGEST, 0) - 1, -1):
            unit = line[column]
            if unit.isspace() or isinstance(unit, Token):
                return None
            if unit in triggers and (column == 0 or line[column - 1].isspace()):
                text = "".join(line[column + 1 : end])
                start = Position(buffer.cursor.line, column)
                return TypedWord(start, unit, text) if len(text) >= triggers[unit] else None
        return None

    def offers(self, word: TypedWord, before: str) -> Sequence[OfferedItem]:
        return self._items_of(CompletionQuery(trigger=word.trigger, text=word.text, before=before))

    def stop(self) -> None:
        """Nothing is completed any more."""
        if self._task is not None:
            self._task.cancel()
        self._task, self._query, self._items = None, None, ()

    def _items_of(self, query: CompletionQuery) -> Sequence[OfferedItem]:
        """Those of this query as far as they came; meanwhile those of the one before that still fit."""
        before = self._query
        if before == query:
            return self._items
        fitting: Sequence[OfferedItem] = ()
        if before is not None and (before.command, before.trigger) == (query.command, query.trigger):
            whole = (item for item in self._items if item.replace is None)
            fitting = [item for item in whole if query.text.lower() in item.label.lower()]
        if self._task is not None:
            self._task.cancel()
        self._query, self._items = query, fitting
        self._task = self._spawn(self._source.ask(query, lambda items, _: self._came(query, items)))
        return fitting

    def _came(self, query: CompletionQuery, items: Sequence[OfferedItem]) -> None:
        if self._query == query and self._items != items:
            self._items = items
            self._arrived()


class OfferPopup:
    """``take`` gets the chosen item."""

    def __init__(self, take: Callable[[OfferedItem], None]) -> None:
        self._take = take
        self._items: Sequence[OfferedItem] = ()
        self._list = SelectList((), filterable=False)
        self._closed_for: TypedWord | None = None
        self._word: TypedWord | None = None

    def update(self, word: TypedWord, items: Sequence[OfferedItem]) -> None:
        if items is self._items and word == self._word:
            return
        kept = self._list.chosen if word == self._word else None
        self._word, self._items = word, items
        rows = [_choice(item, str(number)) for number, item in enumerate(items)]
        selected = kept.value if kept is not None else ""
        self._list = SelectList(rows, filterable=False, selected=selected, found=Pattern(word.text))

    @property
    def visible(self) -> bool:
        return self._list.chosen is not None and self._word != self._closed_for

    def key(self, key: Key) -> bool:
        chosen = self._list.chosen
        if chosen is None:
            return False
        if key.name in ("up", "down", "pageup", "pagedown", "ctrl+p", "ctrl+n"):
            return self._list.key(key)
        if key.name in ("enter", "tab"):
            self._take(self._items[int(chosen.value)])
            return True
        return False

    def escape(self) -> None:
        self._closed_for = self._word

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        return self._list.lines(theme, width, max(min(height, ROWS), 1))


def _choice(item: OfferedItem, value: str) -> Choice:
    """Escapes and controls of an extension do not reach the screen."""
    about = f"{item.description} [{item.extension}]".strip()
    return Choice(value, one_line(visible(item.label)), one_line(visible(about)))


def _replaced(typed: str, item: OfferedItem) -> str:
    return item.value if item.replace is None else typed[: len(typed) - item.replace] + item.value
