"""``/yolo``: stop asking in this session; what is being asked right now may run."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext


def run(context: CommandContext, arguments: str) -> None:
    if context.confirmations.allow_all():
        context.status.ok("no more questions: every tool runs without confirmation from now on")
    else:
        context.status.ok("nothing was being asked: zot runs tools without confirmation unless started with --no-yolo")
