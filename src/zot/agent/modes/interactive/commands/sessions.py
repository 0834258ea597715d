"""``/sessions``: the conversations of this directory, to resume, rename or delete."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of, end_turn
from zot.errors import SessionLocked, ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.modes.interactive.dialogs.sessions_list import Act
    from zot.agent.runtime import Runtime
    from zot.core.session.session import Session
    from zot.core.session.summary import Summary


async def run(app: App, arguments: str) -> None:
    from zot.agent.modes.interactive.dialogs.sessions_list import SessionsList

    runtime = agent_of(app)
    dialog = await SessionsList.load(runtime)
    while (act := await app.dialogs.ask(dialog)) is not None:
        if act.kind == "open":
            await switch_session(app, Path(act.path))
            return
        await _change(app, runtime, act)
        dialog = await SessionsList.load(runtime, like=dialog, toggle=act.kind == "everywhere")


async def _change(app: App, runtime: Runtime, act: Act) -> None:
    """Rename or delete; a failure is said and the list stays."""
    try:
        if act.kind == "rename":
            await rename(runtime, Path(act.path), act.title)
        elif act.kind == "delete" and await _sure(app, act):
            await delete(runtime, Path(act.path))
            app.status.ok("deleted")
    except ZotError as error:
        app.status.error(str(error))


async def _sure(app: App, act: Act) -> bool:
    from zot.agent.modes.interactive.dialogs.picker import YesNo

    question = f"Delete this session for good?\n{act.title}"
    return await app.dialogs.ask(YesNo("delete", question, "yes, delete it", "no, keep it")) == "yes"


async def rename(runtime: Runtime, path: Path, title: str) -> None:
    """SessionLocked when another zot has it open."""
    if runtime.session is not None and runtime.session.path == path:
        runtime.session.rename(title)
        return
    session = await runtime.sessions.load(path)
    try:
        session.rename(title)
    finally:
        session.close()


async def delete(runtime: Runtime, path: Path) -> None:
    """Under its lock, so that nobody loses what they are writing."""
    if runtime.session is not None and runtime.session.path == path:
        raise ZotError("this is the session you are in; /new begins another one, then it can be deleted")
    session = await runtime.sessions.load(path)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ZotError(f"cannot delete {path}: {error.strerror}") from error
    finally:
        session.close()


async def switch_session(app: App, path: Path) -> None:
    """Go on with a stored conversation: shown, with its own model where that can be used."""
    from zot.agent.session_switch import open_session

    runtime = agent_of(app)
    if runtime.session is not None and runtime.session.path == path:
        app.status.ok("you are in this session already")
        return
    await end_turn(app, "/sessions")
    try:
        session = await open_session(runtime, path)
    except SessionLocked:
        await _branch_instead(app, path)
        return
    app.notes.clear()
    app.transcript.clear()
    app.transcript.show(session.messages)
    app.status.ok(f"resumed: {len(session.messages)} messages")
    for repair in session.repairs:
        app.transcript.diagnose(repair)
    await _restore_model(app, runtime, session)


async def _branch_instead(app: App, path: Path) -> None:
    """Two programs must not write to one file; a branch has everything that was said so far."""
    from zot.agent.modes.interactive.dialogs.picker import YesNo
    from zot.core.session.copies import fork_at

    question = "Another zot has this session open.\nGo on in a branch of it? The session itself stays as it is."
    if await app.dialogs.ask(YesNo("session in use", question, "yes, branch off")) == "yes":
        branch = await asyncio.to_thread(fork_at, agent_of(app).sessions, path)
        await switch_session(app, branch)


async def _restore_model(app: App, runtime: Runtime, session: Session) -> None:
    from zot.agent.model_switch import move_to

    wanted = (session.meta.provider, session.meta.model)
    if not all(wanted) or wanted == (runtime.resolved.provider.id, runtime.agent.model.id):
        return
    try:
        for notice in await move_to(runtime, app.attendants.query(*wanted)):
            app.transcript.diagnose(notice)
    except ZotError as error:
        current = runtime.agent.model.id
        app.transcript.diagnose(
            f"the session's model {'/'.join(wanted)} cannot be used ({error}); going on with {current}"
        )


async def summaries(runtime: Runtime, *, everywhere: bool = False) -> list[Summary]:
    """In a thread: the first time it reads every file."""
    if runtime.session is not None:
        runtime.session.flush()
    return await asyncio.to_thread(lambda: runtime.sessions.summaries(everywhere=everywhere))
