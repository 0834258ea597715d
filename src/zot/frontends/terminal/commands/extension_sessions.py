"""What the screen shows when an extension opens another session, and before one ends zot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.frontends.terminal.commands.clear import begin
from zot.frontends.terminal.commands.sessions import show_session
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.frontends.terminal.extension_ui import as_plain_text
from zot.system.visible_text import escape_invisible
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.core.session.session import Session
    from zot.frontends.terminal.commands.command_context import CommandContext
    from zot.tui.keys import Key
    from zot.tui.theme import Theme

_TIME_TO_STOP = 3.0


class LeaveNotice(Dialog[bool]):
    """Ends with True if the user stops it."""

    title = "leaving zot"

    def __init__(self, extension: str) -> None:
        super().__init__()
        self._extension = escape_invisible(extension)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        text = f"  extension {self._extension} ends zot in {_TIME_TO_STOP:g} s; esc stops it"
        return [theme.paint("warning", cut(text, width))]

    def key(self, key: Key) -> bool:
        if key.name in ("esc", "ctrl+c"):
            self.finish(True)
            return True
        return False


class ExtensionSessions:
    """Carries out changes of session for extensions."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    async def stop_work(self) -> bool:
        return await self._context.turns.stop()

    async def show(self, session: Session | None, note: str, draft: str) -> None:
        """An empty screen, or the messages of ``session``; ``draft`` goes into an empty editor."""
        context = self._context
        if session is None:
            begin(context, note)
        else:
            await show_session(context, session, "resume")
            context.status.ok(note)
        if draft and context.editor.empty:
            context.editor.set_text(as_plain_text(draft))
        context.ui.redraw()

    async def leave(self, extension: str) -> bool:
        """True unless the user stopped it."""
        notice = LeaveNotice(extension)
        closing = asyncio.get_running_loop().call_later(_TIME_TO_STOP, notice.finish, False)
        try:
            if await self._context.dialogs.ask(notice) is not False:
                return False
        finally:
            closing.cancel()
        self._context.leave()
        return True
