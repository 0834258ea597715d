"""``/hooks``: the hooks of this project and user, with file, event, command and trust state."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zot.frontends.terminal.commands.command_context import CommandContext
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import wrap

if TYPE_CHECKING:
    from zot.features.hooks.config import HookSource

_NONE = "no hooks; zot reads $ZOT_HOME/hooks.json, .zot/hooks.json and Claude Code's settings files"
_FIX = "review and allow: `zot hooks trust`; then restart zot"


async def run(context: CommandContext, arguments: str) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    conversation = context.conversation
    sources, problems = await asyncio.to_thread(_load, conversation.home, conversation.workspace.cwd)
    await context.dialogs.ask(TextView("hooks", lambda theme, width: _rows(sources, problems, theme, width)))


def _load(home: Path, cwd: Path) -> tuple[list[tuple[HookSource, str]], list[str]]:
    from zot.features.hooks.config import load
    from zot.features.trust import TrustStore
    from zot.frontends.hook_states import hook_state

    problems: list[str] = []
    trust = TrustStore(home)
    return [(source, hook_state(trust, source)) for source in load(home, cwd, problems)], problems


def _rows(sources: list[tuple[HookSource, str]], problems: list[str], theme: Theme, width: int) -> list[str]:
    rows: list[str] = []
    for source, state in sources:
        role = "tool" if state in ("runs", "trusted") else "warning"
        rows.append(f"  {theme.paint('fg', one_line(source.name), bold=True)}  {theme.paint(role, state)}")
        lines = (row for hook in source.hooks for row in wrap(f"    {one_line(hook.shown())}", width, "      "))
        rows += [theme.paint("muted", row) for row in lines]
    notes = [*problems, *([_FIX] if any("trust" in state and state != "trusted" for _, state in sources) else [])]
    rows += [theme.paint("warning", row) for note in notes for row in wrap(f"  {one_line(note)}", width, "  ")]
    return rows or [theme.paint("muted", row) for row in wrap(f"  {_NONE}", width, "  ")]
