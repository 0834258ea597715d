"""Slash commands of extensions: listed by name, run off to the side, what they answer is done through the surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from zot.errors import ZotError
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.agent.extensions.commands import ToolPrompt
    from zot.agent.extensions.host import ExtensionHost
    from zot.agent.modes.interactive.app import App


def listed(host: ExtensionHost) -> list[tuple[str, str]]:
    """Name and description, by name; without a description the extension is named."""
    infos = sorted(host.commands(), key=lambda info: info.name)
    return [(one_line(info.name), one_line(info.description) or f"({one_line(info.extension)})") for info in infos]


async def run(app: App, name: str, arguments: str) -> None:
    host = app.runtime.extensions if app.runtime is not None else None
    if host is None:
        return
    result = await host.run_command(name, arguments)
    if result.error:
        raise ZotError(result.error)
    if result.tool_prompt is not None:
        _prompt_with_tool(app, result.tool_prompt)


def _prompt_with_tool(app: App, asked: ToolPrompt) -> None:
    """The tool runs first, then the model answers with its result before it."""
    from zot.core.agent import FirstCall
    from zot.provider.messages import ToolCallBlock

    if app.turns.busy:
        raise ZotError(f"{asked.extension}: wait until the turn is over, then try again")
    arguments = msgspec.json.encode(asked.args).decode()
    call = ToolCallBlock(f"{asked.extension}-first", asked.tool, arguments)
    app.turns.submit(asked.prompt, first_call=FirstCall(call, asked.extension))
