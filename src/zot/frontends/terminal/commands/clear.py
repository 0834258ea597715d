"""``/clear``: start a new session; the conversation stays in the terminal and on disk."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext


def run(context: CommandContext, arguments: str) -> None:
    context.conversation.clear()
    begin(context, "cleared; started a new conversation")


def begin(context: CommandContext, text: str) -> None:
    """The screen of an empty conversation."""
    context.asides.clear()
    context.transcript.clear()
    context.status.ok(text)
