"""``/unjail``: leave the jail. Only a person can: it widens what the agent may do."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import Context


def run(context: Context, arguments: str) -> None:
    was = context.conversation.unjail()
    context.status.ok("the jail is open: commands run with your own rights" if was else "the tools are not jailed")
