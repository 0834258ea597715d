"""Choose one of a list: up and down, typing filters, enter picks. Base of most dialogs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from zot.agent.conversation import Conversation
from zot.agent.model_lookup import version_key
from zot.core.session.turn_history import PromptTurn
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.provider.auth.credential_lookup import has_credential
from zot.provider.model import Model
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList, tokens
from zot.tui.width import cut, wrap

FILTERED = "type to filter · enter picks · esc closes"
_LEAST = 4  # minimum rows of the list
PLAIN = "enter picks · esc closes"


class Picker(Dialog[str]):
    """Ends with the value of the chosen row.
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


# Choose a model.


class ModelPicker(Picker):
    """Ends with ``provider`` and ``id`` joined by a newline. ``filter`` is the initial filter.
    Call ``update`` when the catalog grew."""

    def __init__(self, conversation: Conversation, filter: str = "") -> None:
        self._conversation = conversation
        selected = value_of(conversation.model)
        super().__init__("model", self._choices(), selected=selected, empty=_NONE)
        for letter in filter:
            self.list.key(Key(letter, letter))

    def update(self) -> None:
        self.list.set_choices(self._choices())

    def _choices(self) -> list[Choice]:
        current = value_of(self._conversation.model)
        rows = [model_row(model, current) for model in usable_models(self._conversation)]
        others = ", ".join(logged_out(self._conversation))
        return [*rows, *([Choice("", f"/login for: {others}", divider=True)] if rows and others else [])]


_NONE = "no provider has a credential; log in with /login"


def usable_models(conversation: Conversation) -> list[Model]:
    """Models of providers with a credential or without need of one, by provider, the newest first.
    The current model is always included."""
    usable = {name for name, usable in _providers(conversation).items() if usable}
    rows = {value_of(model): model for model in conversation.catalog.rows() if model.provider in usable}
    if conversation.resolved.endpoint is not None or conversation.resolved.script:
        rows.setdefault(value_of(conversation.model), conversation.model)
    by_id = sorted(rows.values(), key=lambda model: model.id)
    by_age = sorted(by_id, key=lambda model: version_key(model.id), reverse=True)
    return sorted(by_age, key=lambda model: model.provider)


def reachable_models(conversation: Conversation) -> list[Model]:
    """Providers that can be listed without the run's own key and address."""
    if not conversation.launch.active_flags:
        return usable_models(conversation)
    usable = {name for name, usable in _providers(conversation, current="").items() if usable}
    return [model for model in usable_models(conversation) if model.provider in usable]


def logged_out(conversation: Conversation) -> list[str]:
    """The best known providers without a credential."""
    known = _providers(conversation)
    return [name for name in ("anthropic", "openai", "kimi") if not known.get(name, True)]


def _providers(conversation: Conversation, current: str | None = None) -> dict[str, bool]:
    """True if it can be listed; always for the ``current`` one."""
    commands = conversation.settings.values.api_key_command
    if current is None:
        current = conversation.resolved.provider.id if conversation.resolved.endpoint is not None else ""
    return {
        name: name == current
        or not provider.needs_key
        or has_credential(provider, conversation.auth, os.environ, commands)
        for name, provider in conversation.catalog.providers().items()
        if provider.api != "script" and not provider.rows_of
    }


def value_of(model: Model) -> str:
    return f"{model.provider}\n{model.id}"


def model_row(model: Model, current: str = "") -> Choice:
    mark = "● " if value_of(model) == current else "  "
    tag = "[live]" if model.source in ("live", "cache") else ""
    price = f"${model.price_input:g}/${model.price_output:g}" if model.price_input or model.price_output else ""
    window = tokens(model.context_window) if model.context_window else ""
    tag = f"{tag} [no tools]".strip() if model.tools is False else tag
    name = one_line(model.name) if model.name != model.id else ""
    columns = f"{'✦' if model.reasoning else ' '} {window:>5}  {price:<9}"
    about = "  ".join(part for part in (columns, tag, name) if part)
    return Choice(value_of(model), f"{mark}{one_line(model.provider)}/{one_line(model.id)}", about)
