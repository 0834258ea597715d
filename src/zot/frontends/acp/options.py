"""Modes and config options of a session: permission mode, model, reasoning. The mode is both a mode and an option,
because some editors know only one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.core.permission_modes import MODES, WORDS, Mode, is_wider
from zot.frontends.acp.content import Json
from zot.frontends.json_rpc import INVALID_PARAMS, RpcError
from zot.provider.model import REASONING_LEVELS

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.provider.model import Model

_NAMES: dict[Mode, str] = {"plan": "Plan", "ask": "Ask", "accept-edits": "Accept edits", "everything": "Everything"}
_MOST_MODELS = 200


def mode_state(conversation: Conversation) -> Json:
    gate = conversation.gate
    permitted: list[Mode] = [mode for mode in MODES if gate is None or not is_wider(mode, gate.limit)]
    listed = [{"id": mode, "name": _NAMES[mode], "description": WORDS[mode]} for mode in permitted]
    return {"currentModeId": conversation.snapshot.permission_mode, "availableModes": listed}


def config_options(conversation: Conversation) -> list[Json]:
    modes = mode_state(conversation)
    model = conversation.model
    current = f"{model.provider}/{model.id}"
    models = {current: model.name or model.id}
    for row in usable_models(conversation):
        models.setdefault(f"{row.provider}/{row.id}", row.name or row.id)
    options = [
        _select(
            "mode",
            "Permission mode",
            "mode",
            str(modes["currentModeId"]),
            {mode["id"]: mode["name"] for mode in modes["availableModes"]},
        ),
        _select("model", "Model", "model", current, dict(list(models.items())[:_MOST_MODELS])),
    ]
    if model.reasoning:
        level = conversation.agent.reasoning or "default"
        levels = {"default": "Default", **{level: level.capitalize() for level in REASONING_LEVELS if level}}
        options.append(_select("reasoning", "Reasoning", "thought_level", level, levels))
    return options


def usable_models(conversation: Conversation) -> list[Model]:
    """Models of providers with a credential, those of the current provider first."""
    own = conversation.resolved.provider
    rows = [row for row in conversation.catalog.rows() if row.provider in (own.id, own.rows_of)]
    if conversation.resolved.script:
        return []
    return sorted(rows, key=lambda row: row.id, reverse=True)


def _select(id: str, name: str, category: str, value: str, choices: dict[str, str]) -> Json:
    listed = [{"value": each, "name": label} for each, label in choices.items()]
    return {"id": id, "name": name, "category": category, "type": "select", "currentValue": value, "options": listed}


async def set_option(conversation: Conversation, id: str, value: object) -> None:
    """RpcError for an unknown option or value."""
    if not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, f"{id}: expected a text")
    match id:
        case "mode":
            conversation.set_permission_mode(value)
        case "model":
            provider, _, model = value.partition("/")
            await conversation.set_model(model or provider, provider if model else "")
        case "reasoning":
            conversation.set_reasoning("" if value == "default" else value)
        case _:
            raise RpcError(INVALID_PARAMS, f"no config option is called {id[:60]!r}")
