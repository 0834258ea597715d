"""A change of session that is about to happen: features are asked first, and may deny it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Literal

from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.session.session import Session
    from zot.provider.messages import Message

Action = Literal["new", "resume", "fork", "rewind", "clear", "exit"]


class SessionChange:
    """``target`` is the session file to continue, ``row`` the row of the present one to go back to; ``files`` is true
    if a rewind restores files. A feature may set ``carry``: the first message of the target."""

    def __init__(self, action: Action, *, target: str = "", row: int | None = None, files: bool = False) -> None:
        self.action: Action = action
        self.target = target
        self.row = row
        self.files = files
        self.carry: tuple[Message, ...] = ()


def clear(conversation: Conversation, action: Literal["new", "clear"] = "clear") -> Coroutine[Any, Any, None] | None:
    """Start an empty session. None if that has happened; otherwise features are asked first: await it."""
    change = SessionChange(action)
    start = conversation.new_session if action == "new" else conversation.clear
    if not conversation.asks_before(change):
        start(change=change)
        return None

    async def when_allowed() -> None:
        await conversation.allow(change)
        start(change=change)

    return when_allowed()


async def use_session_model(conversation: Conversation, session: Session) -> None:
    """Continue an opened session with its own model; one line if that cannot be used."""
    present, wanted = conversation.snapshot, (session.meta.provider, session.meta.model)
    if not all(wanted) or wanted == (present.provider, present.model):
        return
    try:
        await conversation.set_model(session.meta.model, session.meta.provider, source="resume")
    except ZotError as error:
        conversation.notify(
            f"cannot use the session's model {'/'.join(wanted)} ({error}); continuing with {present.model}"
        )
