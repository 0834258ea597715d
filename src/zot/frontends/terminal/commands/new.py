"""``/new``: save the conversation and start an empty one with the same model, tools and extensions."""

from __future__ import annotations

from zot.agent.session_change import clear
from zot.errors import ZotError
from zot.frontends.terminal.commands.clear import begin
from zot.frontends.terminal.commands.command_context import CommandContext


async def run(context: CommandContext, arguments: str) -> None:
    if not context.conversation.snapshot.session_file:
        raise ZotError("/new requires sessions (started with --no-session); use /clear instead")
    if (changing := clear(context.conversation, "new")) is not None:
        await changing
    begin(context, "started a new session; the previous one is in /sessions")
