"""``/sessions``: resume, rename or delete the conversations of this directory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.session_change import use_session_model
from zot.core.events import is_prompt
from zot.core.session.summary import words_of
from zot.errors import SessionLocked, ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.system.visible_text import escape_invisible, pluralize
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.session.session import Session
    from zot.core.session.store import SessionStore
    from zot.core.session.summary import Summary
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.dialogs.sessions_list import SessionAction, SessionsList

_HEADINGS = {"resume": "resumed", "fork": "branched off", "rewind": "rewound"}
_LONGEST_TITLE, _MOST_READ = 60, 1_000  # columns, characters


async def run(context: CommandContext, arguments: str) -> None:
    dialog = await _list(context, filter=arguments)
    while (act := await _ask(context, dialog)) is not None:
        if act.kind == "open":
            await switch_session(context, Path(act.path))
            return
        try:
            if act.kind == "rename":
                await _rename(context.conversation, Path(act.path), act.title)
            elif act.kind == "delete" and await _sure(context, act):
                conversation = context.conversation
                path = Path(act.path)
                if conversation.snapshot.session_file == str(path):
                    raise ZotError("cannot delete the current session; start another one with /new first")
                session = await conversation.sessions.load(path)
                try:
                    session.delete()
                except OSError as error:
                    session.close()
                    raise ZotError(f"cannot delete {path}: {error.strerror}") from error
                context.status.ok("deleted")
        except ZotError as error:
            context.status.error(str(error))
        everywhere = dialog.everywhere != (act.kind == "everywhere")
        dialog = await _list(context, everywhere=everywhere, like=dialog)


async def _ask(context: CommandContext, dialog: SessionsList) -> SessionAction | None:
    reading = context.ui.spawn(dialog.reader.run())
    try:
        return await context.dialogs.ask(dialog)
    finally:
        reading.cancel()


async def _list(
    context: CommandContext, *, everywhere: bool = False, like: SessionsList | None = None, filter: str = ""
) -> SessionsList:
    """As the files are now, with the filter and selection of the previous list."""
    from zot.frontends.terminal.dialogs.sessions_list import SessionsList

    chosen = like.list.chosen if like is not None else None
    return SessionsList(
        await summaries(context.conversation, everywhere=everywhere),
        context.conversation.snapshot.session_file,
        everywhere=everywhere,
        selected=chosen.value if chosen else "",
        filter=like.list.filter if like is not None else filter,
        changed=context.ui.redraw,
    )


async def _sure(context: CommandContext, act: SessionAction) -> bool:
    from zot.frontends.terminal.dialogs.picker import YesNo

    question = f"Delete this session for good?\n{escape_invisible(act.title)}"
    return await context.dialogs.ask(YesNo("delete", question, "yes, delete it", "no, keep it")) == "yes"


async def _rename(conversation: Conversation, path: Path, title: str) -> None:
    """SessionLocked if another zot has it open."""
    if conversation.session is not None and conversation.session.path == path:
        conversation.rename_session(title)
        return
    session = await conversation.sessions.load(path)
    try:
        session.rename(title)
    finally:
        session.close()


async def switch_session(context: CommandContext, path: Path) -> None:
    """Resume a stored conversation, with its own model if possible."""
    if context.conversation.snapshot.session_file == str(path):
        context.status.ok("you are already in this session")
        return
    await context.end_turn("/sessions")
    try:
        session = await context.conversation.open_session(path)
    except SessionLocked:
        branch = await ask_to_branch(context.dialogs, context.conversation.sessions, path)
        if branch is not None:
            await switch_session(context, branch)
    else:
        await show_session(context, session, "resume")


async def ask_to_branch(dialogs: Dialogs, store: SessionStore, path: Path, *, no: str = "no") -> Path | None:
    """Two processes must not write to one file: a branch contains the whole conversation."""
    from zot.core.session.fork import fork_at
    from zot.frontends.terminal.dialogs.picker import YesNo

    question = "Another zot has this session open.\nContinue in a branch? The session itself does not change."
    if await dialogs.ask(YesNo("session in use", question, "yes, branch off", no)) != "yes":
        return None
    return await asyncio.to_thread(fork_at, store, path)


def heading(reason: str, session: Session | None) -> str:
    """``resumed: TITLE``: the row above the messages of a session; ``reason`` is that of ``SessionStarted``."""
    if session is None or reason not in _HEADINGS:
        return "a new conversation"
    title = session.meta.title or next((each.text() for each in session.messages if is_prompt(each)), "")
    words = escape_invisible(" ".join(words_of(title)[:_MOST_READ].split()))
    return ": ".join(filter(None, (_HEADINGS[reason], cut(words, _LONGEST_TITLE))))


async def show_session(context: CommandContext, session: Session, reason: str) -> None:
    """Shows the opened session and its repairs, and switches to its model."""
    transcript = context.transcript
    context.asides.clear()
    transcript.clear(heading(reason, session))
    transcript.show(session.messages)
    context.status.ok(f"resumed: {pluralize(len(session.messages), 'message')}")
    for repair in session.repairs:
        transcript.add_diagnostic(repair)
    await use_session_model(context.conversation, session)


async def summaries(conversation: Conversation, *, everywhere: bool = False) -> list[Summary]:
    """In a thread: the first time it reads every file."""
    if conversation.session is not None:
        conversation.session.flush()
    return await asyncio.to_thread(lambda: conversation.sessions.summaries(everywhere=everywhere))
