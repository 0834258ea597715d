"""``model.list``, ``model.get``, ``model.set``: the models of the conversation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.model_resolver import ResolvedModel
from zot.agent.provider_choice import providers_with_access
from zot.errors import ConfigError, NotLoggedIn, UsageError
from zot.features.extensions.requests import MethodCall, RequestError
from zot.features.model_roles import split_model
from zot.provider.model import REASONING_LEVELS

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.provider.model import Model


async def available(call: MethodCall) -> dict[str, Any]:
    return {"models": await asyncio.to_thread(_rows, call.conversation)}


def _rows(conversation: Conversation) -> list[dict[str, Any]]:
    """All models of the catalog, with the conversation's, which it may not have."""
    access, present = providers_with_access(conversation), conversation.model
    rows = {(model.provider, model.id): model for model in conversation.catalog.rows()}
    usable = conversation.resolved.endpoint is not None or bool(conversation.resolved.script)
    rows.setdefault((present.provider, present.id), present)
    return [
        _described(model, access.get(model.provider, False) or (usable and model.provider == present.provider))
        for model in rows.values()
    ]


def _described(model: Model, usable: bool) -> dict[str, Any]:
    prices = {name: getattr(model, f"price_{name}") for name in ("input", "output", "cache_read", "cache_write")}
    return {
        "id": model.id,
        "provider": model.provider,
        "name": model.name or model.id,
        "context_window": model.context_window,
        "max_output": model.max_output,
        "images": "image" in model.input,
        "reasoning": list(model.reasoning_levels),
        **({"cost": prices} if model.is_priced else {}),
        "usable": usable,
    }


async def current(call: MethodCall) -> dict[str, Any]:
    return _current(call.conversation)


def _current(conversation: Conversation) -> dict[str, Any]:
    model = conversation.model
    return {"provider": model.provider, "model": model.id, "reasoning": conversation.agent.reasoning}


class _SetParams(msgspec.Struct, frozen=True):
    model: str = ""
    reasoning: str = ""


async def change(call: MethodCall) -> dict[str, Any]:
    """The session's model or reasoning level, also while a prompt runs: it holds from the next model call on."""
    params, conversation = call.params(_SetParams), call.conversation
    if params.reasoning and params.reasoning not in REASONING_LEVELS:
        expected = ", ".join(REASONING_LEVELS)
        raise RequestError("bad_params", f"model.set: reasoning: expected one of {expected}")
    resolved = await resolved_model(call, params.model) if params.model else None
    done: list[str] = []
    if resolved is not None and (resolved.model.provider, resolved.model.id) != _identity(conversation):
        conversation.apply_model(resolved, call.child.name)  # its client shares the connections
        done.append(f"the model to {resolved.model.provider}/{resolved.model.id}")
    if params.reasoning and params.reasoning != conversation.agent.reasoning:
        conversation.set_reasoning(params.reasoning, extension=call.child.name)
        done.append(f"the reasoning level to {params.reasoning}")
    if done:
        conversation.notify(f"extension {call.child.name} set {' and '.join(done)}", "extensions", "info")
    return _current(conversation)


def _identity(conversation: Conversation) -> tuple[str, str]:
    return conversation.model.provider, conversation.model.id


async def resolved_model(call: MethodCall, name: str) -> ResolvedModel:
    """A model by id, ``provider/id`` or the user's name for it; RequestError if the user could not choose it."""
    method, conversation = call.frame.method, call.conversation
    try:
        id, provider = await asyncio.to_thread(split_model, conversation, name)
        return await conversation.find_model(id, provider)
    except UsageError as error:
        raise RequestError("not_found", f"{method}: model: {error}") from error
    except (NotLoggedIn, ConfigError) as error:
        raise RequestError("unavailable", f"{method}: model: {error}") from error
