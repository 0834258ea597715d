"""``/model``: go on with another model, of any provider that has a credential; transcript and cost stay."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from zot.agent.modes.interactive.commands.command import agent_of, end_turn
from zot.errors import UsageError, ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.modes.interactive.dialogs.model_picker import ModelPicker
    from zot.agent.runtime import Runtime
    from zot.tui.widgets.select_list import Choice


async def run(app: App, arguments: str) -> None:
    runtime = agent_of(app)
    if arguments:
        await use_model(app, *named_model(runtime, arguments))
        return
    from zot.agent.modes.interactive.dialogs.model_picker import ModelPicker

    picker = ModelPicker(runtime)
    refreshing = app.spawn(_refresh(app, picker))
    try:
        chosen = await app.dialogs.ask(picker)
    finally:
        refreshing.cancel()
    if chosen is not None:
        provider, _, model = chosen.partition("\n")
        await use_model(app, provider, model)


def complete(app: App, typed: str) -> list[Choice]:
    """What the editor offers after ``/model``."""
    from zot.agent.modes.interactive.dialogs.model_picker import model_row, usable_models

    rows = [model_row(model) for model in usable_models(agent_of(app))] if app.runtime is not None else []
    return [msgspec.structs.replace(row, value=row.label.strip()) for row in rows]


def named_model(runtime: Runtime, typed: str) -> tuple[str, str]:
    """Provider and id of what was typed: an id, or ``provider/id``. The provider of now comes first."""
    from zot.agent.modes.interactive.dialogs.model_picker import usable_models

    current = runtime.resolved.provider
    if runtime.catalog.find(typed, current.id) is not None or typed == runtime.agent.model.id:
        return current.id, typed
    usable = [(model.provider, model.id) for model in usable_models(runtime)]
    found = next((pair for pair in usable if typed in (pair[1], "/".join(pair))), None)
    if found is not None:
        return found
    if current.any_model:
        return current.id, typed
    elsewhere = runtime.catalog.find(typed)
    if elsewhere is not None:
        raise ZotError(f'model "{typed}" belongs to {elsewhere.provider}, which has no credential; /login adds one')
    raise UsageError(f'unknown model "{typed}"; /model lists those you can use')


async def use_model(app: App, provider: str, model_id: str) -> None:
    """End a running turn, switch, and remember the choice for the next run."""
    from zot.agent.model_switch import move_to

    runtime = agent_of(app)
    await end_turn(app, "/model")
    notices = await move_to(runtime, app.attendants.query(provider, model_id))
    for notice in notices:
        app.transcript.diagnose(notice)
    remember(app)


def remember(app: App) -> None:
    """Say which model it is now, and store it."""
    runtime = agent_of(app)
    provider, model = runtime.resolved.provider.id, runtime.agent.model.id
    app.status.ok(f"model: {model} ({provider})")
    runtime.settings.save(provider=provider, model=model)


async def _refresh(app: App, picker: ModelPicker) -> None:
    """Ask providers with a credential for their models, if what is known is old; the list grows while it is open."""
    from zot.provider.discovery import refresh, targets

    runtime = agent_of(app)
    providers = runtime.catalog.providers().values()
    asked = targets(providers, runtime.auth, os.environ, in_use=runtime.resolved.provider.id)
    if app.flags.base_url:  # an address typed by hand is not the provider's: not asked
        asked = [target for target in asked if target.provider.id != app.attendants.launched_with]
    models = await refresh(runtime.pool, asked, runtime.home)
    if models is not None:
        runtime.catalog.learn(models)
        picker.update()
        await asyncio.sleep(0)
        app.redraw()
