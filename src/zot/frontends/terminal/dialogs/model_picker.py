"""Choose a model among those usable now, with window and price, and a hint at providers to log in to."""

from __future__ import annotations

import os

from zot.agent.conversation import Conversation
from zot.frontends.terminal.dialogs.picker import Picker
from zot.provider.auth.credential_lookup import has_credential
from zot.provider.model import Model
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice, tokens


class ModelPicker(Picker):
    """Ends with ``provider`` and ``id`` joined by a newline. ``update`` after the catalogue has grown."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        selected = value_of(conversation.model)
        super().__init__("model", self._choices(), selected=selected, empty=_NONE)

    def update(self) -> None:
        self.list.set_choices(self._choices())

    def _choices(self) -> list[Choice]:
        current = value_of(self._conversation.model)
        rows = [model_row(model, current) for model in usable_models(self._conversation)]
        others = ", ".join(logged_out(self._conversation))
        return [*rows, *([Choice("", f"/login for: {others}", divider=True)] if rows and others else [])]


_NONE = "no provider has a credential: /login stores one"


def usable_models(conversation: Conversation) -> list[Model]:
    """Of every provider with a credential or without need of one, by provider and id; the current one in any case."""
    usable = {name for name, usable in _providers(conversation).items() if usable}
    rows = {value_of(model): model for model in conversation.catalog.rows() if model.provider in usable}
    if conversation.resolved.endpoint is not None or conversation.resolved.script:
        rows.setdefault(value_of(conversation.model), conversation.model)
    return sorted(rows.values(), key=lambda model: (model.provider, model.id))


def reachable_models(conversation: Conversation) -> list[Model]:
    """Of every provider that can be asked without the key and the address the run was started with."""
    if not conversation.launch.in_force:
        return usable_models(conversation)
    usable = {name for name, usable in _providers(conversation, current="").items() if usable}
    return [model for model in usable_models(conversation) if model.provider in usable]


def logged_out(conversation: Conversation) -> list[str]:
    """The best known providers that have no credential."""
    known = _providers(conversation)
    return [name for name in ("anthropic", "openai", "kimi") if not known.get(name, True)]


def _providers(conversation: Conversation, current: str | None = None) -> dict[str, bool]:
    """Whether each can be asked; the ``current`` one in any case."""
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
    return Choice(value_of(model), f"{mark}{one_line(model.provider)}/{one_line(model.id)}", _about(model))


def _about(model: Model) -> str:
    """Window, price, and what is special."""
    tag = "[speculative]" if model.speculative else "[live]" if model.source in ("live", "cache") else ""
    price = f"${model.price_input:g}/${model.price_output:g}" if model.price_input or model.price_output else ""
    window = tokens(model.context_window) if model.context_window else ""
    tag = f"{tag} [no tools]".strip() if model.tools is False else tag
    name = one_line(model.name) if model.name != model.id else ""
    columns = f"{'✦' if model.reasoning else ' '} {window:>5}  {price:<9}"
    return "  ".join(part for part in (columns, tag, name) if part)
