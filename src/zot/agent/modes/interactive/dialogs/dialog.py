"""The contract of a dialog, and the one stack that decides both what is drawn and who gets the keys.

A dialog is drawn inline above the editor. It ends by ``finish(value)``; esc and ctrl+c end it with None unless it takes
those keys itself. The stack shows the dialog with the highest ``rank`` (of equals, the newest), so that a confirmation
is never hidden: confirmations are drawn and focused above everything, panels below everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.width import cells, cut

PANEL, NORMAL, CONFIRM = 0, 1, 2

T = TypeVar("T")


class Dialog(Generic[T]):
    """Subclass it: ``title``, ``hint``, ``rows`` and ``key`` are all a dialog needs.

    ``key`` returns whether it used the key. ``cursor`` is the place of the terminal's cursor in what ``rows`` returned
    last, as (row, column), or None to hide it."""

    rank = NORMAL
    fullscreen = False  # drawn on the alternate screen; ``lines`` then fill it
    title = ""
    hint = ""
    animated = False  # whether it changes by itself, as a spinner does

    def __init__(self) -> None:
        self.cursor: tuple[int, int] | None = None
        self._result: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows of at most ``width`` cells, without the frame."""
        raise NotImplementedError

    def key(self, key: Key) -> bool:
        return False

    def finish(self, value: T | None) -> None:
        """The answer; the dialog is gone with the next frame. Late calls are ignored."""
        if not self._result.done():
            self._result.set_result(value)

    @property
    def done(self) -> bool:
        return self._result.done()

    async def answer(self) -> T | None:
        return await self._result

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        """The dialog with its frame: titled rule, hint, rows, closing rule."""
        head = [titled_rule(theme, self.title, width)]
        if self.hint and height >= 5:
            head.append(theme.paint("muted", cut(f"  {self.hint}", width)))
        body = self.rows(theme, width, max(height - len(head) - 1, 1))
        self.body_at = len(head)
        return [*head, *body, theme.paint("border", "─" * width)]

    body_at = 1


def titled_rule(theme: Theme, title: str, width: int) -> str:
    label = cut(title, max(width - 6, 1))
    rest = max(width - cells(label) - 4, 0)
    return (
        theme.paint("border", "── ") + theme.paint("accent", label, bold=True) + theme.paint("border", " " + "─" * rest)
    )


class Dialogs:
    """The stack. ``changed`` is called whenever what is on top may have changed."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: list[Dialog[object]] = []

    async def ask(self, dialog: Dialog[T]) -> T | None:
        """Show it until it ends; None when it was closed. Cancelling the caller closes it."""
        self._open.append(dialog)  # pyright: ignore[reportArgumentType]  # a stack of dialogs of any answer
        self._changed()
        try:
            return await dialog.answer()
        finally:
            self._open.remove(dialog)  # pyright: ignore[reportArgumentType]
            self._changed()

    @property
    def top(self) -> Dialog[object] | None:
        waiting = [dialog for dialog in self._open if not dialog.done]
        return max(reversed(waiting), key=lambda dialog: dialog.rank) if waiting else None

    def waiting(self, rank: int) -> int:
        """How many of a rank are open, e.g. confirmations."""
        return sum(dialog.rank == rank and not dialog.done for dialog in self._open)

    def key(self, key: Key) -> bool:
        """Whether a dialog is open: it gets every key."""
        dialog = self.top
        if dialog is None:
            return False
        if not dialog.key(key) and key.name in ("esc", "ctrl+c"):
            dialog.finish(None)
        self._changed()
        return True
