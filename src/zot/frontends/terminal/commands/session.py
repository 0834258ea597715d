"""``/session``: export, import, fork, show branches, rename."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zot.errors import UsageError, ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.commands.registry import SESSION_OPERATIONS
from zot.frontends.terminal.commands.sessions import show_session, summaries, switch_session

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.session.session import Session
    from zot.tui.widgets import Choice


async def run(context: CommandContext, arguments: str) -> None:
    name, _, rest = arguments.partition(" ")
    name = name.lower()
    if not name:
        from zot.frontends.terminal.dialogs.picker import Picker

        name = await context.dialogs.ask(Picker("session", complete(context, ""))) or ""
    work = {"export": _export, "import": _import, "fork": _fork, "tree": _tree, "rename": _rename}
    if name and name not in work:
        raise UsageError(f"/session {name}: expected one of {', '.join(work)}")
    if name:
        await work[name](context, rest.strip())


def complete(context: CommandContext, typed: str) -> list[Choice]:
    """Arguments offered after ``/session``."""
    from zot.tui.widgets import Choice

    return [Choice(name, name, text) for name, text in SESSION_OPERATIONS.items()]


def _saved(conversation: Conversation, what: str) -> Session:
    """The current session, complete on disk."""
    session = conversation.session
    if session is None:
        raise ZotError(f"/session {what}: this conversation has no session (--no-session)")
    session.flush()
    if not session.path.exists():
        raise ZotError(f"/session {what}: no session file yet: this conversation has no prompts")
    return session


async def _export(context: CommandContext, path: str) -> None:
    from zot.core.session.fork import default_destination, export_session

    session = _saved(context.conversation, "export")
    written = await asyncio.to_thread(export_session, session.path, path or default_destination())
    context.status.ok(f"exported to {written}; tool output in it may contain secrets")


async def _import(context: CommandContext, path: str) -> None:
    from zot.core.session.fork import import_session

    conversation = context.conversation
    if not path:
        raise UsageError("/session import: expected the path of a .zotsession file")
    if not conversation.snapshot.session_file:
        raise ZotError("/session import: sessions are disabled (--no-session)")
    await context.end_turn("/session import")
    new = await asyncio.to_thread(import_session, conversation.sessions, path)
    await switch_session(context, new)
    context.status.ok("imported as a new session of this directory")


async def _fork(context: CommandContext, arguments: str) -> None:
    from zot.core.session.turn_history import turns_of
    from zot.frontends.terminal.dialogs.picker import TurnPicker

    session = _saved(context.conversation, "fork")
    turns = await asyncio.to_thread(turns_of, session.path)
    chosen = await context.dialogs.ask(TurnPicker("branch off before", turns))
    if chosen is None:
        return
    await context.end_turn("/session fork")
    await show_session(context, await context.conversation.fork(turns[chosen].row), "fork")
    context.editor.set_text(turns[chosen].prompt.text())
    context.status.ok(f"branched off before prompt #{chosen + 1}; its text is in the editor")


async def _tree(context: CommandContext, arguments: str) -> None:
    from zot.core.session.summary import branches, tree_lines
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.frontends.terminal.dialogs.sessions_list import age
    from zot.tui.sanitize import sanitize
    from zot.tui.widgets import Choice

    present = context.conversation.snapshot
    found = branches(await summaries(context.conversation))
    rows = [  # branches often share a title: length and age distinguish them
        Choice(s.path, sanitize(line).replace("\n", " "), f"{s.messages} msgs · {age(s.modified)}")
        for s, line in zip((branch.summary for branch in found), tree_lines(found, present.session_id), strict=True)
    ]
    picker = Picker("branches of this directory", rows, selected=present.session_file, empty="no sessions yet")
    chosen = await context.dialogs.ask(picker)
    if chosen and chosen != present.session_file:
        await switch_session(context, Path(chosen))


async def _rename(context: CommandContext, title: str) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextPrompt

    session = _saved(context.conversation, "rename")
    title = title or await context.dialogs.ask(TextPrompt("title of this session", text=session.meta.title)) or ""
    if title:
        context.conversation.rename_session(title)
        context.status.ok(f"renamed this session to {title}")
