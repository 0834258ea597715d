"""``/model``: switch to a model of any provider with a credential; transcript and cost stay."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from zot.errors import UsageError, ZotError, closest_match
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.model_picks import add_recent
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.dialogs.model_picker import ModelPicker
    from zot.tui.widgets import Choice


_ROLES = ("small", "plan", "compact")


async def run(context: CommandContext, arguments: str) -> None:
    role, _, model = arguments.partition(" ")
    if role in _ROLES:
        await _set_role(context, role, model.strip())
        return
    named = named_model(context.conversation, arguments) if arguments else None
    if named is None:
        await _pick(context, arguments)
        return
    listed = await _is_listed(context.conversation, *named)
    if listed or await _confirm_unlisted(context, arguments, *named):
        await use_model(context, *named, listed=listed)


async def _pick(context: CommandContext, filter: str) -> None:
    from zot.frontends.terminal.dialogs.model_picker import ModelPicker

    picker = ModelPicker(context.conversation, filter)
    refreshing = context.ui.spawn(_refresh(context, picker))
    try:
        chosen = await context.dialogs.ask(picker)
    finally:
        refreshing.cancel()
    if chosen is not None:
        provider, _, model = chosen.partition("\n")
        await use_model(context, provider, model)


async def _set_role(context: CommandContext, role: str, typed: str) -> None:
    """``/model plan opus``: the model for a role, saved in the settings; ``off`` removes it."""
    conversation = context.conversation
    models: dict[str, str] = {**conversation.settings.values.models}
    if not typed:
        context.status.ok(f"{role} model: {models.get(role) or 'none'}; set it with /model {role} ID, or off")
        return
    if typed == "off":
        models.pop(role, None)
    else:
        named = named_model(conversation, typed)
        if named is None:
            raise UsageError(f'"{typed}" fits several models; type more of the id')
        await conversation.find_model(named[1], named[0])  # UsageError or NotLoggedIn
        models[role] = "/".join(named)
    conversation.settings.save(models=models)
    from zot.features.model_roles import ModelRolesFeature

    await conversation.features.join_late(conversation, ModelRolesFeature)
    conversation.apply_settings()
    context.status.ok(f"{role} model: {models.get(role, 'none')}")


def complete(context: CommandContext, typed: str) -> list[Choice]:
    """Arguments offered after ``/model``."""
    from zot.agent.provider_choice import models_with_access
    from zot.frontends.terminal.dialogs.model_picker import model_row

    rows = [model_row(model) for model in models_with_access(context.conversation)]
    return [msgspec.structs.replace(row, value=row.label.strip()) for row in rows]


async def _confirm_unlisted(context: CommandContext, typed: str, provider: str, model: str) -> bool:
    """Ask about an id that no list has; not about an alias or a slot, which the user configured."""
    from zot.agent.model_lookup import suggestion_text
    from zot.frontends.terminal.dialogs.picker import YesNo

    values = context.conversation.settings.values
    if typed in values.model_names or typed in values.quick_model_shortcuts.values():
        return True
    rows = [row for row in context.conversation.catalog.rows() if row.provider == provider]
    near = suggestion_text(model, rows).removeprefix(", ")
    question = f'no model list has "{one_line(model)}"' + (f"; {near}?" if near else "")
    return await context.dialogs.ask(YesNo("unknown model", question, f"use it with {provider}")) == "yes"


def named_model(conversation: Conversation, typed: str) -> tuple[str, str] | None:
    """Provider and id of a typed ``id``, ``provider/id`` or part of an id. The current provider comes first.
    None if the part fits several kinds of models."""
    from zot.agent.model_lookup import match_model, newest_match, resolve_alias, suggestion_text
    from zot.agent.provider_choice import models_with_access

    current, names = conversation.resolved.provider, conversation.settings.values.model_names
    if typed in names:
        own = resolve_alias(names[typed], conversation.catalog, current.id)
        return own.provider or current.id, own.model
    if conversation.catalog.find(typed, current.id) is not None or typed == conversation.model.id:
        return current.id, typed
    models = models_with_access(conversation)
    usable = [(model.provider, model.id) for model in models]
    found = next((pair for pair in usable if typed in (pair[1], "/".join(pair))), None)
    if found is not None:
        return found
    if current.any_model:
        return current.id, typed
    elsewhere = conversation.catalog.find(typed)
    if elsewhere is not None:
        raise ZotError(f'model "{typed}" requires a login to {elsewhere.provider}; run /login')
    own = [model for model in models if model.provider == current.id]
    if newest := newest_match(typed, own) or newest_match(typed, models):
        return newest.provider, newest.id
    try:
        part = match_model(typed, conversation.catalog, {}, usable={provider for provider, _ in usable}.__contains__)
    except UsageError:  # ambiguous
        return None
    if part.notice:
        return next((pair for pair in usable if pair[1] == part.model), (current.id, part.model))
    near = suggestion_text(typed, conversation.catalog.rows())
    raise UsageError(f'unknown model "{typed}"{near}; list models with /model')


async def _is_listed(conversation: Conversation, provider: str, model: str) -> bool:
    """True if the model is listed.
    A provider that accepts any id may get a typo; a local server is asked, and UsageError names its models."""
    if conversation.catalog.find(model, provider) is not None or conversation.resolved.script:
        return True
    row, launch = conversation.catalog.providers()[provider], conversation.launch
    if not row.local or (launch.base_url and launch.provider == provider):
        return False
    from zot.provider.discovery import find_local_servers

    servers = await find_local_servers(conversation.pool, providers=[row])
    if servers and model not in servers[0].models:
        near = closest_match(model, servers[0].models)
        raise UsageError(
            f'{provider} has no model "{model}"'
            + (f"; did you mean {near}?" if near else "; list its models with /model")
        )
    return bool(servers)


async def use_model(context: CommandContext, provider: str, model_id: str, *, listed: bool = True) -> None:
    """Cancel a running turn, switch, and save the choice for the next run if the model is listed."""
    conversation = context.conversation
    await context.end_turn("/model")
    await conversation.set_model(model_id, provider)
    present = conversation.snapshot
    add_recent(conversation.home, present.provider, present.model)
    if listed:
        context.status.ok(f"model: {present.model} ({present.provider}), also for new sessions")
        conversation.settings.save(provider=present.provider, model=present.model)
    else:
        unlisted = "not in any model list, so not saved for the next run"
        context.status.ok(f"model: {present.model} ({present.provider}); {unlisted}")


async def _refresh(context: CommandContext, picker: ModelPicker) -> None:
    """Refresh outdated model lists of providers with a credential; the list grows while open."""
    from zot.provider.discovery import refresh, targets

    conversation, launch = context.conversation, context.conversation.launch
    providers = conversation.catalog.providers().values()
    asked = targets(providers, conversation.auth, os.environ, in_use=conversation.snapshot.provider)
    if launch.base_url:  # an address from the command line is not the provider's
        asked = [target for target in asked if target.provider.id != launch.provider]
    url, fetched = conversation.settings.values.catalog_url, False
    if url:
        from zot.provider.catalog_file import fetch_catalog

        if fetched := await fetch_catalog(conversation.pool, url, conversation.home):
            conversation.catalog.reload()
    models = await refresh(conversation.pool, asked, conversation.home)
    if models is not None:
        conversation.catalog.learn(models)
    if models is not None or fetched:
        picker.update()
        await asyncio.sleep(0)
        context.ui.redraw()
