"""Choose a model: favourites and recently used ones first, then all of the usable providers, the newest first."""

from __future__ import annotations

from datetime import date

from zot.agent.conversation import Conversation
from zot.agent.provider_choice import models_with_access, providers_with_access
from zot.errors import ConfigError, describe_error
from zot.frontends.terminal.dialogs.picker import Picker
from zot.frontends.terminal.model_picks import ModelPicks, read_picks, toggle_favourite
from zot.provider.model import Model
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice, tokens

_HINT = "type to filter · enter picks · ctrl+f marks a favourite · esc closes"
_LEGEND = "✦ reasons · context window · dollars per million tokens, in/out"
_LITTLE = 50  # percent of the window


class ModelPicker(Picker):
    """Ends with ``provider`` and ``id`` joined by a newline. ``filter`` is the initial filter.
    Call ``update`` when the catalog grew."""

    def __init__(self, conversation: Conversation, filter: str = "") -> None:
        self._conversation = conversation
        self._picks = read_picks(conversation.home)
        selected = value_of(conversation.model)
        super().__init__(
            "model", self._choices(), selected=selected, hint=_HINT, above=[_LEGEND], empty=_NONE, ordered=True
        )
        for letter in filter:
            self.list.key(Key(letter, letter))

    def update(self) -> None:
        self.list.set_choices(self._choices())

    def key(self, key: Key) -> bool:
        if key.name == "ctrl+f" and (chosen := self.list.chosen) is not None:
            try:
                self._picks = toggle_favourite(self._conversation.home, chosen.value)
            except (ConfigError, OSError) as error:
                self.hint = f"cannot save: {describe_error(error)}"
            self.update()
            return True
        return super().key(key)

    def _choices(self) -> list[Choice]:
        conversation, picks = self._conversation, self._picks
        current, used = value_of(conversation.model), conversation.context_tokens
        starred = frozenset(picks.favourites)
        rows = {
            (value := value_of(model)): model_row(model, current, used=used, favourite=value in starred)
            for model in models_with_access(conversation)
        }
        first = [rows.pop(value) for value in _first(picks) if value in rows]
        divided = [Choice("", "all models", divider=True)] if first and rows else []
        others = ", ".join(logged_out(conversation))
        log_in = [Choice("", f"/login for: {others}", divider=True)] if (rows or first) and others else []
        return [*first, *divided, *rows.values(), *log_in]


def _first(picks: ModelPicks) -> list[str]:
    return list(dict.fromkeys((*picks.favourites, *picks.recent)))


_NONE = "no provider has a credential; log in with /login"


def reachable_models(conversation: Conversation) -> list[Model]:
    """Providers that can be listed without the run's own key and address."""
    if not conversation.launch.active_flags:
        return models_with_access(conversation)
    usable = {name for name, usable in providers_with_access(conversation, current="").items() if usable}
    return [model for model in models_with_access(conversation) if model.provider in usable]


def logged_out(conversation: Conversation) -> list[str]:
    """The best known providers without a credential."""
    known = providers_with_access(conversation)
    return [name for name in ("anthropic", "openai", "kimi") if not known.get(name, True)]


def value_of(model: Model) -> str:
    return f"{model.provider}\n{model.id}"


def model_row(model: Model, current: str = "", *, used: int = 0, favourite: bool = False) -> Choice:
    """``used`` is the number of tokens of the conversation, to show what is left of the window."""
    mark = "● " if value_of(model) == current else "★ " if favourite else "  "
    price = f"${model.price_input:g}/${model.price_output:g}" if model.price_input or model.price_output else ""
    window = tokens(model.context_window) if model.context_window else ""
    name = _clean(model.name) if model.name != model.id else ""
    columns = f"{'✦' if model.reasoning else ' '} {window:>5}  {price or ('free' if model.free else ''):<9}"
    about = "  ".join(part for part in (columns, _left(model, used), _tags(model), name) if part)
    return Choice(value_of(model), f"{mark}{_clean(model.provider)}/{_clean(model.id)}", about)


def _clean(text: str) -> str:
    """As ``one_line``; most names need no change, and there may be thousands."""
    return text if text.isascii() and text.isprintable() and "  " not in text else one_line(text)


def _left(model: Model, used: int) -> str:
    if not used or not model.context_window:
        return ""
    left = 100 - 100 * used // model.context_window
    if left <= 0:
        return "too small for this conversation"
    return f"{left}% of it left" if left <= _LITTLE else ""


def _tags(model: Model) -> str:
    tags = ["[live]"] if model.source in ("live", "cache") else []
    if model.guessed:
        tags.append("[guessed]")
    if model.tools is False:
        tags.append("[no tools]")
    if model.retires:
        passed = model.retires < date.today().isoformat()
        tags.append("[retired]" if passed else f"[retires {model.retires}]")
    return " ".join(tags)
