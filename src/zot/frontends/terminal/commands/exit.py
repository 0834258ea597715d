"""``/exit``: leave."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import EarlyContext


def run(context: EarlyContext, arguments: str) -> None:
    context.leave()
