"""What is new after an upgrade and whether there is something newer; only with a release feed the user configured.

Nothing waits for it, a failure is silence, and it never takes keys somebody is already typing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot import __version__
from zot.agent.modes.interactive.commands.command import agent_of
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.updates import Update


async def tell(app: App) -> None:
    runtime = agent_of(app)
    if not runtime.settings.values.update_url:
        return
    # Loaded here: most people have no feed.
    from zot.agent.changelog import whats_new
    from zot.agent.updates import UpdateCheck

    check = UpdateCheck(runtime.home, __version__, runtime.settings.values.update_url)
    text, update = await asyncio.gather(
        whats_new(runtime.settings, __version__, runtime.pool), check.find(runtime.pool)
    )
    if update is not None:
        app.screen.settled.add(banner(app, update))
        app.redraw()
    if text:
        await _changelog(app, text)


async def _changelog(app: App, text: str) -> None:
    """Once for each version: to read where nothing else is going on, else as one line."""
    from zot.agent.changelog import dismissed
    from zot.agent.modes.interactive.dialogs.changelog import ChangelogView

    quiet = app.editor.empty and not app.turns.busy and app.dialogs.top is None and not app.transcript.anything
    if quiet:
        await app.dialogs.ask(ChangelogView(app, __version__, text))
    else:
        app.transcript.remark(f"zot {__version__} is new here; its changes are in {_feed(app)}")
    dismissed(agent_of(app).settings, __version__)


def _feed(app: App) -> str:
    return one_line(agent_of(app).settings.values.update_url)


def banner(app: App, update: Update) -> list[str]:
    """Printed once, above everything that is said."""
    from zot.agent.cli.update import install_command
    from zot.agent.modes.interactive.dialogs.dialog import titled_rule

    theme, width = app.theme, app.columns
    lines = [
        f"  {one_line(update.latest)} is there, this is {__version__}",
        f"  {install_command()}",
        *([f"  {one_line(update.url)}"] if update.url else []),
    ]
    rule = theme.paint("warning", "─" * max(width - 1, 1))
    return [titled_rule(theme, "a new zot", width - 1), *(theme.paint("warning", line) for line in lines), rule]
