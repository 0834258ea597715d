"""``/unjail``: there is no jail to leave yet (see ``jail.py``)."""

from __future__ import annotations

from zot.agent.modes.interactive.commands.context import Context
from zot.errors import ZotError


def run(context: Context, arguments: str) -> None:
    raise ZotError("the tools are not jailed: an enforced /jail comes in a later version")
