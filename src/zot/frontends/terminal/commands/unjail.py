"""``/unjail``: leave the jail. Only the user can: it extends the agent's rights."""

from __future__ import annotations

from zot.features.jail.feature import jail_of
from zot.frontends.terminal.commands.command_context import CommandContext


async def run(context: CommandContext, arguments: str) -> None:
    was = await jail_of(context.conversation).leave()
    context.status.ok("left the jail: commands run with your rights" if was else "not in a jail")
