"""``/help``: keys and commands, from the tables that dispatch them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from zot.frontends.terminal.commands.command_context import EarlyCommandContext
from zot.frontends.terminal.dialogs.text_dialogs import TextView
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import cut

_REST = 9  # rows for the editor, the status bar and part of the conversation
_SCROLL = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})


class KeyList(TextView):
    """The keys, opened with ``?``. Any key that does not scroll closes it; text goes to the editor."""

    def __init__(self, keys: list[tuple[str, str]], type_on: Callable[[Key], None]) -> None:
        super().__init__("keys", lambda theme, width: _table("press", keys, theme, width)[1:])
        self._type_on = type_on

    def key(self, key: Key) -> bool:
        if key.name in _SCROLL:
            return super().key(key)
        self.finish(True)
        if key.printable or key.name == "paste":
            self._type_on(key)
        return True


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
