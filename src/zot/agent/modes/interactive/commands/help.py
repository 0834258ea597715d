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
    rows = [theme.paint("accent", "commands", bold=True)]
    rows += [_row(theme, left, right, width) for left, right in commands]
    rows += [_row(theme, "!command", "run a shell command, the model sees it later", width)]
    rows += ["", theme.paint("accent", "keys", bold=True)]
    return rows + [_row(theme, keys, text, width) for keys, text in key_help(app)]


def _row(theme: Theme, left: str, right: str, width: int) -> str:
    return cut(f"  {theme.paint('fg', f'{one_line(left):<24}')} {theme.paint('muted', one_line(right))}", width)
