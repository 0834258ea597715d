"""``/yolo``: approve everything in this session, including the pending question."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext


def run(context: CommandContext, arguments: str) -> None:
    if context.confirmations.allow_all():
        context.status.ok("every tool call now runs without approval")
    else:
        context.status.ok("already the case: tools run without approval unless started with --no-yolo")
