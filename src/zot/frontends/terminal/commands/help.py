"""``/help``: keys and commands, from the tables that dispatch them."""

from __future__ import annotations

from functools import partial

from zot.frontends.terminal.commands.command_context import EarlyCommandContext
from zot.frontends.terminal.dialogs.text_dialogs import TextView, two_columns
from zot.tui.theme import Theme

_REST = 9  # rows for the editor, the status bar and part of the conversation


async def run(context: EarlyCommandContext, arguments: str) -> None:
    """Rows below the transcript, until esc or the next prompt; a scrollable list if too long."""
    ui, rows = context.ui, partial(_rows, context)
    if len(rows(ui.theme, ui.columns)) <= ui.height - _REST:
        context.asides.help = rows
        ui.redraw()
        return
    await context.dialogs.ask(TextView("help", rows))


def _rows(context: EarlyCommandContext, theme: Theme, width: int) -> list[str]:
    own = [(f"/{command.name} {command.arguments}".strip(), command.summary) for command in context.commands.offered()]
    of_features = [
        (f"/{c.name} {c.arguments}".strip(), c.summary or f"({c.source})") for c in context.commands.of_features()
    ]
    commands = [
        *own,
        *of_features,
        ("!command", "run a shell command and show it to the model"),
        ("!!command", "run a shell command; hidden from the model"),
    ]
    return [
        *two_columns("commands", commands, theme, width),
        "",
        *two_columns("keys", context.key_help(), theme, width),
    ]
