"""``/reload-ext``: stops all extensions, reads their manifests and starts them again.
The user confirms changed project extensions before anything is stopped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.features.extensions.feature import ensure_extensions, reload_extensions
from zot.features.lookup import extension_host
from zot.features.trust_questions import ask_about_trust
from zot.frontends.terminal.commands.command_context import CommandContext

if TYPE_CHECKING:
    from zot.features.extensions.host import ReloadStats

STATUS_S = 5.0


async def run(context: CommandContext, arguments: str) -> None:
    if extension_host(context.conversation) is not None:
        if context.typed:
            await ask_about_trust(context.conversation)
        await context.end_turn("/reload-ext")
        await reload(context)
        return
    await context.end_turn("/reload-ext")
    if await ensure_extensions(context.conversation) is None:  # none existed at the start; some may exist now
        context.status.ok("no extensions are installed")
        return
    await ask_about_trust(context.conversation)
    await reload(context)


async def reload(context: CommandContext) -> None:
    """Reload without a question and report the result."""
    conversation, status = context.conversation, context.status
    status.ok("reloading extensions …")
    stats = await reload_extensions(conversation)
    if stats is None:
        return
    context.looks.settings_read(conversation)  # extensions may provide themes
    text = counts(stats)
    if stats.errors:
        status.error(text)
    else:
        status.ok(text)
    await asyncio.sleep(STATUS_S)
    if status.text == text:
        status.clear()
        context.ui.redraw()


def counts(stats: ReloadStats) -> str:
    errors = f", {len(stats.errors)} with errors" if stats.errors else ""
    return f"extensions: {stats.stopped} stopped, {stats.loaded} loaded, {stats.ready} ready{errors}"
