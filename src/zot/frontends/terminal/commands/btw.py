"""``/btw``: a side chat that sees the conversation and leaves no trace in it; works while a turn runs."""

from __future__ import annotations

from zot.errors import ZotError
from zot.frontends.terminal.commands.command_context import Context


async def run(context: Context, arguments: str) -> None:
    from zot.frontends.terminal.dialogs.side_chat import SideChat

    if context.conversation.missing:
        raise ZotError(context.conversation.missing)
    chat = SideChat(context.desk, context.conversation)
    if arguments:
        chat.ask(arguments)
    await context.dialogs.ask(chat)
