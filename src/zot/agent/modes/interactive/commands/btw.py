"""``/btw``: a side chat that sees the conversation and leaves no trace in it; works while a turn runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of
from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


async def run(app: App, arguments: str) -> None:
    from zot.agent.modes.interactive.dialogs.side_chat import SideChat

    runtime = agent_of(app)
    if runtime.resolved.missing:
        raise ZotError(runtime.resolved.missing)
    chat = SideChat(app, runtime.agent)
    if arguments:
        chat.ask(arguments)
    await app.dialogs.ask(chat)
