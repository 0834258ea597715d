"""``/new``: keep the conversation in its session and begin an empty one with the same model, tools and extensions."""

from __future__ import annotations

from zot.errors import ZotError
from zot.frontends.terminal.commands.clear import begin
from zot.frontends.terminal.commands.command_context import CommandContext


def run(context: CommandContext, arguments: str) -> None:
    if not context.conversation.snapshot.session_file:
        raise ZotError("/new needs sessions, and zot was started with --no-session; /clear starts over without one")
    context.conversation.new_session()
    begin(context, "a new session begins; the previous one is in /sessions")
