"""``/jump``: read an earlier turn in full; the conversation does not change."""

from __future__ import annotations

import asyncio

from zot.errors import ZotError
from zot.frontends.terminal.commands.command_context import CommandContext


async def run(context: CommandContext, arguments: str) -> None:
    from zot.core.session.turn_history import turns_in, turns_of
    from zot.frontends.terminal.dialogs.picker import TurnPicker
    from zot.frontends.terminal.dialogs.transcript_viewers import TurnViewer

    if (path := context.session_file()) is None:
        turns = turns_in(list(enumerate(context.conversation.messages)))
    else:
        turns = await asyncio.to_thread(turns_of, path)
    if not turns:
        raise ZotError("no earlier turns yet")
    found = [i for i, turn in enumerate(turns) if arguments.lower() in turn.prompt.text().lower()]
    if arguments and not found:
        raise ZotError(f'no prompt contains "{arguments}"')
    number: int | None = found[0]
    if len(found) > 1 or not arguments:
        number = await context.dialogs.ask(TurnPicker("jump to", turns, filter=arguments, newest=not arguments))
    if number is not None:
        await context.dialogs.ask(TurnViewer(turns, number, context.transcript.page, lambda text: put(context, text)))


def put(context: CommandContext, text: str) -> None:
    """Copies to the clipboard in the background."""
    from zot.frontends.terminal.commands.copy import copied

    async def copy() -> None:
        await copied(context, text)

    context.ui.spawn(copy())
