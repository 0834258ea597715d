"""Lists commands while ``/`` is typed: built-ins in their order, then those of features.
An exact name is selected first, so that ``/session`` never runs ``/sessions``; a fuzzy match is completed before it
runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from zot.frontends.terminal.editor.path_completion import ROWS
from zot.tui.fuzzy import ASIDE, EACH, INSIDE, Pattern, best
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList, filtered
from zot.tui.width import cells

DIVIDER = "extensions"
_TELLING = 3  # letters
_WITH_HINT = 8  # rows; with fewer the hint is dropped


class PopupCommand(msgspec.Struct, frozen=True):
    """A command in the popup. ``complete`` gets the text after the name and offers whole arguments."""

    name: str
    summary: str
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    extension: bool = False
    alias: bool = False  # an alias; offered when its name is typed
    listed: bool = True  # otherwise never offered, but not a fuzzy match of another
    complete: Callable[[str], Sequence[Choice]] | None = None
    completed: bool = False  # its extension completes the arguments


class PopupActions(msgspec.Struct, frozen=True):
    """Actions of a popup on the editor: replace the text, submit it, clear it."""

    write: Callable[[str], None]
    send: Callable[[str], None]
    clear: Callable[[], None]


class SlashPopup:
    """``typed`` is the editor's text; call ``update`` when it changes, ``renew`` when an extension has answered.
    ``offer`` returns what extensions offer for command and arguments so far."""

    def __init__(
        self,
        commands: Sequence[PopupCommand],
        actions: PopupActions,
        offer: Callable[[str, str], Sequence[Choice]] = lambda command, typed: (),
    ) -> None:
        self._offer = offer
        self._commands = commands
        self._actions = actions
        self._list = SelectList((), filterable=False)
        self._typed: str = ""
        self._completing: PopupCommand | None = None
        self._moved = self._guessed = False

    def renew(self) -> None:
        chosen = self._list.chosen if self._moved else None
        typed = self._typed
        self._typed = ""
        self.update(typed)
        if chosen is not None:
            self._list.select(chosen.value)
            self._moved = True

    def update(self, typed: str) -> None:
        if typed == self._typed:
            return
        self._typed, self._moved = typed, False
        name, space, arguments = typed[1:].partition(" ")
        self._completing = _named(self._commands, name) if space else None
        if space:
            rows, chosen = self._arguments(arguments), ""
            self._guessed = False
        elif (whole := _named(self._commands, name)) is not None and not whole.listed:
            rows, chosen, self._guessed = [], "", False
        else:
            rows, chosen, rank = _matching([c for c in self._commands if c.listed], name)
            self._guessed = rank >= ASIDE
        found = Pattern(arguments if space else name)
        self._list = SelectList(rows, filterable=False, selected=chosen, found=found)

    def _arguments(self, typed: str) -> Sequence[Choice]:
        command = self._completing
        if command is None or not command.completed:
            return _arguments(command, typed)
        offered = self._offer(command.name, typed)
        return () if [choice.value for choice in offered] == [typed] else offered

    @property
    def visible(self) -> bool:
        return self._list.chosen is not None

    def key(self, key: Key) -> bool:
        chosen = self._list.chosen
        if chosen is None:
            return False
        if key.name in ("up", "down", "pageup", "pagedown", "ctrl+p", "ctrl+n"):
            self._moved = True
            return self._list.key(key)
        if key.name == "tab" or (key.name == "enter" and self._guessed and not self._moved):
            self._actions.write(self._written(chosen))
            return True
        if key.name == "enter" and (self._completing is None or self._moved):
            self._actions.send(self._written(chosen).rstrip())
            return True
        return False

    def _written(self, chosen: Choice) -> str:
        if self._completing is not None:
            return f"/{self._completing.name} {chosen.value}"
        command = _named(self._commands, chosen.value)
        more = command is not None and (command.arguments or command.complete or command.completed)
        return f"/{chosen.value}" + (" " if more else "")

    def escape(self) -> None:
        self._actions.clear()

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        if self._guessed and not self._moved:
            hint = "↑↓ choose · tab or enter completes · esc clears"
        elif self._completing is not None and not self._moved:
            hint = "↑↓ choose · tab completes · esc clears"
        else:
            hint = "↑↓ choose · tab completes · enter runs · esc clears"
        if height < _WITH_HINT or cells(hint) > width - 2:
            return self._list.lines(theme, width, min(height, ROWS))
        return [*self._list.lines(theme, width, min(height - 1, ROWS)), theme.paint("muted", f"  {hint}")]


def _named(commands: Sequence[PopupCommand], name: str) -> PopupCommand | None:
    return next((command for command in commands if name.lower() in (command.name.lower(), *command.aliases)), None)


def _matching(commands: Sequence[PopupCommand], typed: str) -> tuple[list[Choice], str, int]:
    """Built-ins in order, others by name, better matches first; also the best and its rank.
    A built-in hides an extension's command of the same name."""
    taken = {word for c in commands if not c.extension for word in (c.name, *c.aliases)}
    own = [c for c in commands if not c.extension]
    others = sorted((c for c in commands if c.extension and c.name.lower() not in taken), key=lambda c: c.name.lower())
    ranked = _ranked(typed, [*own, *others])
    rows = [_row(command) for _, command in ranked if not command.extension]
    if len(rows) < len(ranked):
        rows.append(Choice("", DIVIDER, divider=True))
    rows += [_row(command) for _, command in ranked if command.extension]
    rank, chosen = ranked[0] if ranked else (0, None)
    return rows, chosen.name if chosen is not None else "", rank


def _ranked(typed: str, commands: Sequence[PopupCommand]) -> list[tuple[int, PopupCommand]]:
    """Ranks by the kind of match; equal ones keep their order.
    One or two letters match only the beginning of a name."""
    pattern, short = Pattern(typed, path="/" in typed), len(typed) < _TELLING
    ranked: list[tuple[int, PopupCommand]] = []
    for command in commands:
        if command.alias and (short or not command.name.startswith(typed.lower())):
            continue
        ranks = [
            pattern.rank(command.name, "" if short else command.summary),
            *(pattern.rank(alias) for alias in command.aliases),
        ]
        if found := [rank for rank in ranks if rank is not None and not (short and rank // EACH * EACH == INSIDE)]:
            ranked.append((min(found) // EACH * EACH, command))
    return best(ranked)


def _row(command: PopupCommand) -> Choice:
    label = f"/{one_line(command.name)} {command.arguments}".rstrip()
    return Choice(command.name, label, one_line(command.summary))


def _arguments(command: PopupCommand | None, typed: str) -> list[Choice]:
    """Arguments that may follow; empty once complete."""
    if command is None or command.complete is None:
        return []
    offered = filtered(Pattern(typed), command.complete(typed))
    return [] if [choice.value for choice in offered if choice.value.startswith(typed)] == [typed] else offered
