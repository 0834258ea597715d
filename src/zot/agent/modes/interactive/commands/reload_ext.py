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
    runtime = agent_of(app)
    if runtime.extensions is None:
        app.status.ok("there are no extensions to reload; a new one is found when zot starts again")
        return
    unasked, app.attendants.unasked = app.attendants.unasked, False
    if not unasked:
        await app.attendants.ask_about_trust()
    await end_turn(app, "/reload-ext")
    await reload(app)


async def reload(app: App) -> None:
    """Without a question; says what came of it."""
    runtime = agent_of(app)
    app.status.ok("reloading extensions …")
    stats = await runtime.reload_extensions()
    if stats is None:
        return
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
