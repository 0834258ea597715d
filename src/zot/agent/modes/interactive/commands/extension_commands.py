"""Slash commands of extensions: listed by name, run off to the side, and what they answer is done on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from zot.errors import ZotError
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.agent.extensions.host import ExtensionHost
    from zot.agent.modes.interactive.commands.context import Context


def listed(host: ExtensionHost) -> list[tuple[str, str]]:
    """Name and description, by name; without a description the extension is named."""
    infos = sorted(host.commands(), key=lambda info: info.name)
    return [(one_line(info.name), one_line(info.description) or f"({one_line(info.extension)})") for info in infos]


async def run(context: Context, host: ExtensionHost, name: str, arguments: str) -> None:
    from zot.agent.extensions import commands

    answer = await host.run_command(name, arguments)
    match answer:
        case commands.CommandFailed(error):
            raise ZotError(error)
        case commands.Prompt(_, text):
            context.turns.submit(text)
        case commands.ToolPrompt(extension, text, first_call):
            if context.turns.busy:
                raise ZotError(f"{extension}: wait until the turn is over, then try again")
            context.turns.submit(text, first_call=first_call)
        case commands.Insert(_, text):
            context.editor.insert(text)
            context.desk.redraw()
        case commands.Display(extension, text):
            context.surface.notify(extension, "info", text)
        case commands.OpenPanel(extension, panel):
            context.surface.open_panel(extension, panel)
        case commands.Noop():
            pass
        case _:
            assert_never(answer)
