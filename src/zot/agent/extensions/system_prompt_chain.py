"""``before_agent_start``: extensions may rewrite the system prompt, one after another, before a conversation begins.

Each gets 5 s and sees the previous one's text. Whatever goes wrong keeps the text as it was, with a warning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec

from zot.agent.extensions.child import Child
from zot.agent.extensions.pending import new_id
from zot.errors import ExtensionError
from zot.wire import limits
from zot.wire.frames import EventIntercept, EventInterceptResponse


class Conversation(msgspec.Struct, frozen=True):
    """What a child is told about the conversation that begins."""

    session_id: str
    cwd: str
    provider: str
    model: str


async def rewrite(
    children: Sequence[Child], text: str, conversation: Conversation, warn: Callable[[str, str], None]
) -> str:
    """The prompt as the children leave it; ``warn`` gets extension and text of what went wrong."""
    run_id = os.urandom(8).hex()
    for child in children:
        if not (child.alive and "before_agent_start" in child.intercepts):
            continue
        question = EventIntercept(
            id=new_id(),
            event="before_agent_start",
            session_id=conversation.session_id,
            agent_run_id=run_id,
            cwd=conversation.cwd,
            provider=conversation.provider,
            model=conversation.model,
            system_prompt=text,
        )
        try:
            text = await _ask(child, question, text)
        except ExtensionError as error:
            reason = f"before_agent_start: {error}; the system prompt stays as it was"
            child.log.write(reason)
            warn(child.name, reason)
    return text


async def _ask(child: Child, question: EventIntercept, text: str) -> str:
    child.ask("intercept", question, question.id)
    answer: EventInterceptResponse = await child.answer("intercept", question.id, limits.INTERCEPT_REPLY)
    rewritten = answer.system_prompt
    if rewritten is msgspec.UNSET or rewritten is None:
        return text
    if not isinstance(rewritten, str):
        raise ExtensionError("the answer's system_prompt is not a string")
    if len(msgspec.json.encode(rewritten)) > limits.MAX_SYSTEM_PROMPT:
        raise ExtensionError("the answer's system_prompt is above 1 MiB")
    return rewritten
