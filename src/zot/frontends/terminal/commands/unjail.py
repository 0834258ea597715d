"""``/unjail``: leave the jail. Only a person can: it widens what the agent may do."""

from __future__ import annotations

from zot.features.jail.feature import jail_of
from zot.frontends.terminal.commands.command_context import CommandContext


async def run(context: CommandContext, arguments: str) -> None:
    was = await jail_of(context.conversation).leave()
    context.status.ok("the jail is open: commands run with your own rights" if was else "the tools are not jailed")
