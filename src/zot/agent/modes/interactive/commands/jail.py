"""``/jail``: confine the tools. Only the operating system can enforce that, so until it does, the command refuses."""

from __future__ import annotations

from zot.agent.modes.interactive.commands.context import Context
from zot.errors import ZotError


def run(context: Context, arguments: str) -> None:
    raise ZotError(
        "/jail does not exist yet: a jail the operating system enforces comes in a later version, and a weaker one"
        " would only pretend. Until then run zot in a container, or with --no-yolo to be asked before each tool"
    )
