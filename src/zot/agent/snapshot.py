"""A snapshot of a conversation for extensions, commands and pages; importable without ``conversation``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from zot.provider.model import Reasoning

if TYPE_CHECKING:
    from pathlib import Path

    from zot.core.agent import Agent
    from zot.core.session.session import Session


class ConversationSnapshot(msgspec.Struct, frozen=True):
    """``session_file`` is empty without a session."""

    provider: str
    model: str
    reasoning: Reasoning
    session_id: str
    session_file: str
    directory: str
    permission_mode: str = "everything"


def take_snapshot(agent: Agent, provider: str, session: Session | None, directory: Path) -> ConversationSnapshot:
    return ConversationSnapshot(
        provider=provider,
        model=agent.model.id,
        reasoning=agent.reasoning,
        session_id=agent.session_id,
        session_file=str(session.path) if session is not None else "",
        directory=str(directory),
        permission_mode=agent.gate.mode if agent.gate is not None else "everything",
    )
