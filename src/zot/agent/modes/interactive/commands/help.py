"""``/help``: keys and commands, made from the tables that act on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.registry import offered
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App

_REST = 9  # rows for the editor, the status bar and a little of the conversation


async def run(app: App, arguments: str) -> None:
    """A block under the transcript; where it is too long for the screen, a list to scroll."""
    if len(help_lines(app, app.theme, app.columns)) <= app.height - _REST:
        app.help_shown = True
        app.redraw()
        return
    from zot.agent.modes.interactive.dialogs.text_view import TextView

    await app.dialogs.ask(TextView("help", lambda theme, width: help_lines(app, theme, width)))


def help_lines(app: App, theme: Theme, width: int) -> list[str]:
    """Shown under the transcript until esc or the next prompt."""
    from zot.agent.modes.interactive.keymap import key_help

    commands = [(f"/{command.name} {command.arguments}".strip(), command.summary) for command in offered(app)]
    commands += [(f"/{name}", summary) for name, summary in app.extension_commands()]
    commands += [("!command", "run a shell command, the model sees it later")]
    keys = key_help(app)
    return [*_table("commands", commands, theme, width), "", *_table("keys", keys, theme, width)]


def _table(title: str, pairs: list[tuple[str, str]], theme: Theme, width: int) -> list[str]:
    """Two columns; where the left one would take more than half, its long rows stand out instead."""
    column = min(max(len(left) for left, _ in pairs), width // 2)
    rows = [
        f"{theme.paint('fg', f'{one_line(left):<{column}}')}  {theme.paint('muted', one_line(right))}"
        for left, right in pairs
    ]
    return [theme.paint("accent", title, bold=True), *(cut(f"  {row}", width) for row in rows)]
