"""``/add-dir PATH``: tools may use another directory like the project, in every mode and in the jail."""

from __future__ import annotations

import os
from pathlib import Path

from zot.core.events import SYNTHETIC
from zot.errors import UsageError
from zot.features.jail.feature import jail_of
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.provider.messages import Message, TextBlock, utc_now

_NOTE = "[zot: the user added the directory {}. Your tools may read and change it like the project.]"


async def run(context: CommandContext, arguments: str) -> None:
    conversation = context.conversation
    added = conversation.workspace.added_dirs
    if not arguments:
        raise UsageError(f"/add-dir: expected a directory; added: {', '.join(added) or 'none'}")
    path = Path(conversation.workspace.cwd, os.path.expanduser(arguments.strip("\"'")))
    await jail_of(conversation).add_dir(path)
    real = os.path.realpath(path)
    if real not in added:
        conversation.add_message(Message("user", (TextBlock(_NOTE.format(real)),), utc_now(), {SYNTHETIC: "true"}))
    context.status.ok(f"added {path}: tools can use it like the project until zot ends")
