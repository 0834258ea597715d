"""``/exit``: leave."""

from __future__ import annotations

from zot.agent.modes.interactive.commands.context import EarlyContext


def run(context: EarlyContext, arguments: str) -> None:
    context.leave()
