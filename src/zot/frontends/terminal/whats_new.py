"""What is new after an upgrade and whether there is something newer; only with a release feed the user configured.

Nothing waits for it, a failure is silence, and it never takes keys somebody is already typing.
"""

from __future__ import annotations

import asyncio

from zot import __version__
from zot.frontends.terminal.commands.command_context import Context
from zot.frontends.terminal.dialogs.dialog import titled_rule
from zot.frontends.terminal.dialogs.text_dialogs import TextView
from zot.frontends.terminal.screen.ui_services import Desk
from zot.frontends.update_check import Update, UpdateCheck, dismissed, whats_new
from zot.tui import markdown
from zot.tui.keys import Key
from zot.tui.sanitize import one_line, sanitize
from zot.tui.width import visible

_ROWS = 18
_SCROLL = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})


async def tell(context: Context) -> None:
    conversation, desk = context.conversation, context.desk
    check = UpdateCheck(conversation.home, __version__, conversation.settings.values.update_url)
    text, update = await asyncio.gather(
        whats_new(conversation.settings, __version__, conversation.pool), check.find(conversation.pool)
    )
    if update is not None:
        desk.settled.add(_banner(desk, update))
        desk.redraw()
    if text:
        await _changelog(context, text)


def _banner(desk: Desk, update: Update) -> list[str]:
    """Printed once, above everything that is said."""
    from zot.system.installation import installation  # only for those whose feed knows something newer

    theme, width = desk.theme, desk.columns
    lines = [
        f"  {one_line(update.latest)} is out; you have {__version__}",
        f"  {installation().advice}",
        *([f"  {one_line(update.url)}"] if update.url else []),
    ]
    rule = theme.paint("warning", "─" * max(width - 1, 1))
    return [titled_rule(theme, "a new zot", width - 1), *(theme.paint("warning", line) for line in lines), rule]


async def _changelog(context: Context, text: str) -> None:
    """Once for each version: to read where nothing else is going on, else as one line."""
    busy = context.turns.busy or context.dialogs.top is not None
    if context.editor.empty and not busy and not context.transcript.anything:
        await context.dialogs.ask(ChangelogView(context.desk, text))
    else:
        feed = one_line(context.conversation.settings.values.update_url)
        context.transcript.remark(f"zot {__version__} is new here; what changed is in {feed}")
    dismissed(context.conversation.settings, __version__)


class ChangelogView(TextView):
    """What changed in this version; any key that does not scroll closes it."""

    def __init__(self, desk: Desk, text: str) -> None:
        plain = visible(sanitize(text))
        super().__init__(
            f"new in zot {__version__}", lambda theme, width: markdown.render(plain, desk.painter, width), most=_ROWS
        )

    def key(self, key: Key) -> bool:
        if key.name in _SCROLL:
            return super().key(key)
        self.finish(True)
        return True
