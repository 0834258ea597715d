"""``/help``: keys and commands, from the tables that dispatch them."""

from __future__ import annotations

from functools import partial

from zot.frontends.terminal.commands.command_context import EarlyCommandContext
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import cut

_REST = 9  # rows for the editor, the status bar and part of the conversation


async def run(context: EarlyCommandContext, arguments: str) -> None:
    """Rows below the transcript, until esc or the next prompt; a scrollable list if too long."""
    ui, rows = context.ui, partial(_rows, context)
    if len(rows(ui.theme, ui.columns)) <= ui.height - _REST:
        context.asides.help = rows
        ui.redraw()
        return
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    await context.dialogs.ask(TextView("help", rows))


def _rows(context: EarlyCommandContext, theme: Theme, width: int) -> list[str]:
    own = [(f"/{command.name} {command.arguments}".strip(), command.summary) for command in context.commands.offered()]
    of_features = [
        (f"/{c.name} {c.arguments}".strip(), c.summary or f"({c.source})") for c in context.commands.of_features()
    ]
    commands = [
        *own,
        *of_features,
        ("!command", "run a shell command; the model sees it with the next prompt"),
        ("!!command", "run a shell command; hidden from the model"),
    ]
    return [*_table("commands", commands, theme, width), "", *_table("keys", context.key_help(), theme, width)]


def _table(title: str, pairs: list[tuple[str, str]], theme: Theme, width: int) -> list[str]:
    """Two columns; a left column wider than half is not aligned."""
    column = min(max(len(left) for left, _ in pairs), width // 2)
    rows = [
        f"{theme.paint('fg', f'{one_line(left):<{column}}')}  {theme.paint('muted', one_line(right))}"
        for left, right in pairs
    ]
    return [theme.paint("accent", title, bold=True), *(cut(f"  {row}", width) for row in rows)]
