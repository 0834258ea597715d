"""Another conversation for an agent that already exists: a stored one, or an empty one.

The previous session is complete on disk when the next one begins. The model continues with the last messages; the file
keeps all of them. The agent must be idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zot.agent.runtime import Runtime
from zot.core.session.resume import window
from zot.core.session.session import Session
from zot.provider.messages import Message, Usage


async def open_session(runtime: Runtime, path: Path) -> Session:
    """Switch to a session file; SessionLocked, SessionCorrupt or SessionError leave everything as it is."""
    session = await runtime.sessions.load(path)
    try:
        runtime.agent.set_messages(hydrated(session.messages))
    except BaseException:
        session.close()
        raise
    runtime.agent.seed_cost(session.cumulative)
    _exchange(runtime, session)
    return session


def new_session(runtime: Runtime) -> None:
    """An empty conversation with the current model, tools and extensions; cost and context begin at zero."""
    runtime.start_over()
    runtime.agent.seed_cost(Usage())
    if runtime.extensions is not None:
        runtime.extensions.session_ended("session_switch")
        runtime.extensions.session_started()


def hydrated(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What the model continues with: the last messages, and the summary of what was before them if there is one."""
    tail = window(messages)
    first = messages[0] if messages else None
    if first is not None and first.meta.get("compaction") and tail and tail[0] is not first:
        return (first, *tail)
    return tail


def _exchange(runtime: Runtime, session: Session) -> None:
    before, runtime.session = runtime.session, session
    session.on_failure = before.on_failure if before is not None else runtime.notices.append
    runtime.record(session)
    runtime.workspace.exported |= {"ZOT_SESSION_ID": session.id, "ZOT_SESSION_FILE": str(session.path)}
    if runtime.extensions is not None:
        runtime.extensions.session_ended("session_switch")
    if before is not None:
        before.close()
    if runtime.extensions is not None:
        runtime.extensions.session_started()
