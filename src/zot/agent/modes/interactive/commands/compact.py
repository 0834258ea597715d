"""``/compact``: the whole conversation becomes one message that ends with the last instruction word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of
from zot.errors import CompactionAborted, CompactionFailed, ZotError
from zot.tui.widgets.status_bar import tokens

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


async def run(app: App, arguments: str) -> None:
    agent = agent_of(app).agent
    if not agent.messages:
        raise ZotError("there is nothing to compact yet")
    before = agent.last_context_tokens

    async def work() -> None:
        try:
            await agent.compact(app.transcript.hear)
            used = f"; it took {tokens(before)} tokens before" if before else ""
            app.status.ok(f"compacted: the conversation is one summary now{used}")
        except CompactionAborted:
            app.turns.give_back()
            app.status.ok("cancelled: nothing was compacted")
        except CompactionFailed as error:
            app.status.error(str(error))

    app.turns.run(work, "compacting")
    await app.turns.over()
    app.turns.go_on()
