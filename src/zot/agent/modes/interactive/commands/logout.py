"""``/logout``: forget a stored credential. Only ``auth.json`` changes; the conversation stays where it is."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of, end_turn
from zot.errors import UsageError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.runtime import Runtime
    from zot.tui.widgets.select_list import Choice

_METHODS = {"apikey": "API key", "oauth": "subscription"}


async def run(app: App, arguments: str) -> None:
    runtime = agent_of(app)
    stored = runtime.auth.stored()
    target = arguments.lower()
    known = [*stored, "anthropic", "openai", "kimi", "all"]
    if target and target not in known:
        raise UsageError(f"/logout {arguments}: expected one of {', '.join(dict.fromkeys(known))}")
    if not stored:
        app.status.ok("nothing is stored, so there is nothing to log out of")
        return
    target = target or await _choose(app, runtime) or ""
    if target:
        await end_turn(app, "/logout")
        await _forget(app, runtime, list(stored) if target == "all" else [target])


def complete(app: App, typed: str) -> list[Choice]:
    """What the editor offers after ``/logout``."""
    from zot.tui.widgets.select_list import Choice

    stored = app.runtime.auth.stored() if app.runtime is not None else {}
    return [Choice(name, name, _METHODS.get(method, method)) for name, method in stored.items()]


async def _choose(app: App, runtime: Runtime) -> str | None:
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.tui.widgets.select_list import Choice

    rows = [Choice(name, name, _METHODS.get(method, method)) for name, method in runtime.auth.stored().items()]
    if len(rows) > 1:
        rows.append(Choice("all", "all", "every one of them"))
    return await app.dialogs.ask(Picker("log out of", rows))


async def _forget(app: App, runtime: Runtime, providers: list[str]) -> None:
    for provider in providers:
        runtime.auth.clear(provider)
    text = f"logged out of {', '.join(providers)}"
    if runtime.resolved.provider.id in providers:
        await _drop_agent(app, runtime)
    app.status.ok(text + _still_set(runtime, providers))


async def _drop_agent(app: App, runtime: Runtime) -> None:
    """Without a credential nothing can be sent until the next login; with one from elsewhere all goes on."""
    from zot.agent.model_switch import adopt
    from zot.agent.resolve import resolve

    query = app.attendants.query(runtime.resolved.provider.id, runtime.agent.model.id)
    resolved = await asyncio.to_thread(resolve, query, runtime.settings, runtime.catalog, runtime.auth, os.environ)
    await adopt(runtime, resolved).aclose()


def _still_set(runtime: Runtime, providers: list[str]) -> str:
    table = runtime.catalog.providers()
    names = [name for p in providers if p in table for name in table[p].env if os.environ.get(name)]
    return f"; {', '.join(names)} in the environment still gives a key" if names else ""
