"""``/memory``: the AGENTS.md and CLAUDE.md files that the model reads; enter opens one in $VISUAL or $EDITOR."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.screen.status import home_as_tilde
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

_HINT = "enter opens it in your editor · esc closes"


async def run(context: CommandContext, arguments: str) -> None:
    from zot.frontends.terminal.dialogs.picker import Picker

    rows = await asyncio.to_thread(_choices, context.conversation)
    chosen = await context.dialogs.ask(Picker("files the model reads at the start", rows, hint=_HINT))
    if chosen is not None:
        await _edit(context, Path(chosen))


def _choices(conversation: Conversation) -> list[Choice]:
    """Existing files in the order of the prompt, then the ones that can be created."""
    from zot.agent.context_files import load

    home, cwd = conversation.home, conversation.workspace.cwd
    found = load(cwd, home).parts
    named = conversation.workspace.display_path
    rows = [_choice(part.path, named(part.path), _lines(part.text)) for part in found]
    places = {part.path.parent for part in found}
    new = ((cwd, "create it for this project"), (home.absolute(), "create it for all projects"))
    files = [(place / "AGENTS.md", text) for place, text in new if place not in places]
    return rows + [_choice(path, named(path), text) for path, text in files]


def _lines(text: str) -> str:
    count = len(text.splitlines())
    return f"{count:,} lines" if count != 1 else "1 line"


def _choice(path: Path, name: str, about: str) -> Choice:
    return Choice(str(path), one_line(home_as_tilde(name)), about)


async def _edit(context: CommandContext, path: Path) -> None:
    from zot.frontends.terminal.editor.editor import editor_command

    before = _changed_at(path)
    command = editor_command(os.environ)
    code = await context.editor.around.lend_terminal([*command, str(path)])
    if code:
        raise ZotError(f"{os.path.basename(command[0])} exited with {code}")
    if _changed_at(path) != before:
        context.status.ok(f"saved {home_as_tilde(str(path))}; the model reads it from the next start on")


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
