"""``/exit``: leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import Command

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    app.leave()


EXIT = Command("exit", "leave zot", run, aliases=("quit",))
