"""A login by OAuth, as a dialog: where to go, the code to compare or type, and a field for what comes back when the
browser is on another machine. Closing it ends the login; whatever comes later is ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.frontends.terminal.dialogs.dialog import Dialog, Dialogs
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import TextField
from zot.tui.width import wrap

if TYPE_CHECKING:
    from zot.provider.auth.auth_store import OAuthToken
    from zot.provider.auth.oauth.login_progress import LoginStep
    from zot.provider.auth.oauth.settings import OAuthSettings
    from zot.provider.http.pool import HttpPool


async def subscribe(
    dialogs: Dialogs,
    name: str,
    settings: OAuthSettings,
    pool: HttpPool,
    open_page: Callable[[str], None],
    redraw: Callable[[], None],
    *,
    device: bool,
) -> OAuthToken | None:
    """The token, or None when the dialog was closed; ZotError when the server refused."""
    dialog = SubscriptionDialog(f"log in to {name}", open_page, redraw)
    async with asyncio.TaskGroup() as group:
        work = group.create_task(_log_in(dialog, settings, pool, device=device))
        await dialogs.ask(dialog)
        work.cancel()
    if dialog.failed is not None:
        raise ZotError(f"nothing was stored: {dialog.failed}")
    return dialog.token


async def _log_in(dialog: SubscriptionDialog, settings: OAuthSettings, pool: HttpPool, *, device: bool) -> None:
    from zot.provider.auth.oauth.browser_login import login_in_browser
    from zot.provider.auth.oauth.device_login import login_by_device

    try:
        if device:
            dialog.token = await login_by_device(settings, tell=dialog.tell, pool=pool)
        else:
            dialog.token = await login_in_browser(settings, tell=dialog.tell, pasted=dialog.pasted, pool=pool)
    except ZotError as error:
        dialog.failed = error
    dialog.finish(True)


class SubscriptionDialog(Dialog[bool]):
    """``tell`` is given to the login, and so is ``pasted``; ``token`` or ``failed`` is how it ended."""

    def __init__(self, title: str, open_page: Callable[[str], None], redraw: Callable[[], None]) -> None:
        super().__init__()
        self.title = title
        self.hint = "esc ends the login"
        self.token: OAuthToken | None = None
        self.failed: ZotError | None = None
        self._open_page = open_page
        self._redraw = redraw
        self._opened: LoginStep | None = None
        self._said = "one moment …"
        self._field = TextField("")
        self._pasted: asyncio.Queue[str] = asyncio.Queue()

    def tell(self, step: LoginStep) -> None:
        if step.kind == "open":
            self._opened = step
            self._open_page(step.url)
        self._said = step.text
        self._redraw()

    async def pasted(self) -> str:
        return await self._pasted.get()

    @property
    def _may_paste(self) -> bool:
        return self._opened is not None and self._opened.may_paste

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("fg", row) for line in self._lines() for row in wrap(f"  {line}", width, "  ")]
        self.cursor = None
        if not self._may_paste:
            return rows[:height]
        rows = rows[: max(height - 1, 0)]
        line, column = self._field.line(theme, max(width - 4, 1))
        self.cursor = (len(rows), column + 4)
        return [*rows, f"  {theme.paint('prompt', '›')} {line}"]

    def _lines(self) -> list[str]:
        step = self._opened
        if step is None:
            return [one_line(self._said)]
        lines = [one_line(self._said), one_line(step.url)]
        if step.user_code:
            lines.append(f"The code is {one_line(step.user_code)}")
        if step.manual_url:
            lines.append(f"In a browser on another machine: {one_line(step.manual_url)}")
        if step.may_paste:
            lines.append("Without a browser here: paste the address of the last page, or the code it shows.")
        return lines

    def key(self, key: Key) -> bool:
        if not self._may_paste:
            return False
        if key.name == "enter":
            if typed := self._field.text.strip():
                self._pasted.put_nowait(typed)
                self._field = TextField("")
            return True
        return self._field.key(key)
