"""``/clear``: forget the conversation and begin a new session; what was said stays in the terminal and on disk."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext


def run(context: CommandContext, arguments: str) -> None:
    context.conversation.clear()
    begin(context, "cleared: a new conversation begins")


def begin(context: CommandContext, text: str) -> None:
    """The screen of a conversation in which nothing was said yet."""
    context.asides.clear()
    context.transcript.clear()
    context.status.ok(text)
