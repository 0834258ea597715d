"""An approved plan in a new session: its prompt has the plan and the files read so far. The old session is its
parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from zot.agent.session_change import SessionChange
from zot.core.events import OF_ZOT
from zot.errors import SessionChangeDenied
from zot.provider.messages import ToolCallBlock

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.conversation import Conversation
    from zot.provider.messages import Message

_MOST_FILES = 50


async def start_with_plan(conversation: Conversation, plan: str, path: Path | None) -> None:
    """Begin the session and queue the prompt; if an extension denies the change, the prompt follows in this one."""
    text = follow_up_prompt(plan, path, files_read(conversation.messages))
    change = SessionChange("clear")
    try:
        await conversation.allow(change)
    except SessionChangeDenied as error:
        conversation.notify(f"the plan is carried out in this session: {error}", "plan")
    else:
        await _begin(conversation, change)
    conversation.enqueue(text, meta={OF_ZOT: "plan"})


async def _begin(conversation: Conversation, change: SessionChange) -> None:
    parent = conversation.session.id if conversation.session is not None else ""
    conversation.clear(change=change)
    if conversation.session is not None and parent:
        conversation.session.meta = msgspec.structs.replace(conversation.session.meta, parent=parent)
    surface = conversation.services.front_end.surface
    if surface is not None:
        await surface.show_session(None, "started a new session with the plan; the previous one is in /sessions", "")


def follow_up_prompt(plan: str, path: Path | None, files: Sequence[str]) -> str:
    parts = ["Carry out this plan, which I approved.", plan]
    if files:
        parts.append("Files read while planning (read them again before you change them):\n" + "\n".join(files))
    if path is not None:
        parts.append(f"The plan is saved in {path}.")
    return "\n\n".join(parts)


def files_read(messages: Sequence[Message]) -> list[str]:
    """Paths of ``read``, in order, each once."""
    return list(dict.fromkeys(f"- {path}" for path in _paths(messages)))[:_MOST_FILES]


def _paths(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolCallBlock) and block.name == "read":
                path = (block.args or {}).get("path")
                if isinstance(path, str) and path.isprintable() and len(path) < 1_000:
                    yield path
