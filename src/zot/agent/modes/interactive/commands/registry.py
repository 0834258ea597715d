"""Every slash command, in the order of the popup. To add one: a file beside this one, a line here."""

from __future__ import annotations

import re

from zot.agent.modes.interactive.commands.clear import CLEAR
from zot.agent.modes.interactive.commands.command import Command
from zot.agent.modes.interactive.commands.exit import EXIT
from zot.agent.modes.interactive.commands.help import HELP

COMMANDS: list[Command] = [HELP, CLEAR, EXIT]

_SHAPE = re.compile(r"/([A-Za-z0-9_:-]+)(?:\s+(.*))?", re.DOTALL)


def parse(text: str) -> tuple[str, str] | None:
    """Name (lower case) and arguments of command-shaped text; ``/usr/bin`` is none."""
    match = _SHAPE.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None


def find(name: str) -> Command | None:
    """By name or alias."""
    return next((command for command in COMMANDS if name in (command.name, *command.aliases)), None)
