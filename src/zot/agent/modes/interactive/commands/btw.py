"""``/btw``: a side chat that sees the conversation and leaves no trace in it; works while a turn runs."""

from __future__ import annotations

from zot.agent.modes.interactive.commands.context import Context
from zot.errors import ZotError


async def run(context: Context, arguments: str) -> None:
    from zot.agent.modes.interactive.dialogs.side_chat import SideChat

    if context.conversation.missing:
        raise ZotError(context.conversation.missing)
    chat = SideChat(context.desk, context.conversation)
    if arguments:
        chat.ask(arguments)
    await context.dialogs.ask(chat)
