"""``/help``: keys and commands, made from the tables that act on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import Command
from zot.tui.theme import Theme
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    app.help_shown = True
    app.redraw()


HELP = Command("help", "keys and commands", run)


def help_lines(app: App, theme: Theme, width: int) -> list[str]:
    """Shown under the transcript until esc or the next prompt."""
    from zot.agent.modes.interactive.commands.registry import COMMANDS
    from zot.agent.modes.interactive.keymap import key_help

    rows = [theme.paint("accent", "keys", bold=True)]
    rows += [_row(theme, keys, text, width) for keys, text in key_help(app)]
    rows += ["", theme.paint("accent", "commands", bold=True)]
    for command in COMMANDS:
        if not command.hidden:
            rows.append(_row(theme, f"/{command.name} {command.arguments}".strip(), command.summary, width))
    for name, summary in app.extension_commands():
        rows.append(_row(theme, f"/{name}", summary, width))
    return rows


def _row(theme: Theme, left: str, right: str, width: int) -> str:
    return cut(f"  {theme.paint('fg', f'{left:<22}')} {theme.paint('muted', right)}", width)
