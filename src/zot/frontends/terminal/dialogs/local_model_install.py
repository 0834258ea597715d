"""Fetching the model of this machine, as a dialog: what is being done, and how far it is. Closing it stops the
download, and what was fetched stays for the next time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.frontends.terminal.dialogs.dialog import Dialog, Dialogs
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.width import wrap

if TYPE_CHECKING:
    from zot.local_model.install import Offer

_SHOWN = 6  # lines of what was done before
_BAR = 40


async def install(dialogs: Dialogs, offer: Offer, redraw: Callable[[], None], proxy: str) -> bool:
    """Whether it can run now; False when the dialog was closed, ZotError when it could not be fetched."""
    from zot.local_model import install

    dialog = InstallDialog(offer, redraw)

    async def work() -> None:
        try:
            await install.install(offer, tell=dialog.tell, complain=dialog.complain, show=dialog.show, proxy=proxy)
            dialog.finish(True)
        except ZotError as error:
            dialog.failed = error
            dialog.finish(False)

    async with asyncio.TaskGroup() as group:
        working = group.create_task(work())
        done = await dialogs.ask(dialog)
        working.cancel()
    if dialog.failed is not None:
        raise ZotError("; ".join([*dialog.complaints, str(dialog.failed)]))
    return bool(done)


class InstallDialog(Dialog[bool]):
    """``tell`` and ``complain`` take lines, ``show`` how far the download is."""

    animated = True

    def __init__(self, offer: Offer, redraw: Callable[[], None]) -> None:
        super().__init__()
        self.title = f"installing {offer.title}"
        self.hint = "esc stops; what was fetched is kept"
        self.failed: ZotError | None = None
        self.complaints: list[str] = []
        self._draw, self._loop = redraw, asyncio.get_running_loop()
        self._lines: list[str] = []
        self._progress = ""

    def tell(self, text: str) -> None:
        self._lines.append(one_line(text))
        self._redraw()

    def complain(self, text: str) -> None:
        self.complaints.append(one_line(text))
        self.tell(text)

    def show(self, text: str) -> None:
        self._progress = text
        self._redraw()

    def _redraw(self) -> None:
        """Parts are unpacked in a thread, and tell of it there."""
        self._loop.call_soon_threadsafe(self._draw)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("muted", row) for line in self._lines[-_SHOWN:] for row in wrap(f"  {line}", width, "  ")]
        progress = self._bar(theme, width) if self._progress else [theme.paint("fg", "  one moment …")]
        return [*rows[-max(height - len(progress), 0) :], *progress][-height:]

    def _bar(self, theme: Theme, width: int) -> list[str]:
        share = int(self._progress.partition("%")[0]) / 100
        room = max(min(width - len(self._progress) - 6, _BAR), 0)
        full = int(room * share)
        bar = theme.paint("accent", "█" * full) + theme.paint("border", "░" * (room - full))
        return [
            f"  {bar} {theme.paint('fg', self._progress)}" if room >= 5 else theme.paint("fg", f"  {self._progress}")
        ]
