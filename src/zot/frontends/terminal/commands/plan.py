"""``/plan [prompt]``: switch to plan mode, and send the prompt if there is one."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext


def run(context: CommandContext, arguments: str) -> None:
    context.confirmations.plan()
    if arguments:
        context.turns.submit(arguments)
