"""``/reload-ext``: stop every extension, read the manifests anew, start them again; the conversation goes on.

What changed in a project's extensions since it was trusted is asked about once, before anything is stopped, and only
when a person typed the command.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of, end_turn

if TYPE_CHECKING:
    from zot.agent.extensions.host import ReloadStats
    from zot.agent.modes.interactive.app import App

STATUS_S = 5.0


async def run(app: App, arguments: str) -> None:
    if agent_of(app).extensions is None:
        await _first_ones(app)
        return
    unasked, app.attendants.unasked = app.attendants.unasked, False
    if not unasked:
        await app.attendants.ask_about_trust()
    await end_turn(app, "/reload-ext")
    await reload(app)


async def _first_ones(app: App) -> None:
    """There were none when zot started; perhaps there are by now."""
    from zot.agent.build import find_extensions
    from zot.agent.embedding import Embedding

    runtime = agent_of(app)
    await end_turn(app, "/reload-ext")
    if not await find_extensions(runtime, app.flags, Embedding(surface=app.surface)) or runtime.extensions is None:
        app.status.ok("there are no extensions")
        return
    app.panels.owner = runtime.extensions
    await app.attendants.ask_about_trust()
    await reload(app)


async def reload(app: App) -> None:
    """Without a question; says what came of it."""
    runtime = agent_of(app)
    app.status.ok("reloading extensions …")
    stats = await runtime.reload_extensions()
    if stats is None:
        return
    app.looks.settings_read()  # themes come with extensions, too
    text = counts(stats)
    if stats.errors:
        app.status.error(text)
    else:
        app.status.ok(text)
    await asyncio.sleep(STATUS_S)
    if app.status.text == text:
        app.status.clear()
        app.redraw()


def counts(stats: ReloadStats) -> str:
    errors = f", {len(stats.errors)} with errors" if stats.errors else ""
    return f"extensions: {stats.stopped} stopped, {stats.loaded} loaded, {stats.ready} ready{errors}"
