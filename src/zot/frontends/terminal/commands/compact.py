"""``/compact [FOCUS]``: replaces the conversation with a summary that ends with the last instruction verbatim."""

from __future__ import annotations

from zot.errors import CompactionAborted, CompactionFailed, ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.tui.widgets import tokens


async def run(context: CommandContext, arguments: str) -> None:
    conversation, turns, status = context.conversation, context.turns, context.status
    if not conversation.messages:
        raise ZotError("nothing to compact yet")
    before = conversation.context_tokens

    async def work() -> None:
        try:
            await conversation.compact(arguments.strip())
            used = f"; {tokens(before)} tokens before" if before else ""
            status.ok(f"compacted: the conversation is now one summary{used}")
        except CompactionAborted:
            turns.return_to_editor()
            status.ok("cancelled: nothing was compacted")
        except CompactionFailed as error:
            status.error(str(error))

    turns.run(work, "compacting")
    await turns.wait_idle()
    turns.run_next()
