"""``/session``: carry a conversation elsewhere, bring one in, branch off, see the branches, give it a title."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of, end_turn
from zot.agent.modes.interactive.commands.sessions import summaries, switch_session
from zot.errors import UsageError, ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.runtime import Runtime
    from zot.core.session.session import Session
    from zot.tui.widgets.select_list import Choice

OPERATIONS = {
    "export": "write it to a .zotsession file",
    "import": "bring a .zotsession file in and switch to it",
    "fork": "branch off before an earlier prompt",
    "tree": "see the branches and switch",
    "rename": "give it a title",
}


async def run(app: App, arguments: str) -> None:
    name, _, rest = arguments.partition(" ")
    name = name.lower() or await _choose(app) or ""
    work = {"export": _export, "import": _import, "fork": _fork, "tree": _tree, "rename": _rename}
    if name and name not in work:
        raise UsageError(f"/session {name}: expected one of {', '.join(work)}")
    if name:
        await work[name](app, rest.strip())


def complete(app: App, typed: str) -> list[Choice]:
    """What the editor offers after ``/session``."""
    from zot.tui.widgets.select_list import Choice

    return [Choice(name, name, text) for name, text in OPERATIONS.items()]


async def _choose(app: App) -> str | None:
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.tui.widgets.select_list import Choice

    return await app.dialogs.ask(Picker("session", [Choice(name, name, text) for name, text in OPERATIONS.items()]))


def _saved(runtime: Runtime, what: str) -> Session:
    """The session of now, complete on disk."""
    session = runtime.session
    if session is None:
        raise ZotError(f"/session {what}: there is no session (--no-session)")
    session.flush()
    if not session.path.exists():
        raise ZotError(f"/session {what}: nothing was said yet, so there is no session file")
    return session


async def _export(app: App, path: str) -> None:
    from zot.core.session.copies import default_destination, export_session

    session = _saved(agent_of(app), "export")
    written = await asyncio.to_thread(export_session, session.path, path or default_destination())
    app.status.ok(f"exported to {written}; tool output in it may hold secrets")


async def _import(app: App, path: str) -> None:
    from zot.core.session.copies import import_session

    runtime = agent_of(app)
    if not path:
        raise UsageError("/session import needs the path of a .zotsession file")
    if runtime.session is None:
        raise ZotError("/session import: sessions are off (--no-session)")
    await end_turn(app, "/session import")
    new = await asyncio.to_thread(import_session, runtime.sessions, path)
    await switch_session(app, new)
    app.status.ok("imported as a new session of this directory")


async def _fork(app: App, arguments: str) -> None:
    from zot.agent.modes.interactive.dialogs.turn_picker import TurnPicker
    from zot.core.session.copies import fork_at
    from zot.core.session.history import turns_of

    runtime = agent_of(app)
    session = _saved(runtime, "fork")
    turns = await asyncio.to_thread(turns_of, session.path)
    chosen = await app.dialogs.ask(TurnPicker("branch off before", turns))
    if chosen is None:
        return
    await end_turn(app, "/session fork")
    branch = await asyncio.to_thread(fork_at, runtime.sessions, session.path, turns[chosen].row)
    await switch_session(app, branch)
    app.editor.set_text(turns[chosen].prompt.text())
    app.status.ok(f"branched off before prompt #{chosen + 1}; its text is in the editor")


async def _tree(app: App, arguments: str) -> None:
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.agent.modes.interactive.dialogs.sessions_list import age
    from zot.core.session.summary import branches, tree_lines
    from zot.tui.sanitize import sanitize
    from zot.tui.widgets.select_list import Choice

    runtime = agent_of(app)
    current = runtime.session.id if runtime.session is not None else ""
    found = branches(await summaries(runtime))
    rows = [  # branches often have the same title: how long and how old they are tells them apart
        Choice(s.path, sanitize(line).replace("\n", " "), f"{s.messages} msgs · {age(s.modified)}")
        for s, line in zip((branch.summary for branch in found), tree_lines(found, current), strict=True)
    ]
    here = str(runtime.session.path) if runtime.session is not None else ""
    chosen = await app.dialogs.ask(Picker("branches of this directory", rows, selected=here, empty="no sessions yet"))
    if chosen and chosen != here:
        await switch_session(app, Path(chosen))


async def _rename(app: App, title: str) -> None:
    from zot.agent.modes.interactive.dialogs.text_prompt import TextPrompt

    session = _saved(agent_of(app), "rename")
    title = title or await app.dialogs.ask(TextPrompt("title of this session", text=session.meta.title)) or ""
    if title:
        session.rename(title)
        app.status.ok(f"this session is now called {title}")
