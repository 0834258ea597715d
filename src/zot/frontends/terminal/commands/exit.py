"""``/exit``: quit."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import EarlyCommandContext


def run(context: EarlyCommandContext, arguments: str) -> None:
    context.leave()
