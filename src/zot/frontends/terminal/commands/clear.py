"""``/clear``: start a new session; the conversation stays in the terminal and on disk."""

from __future__ import annotations

from zot.agent.session_change import clear
from zot.frontends.terminal.commands.command_context import CommandContext


async def run(context: CommandContext, arguments: str) -> None:
    if (changing := clear(context.conversation)) is not None:
        await changing
    begin(context, "cleared; started a new conversation")


def begin(context: CommandContext, text: str) -> None:
    """The screen of an empty conversation."""
    context.asides.clear()
    context.transcript.clear()
    context.status.ok(text)
