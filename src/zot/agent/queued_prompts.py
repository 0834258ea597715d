"""Prompts that extensions or zot queued, for front ends without their own queue: they run after the current one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.core.events import OF_EXTENSION, OF_ZOT

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.agent import Outcome


async def run_queued(conversation: Conversation, outcome: Outcome) -> Outcome:
    """Run the prompts of extensions and of zot at the head of the queue after a prompt with this outcome; returns the
    last one. A failed, denied or aborted prompt ends this: the rest stays in the queue."""
    while has_queued(conversation) and outcome.error is None and not outcome.refused and outcome.stop != "aborted":
        if (outcome := await next_queued(conversation) or outcome).error is not None:
            break
    return outcome


def has_queued(conversation: Conversation) -> bool:
    """True if the oldest queued prompt is an extension's or zot's."""
    queued = conversation.queued
    return bool(queued) and not queued[0].meta.keys().isdisjoint((OF_EXTENSION, OF_ZOT))


async def next_queued(conversation: Conversation) -> Outcome | None:
    """Run the oldest queued prompt; None without one."""
    prompt = conversation.pop_queued()
    if prompt is None:
        return None
    return await conversation.prompt(prompt.text, prompt.images, queued=True, meta=prompt.meta)
