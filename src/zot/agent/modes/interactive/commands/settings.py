"""``/settings``: rows to change with enter; each change is stored at once and works from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


async def run(app: App, arguments: str) -> None:
    from zot.agent.modes.interactive.dialogs.settings_rows import open_row, settings_picker

    agent_of(app)
    selected = ""
    while (key := await app.dialogs.ask(settings_picker(app, selected))) is not None:
        selected = key
        await open_row(app, key)
