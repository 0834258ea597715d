"""``/logout``: forget a stored credential. Only ``auth.json`` changes; the conversation stays where it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.context import Context
from zot.agent.modes.interactive.commands.login import METHODS
from zot.errors import UsageError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.tui.widgets.select_list import Choice


async def run(context: Context, arguments: str) -> None:
    stored = context.conversation.auth.stored()
    target = arguments.lower()
    known = [*stored, "anthropic", "openai", "kimi", "all"]
    if target and target not in known:
        raise UsageError(f"/logout {arguments}: expected one of {', '.join(dict.fromkeys(known))}")
    if not stored:
        context.status.ok("nothing is stored, so there is nothing to log out of")
        return
    target = target or await _choose(context) or ""
    if target:
        await context.end_turn("/logout")
        await _forget(context, list(stored) if target == "all" else [target])


def complete(context: Context, typed: str) -> list[Choice]:
    """What the editor offers after ``/logout``."""
    from zot.tui.widgets.select_list import Choice

    stored = context.conversation.auth.stored()
    return [Choice(name, name, METHODS.get(method, method)) for name, method in stored.items()]


async def _choose(context: Context) -> str | None:
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.tui.widgets.select_list import Choice

    rows = complete(context, "")
    if len(rows) > 1:
        rows.append(Choice("all", "all", "all of them"))
    return await context.dialogs.ask(Picker("log out of", rows))


async def _forget(context: Context, providers: list[str]) -> None:
    conversation = context.conversation
    for provider in providers:
        conversation.auth.clear(provider)
    text = f"logged out of {', '.join(providers)}"
    if conversation.present.provider in providers:
        await _drop_agent(context)
    context.status.ok(text + _still_set(conversation, providers))


async def _drop_agent(context: Context) -> None:
    """Without a credential nothing can be sent until the next login; with one from elsewhere all goes on."""
    conversation, present = context.conversation, context.conversation.present
    await conversation.use_model(present.model, present.provider, logged_out=True)


def _still_set(conversation: Conversation, providers: list[str]) -> str:
    table = conversation.catalog.providers()
    names = [name for p in providers if p in table for name in table[p].env if os.environ.get(name)]
    return f"; {', '.join(names)} in the environment still provides a key" if names else ""
