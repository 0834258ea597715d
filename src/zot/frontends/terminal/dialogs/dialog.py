"""Base class of dialogs, and the stack that decides which one is drawn and gets the keys: the highest ``rank``, of
equals the newest. A dialog that opens without a key of the user waits while the user types."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.width import cells, cut

PANEL, NORMAL, CONFIRM = 0, 1, 2

TYPING_S = 1.0  # after the last key of somebody who types
ALONE_S = 0.4  # after a letter: nothing followed, so it was an answer and not the beginning of a word
READING = frozenset({"pageup", "pagedown", "home", "end"})  # turn pages and answer nothing
WAITS = "waits while you type · tab answers it"

T = TypeVar("T")


class Dialog(Generic[T]):
    """Subclass it: ``title``, ``hint``, ``rows`` and ``key`` are all a dialog needs.

    ``key`` returns whether it used the key. ``cursor`` is the place of the terminal's cursor in what ``rows`` returned
    last, as (row, column), or None to hide it."""

    rank = NORMAL
    unasked = False  # it opens by itself, and keys may be meant for something else
    takes_text = True  # letters are for it once it has the focus; else only those that are ``answers``, alone
    answers: frozenset[str] = frozenset()
    fullscreen = False  # drawn on the alternate screen; ``lines`` then fill it
    title = ""
    hint = ""
    animated = False  # whether it changes by itself, as a spinner does

    def __init__(self) -> None:
        self.cursor: tuple[int, int] | None = None
        self.waits = False  # while somebody types something else
        self.chosen = False  # by tab or an arrow: whatever is typed now is for it
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
        if (self.hint or self.waits) and height >= 5:
            hint = theme.paint("warning", WAITS) if self.waits else theme.paint("muted", cut(self.hint, width - 2))
            head.append(cut(f"  {hint}", width))
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
    """The stack. ``changed`` is called whenever what is on top may have changed; ``drafting`` tells whether something
    stands in the editor, ``type_on`` gives it a key, and ``ring`` is for a question that has to wait."""

    def __init__(
        self,
        changed: Callable[[], None],
        *,
        drafting: Callable[[], bool] = lambda: False,
        type_on: Callable[[Key], None] = lambda key: None,
        ring: Callable[[], None] = lambda: None,
    ) -> None:
        self._changed = changed
        self._drafting = drafting
        self._type_on = type_on
        self._ring = ring
        self._open: list[Dialog[object]] = []
        self._typed_at = 0.0
        self._held: tuple[Dialog[object], Key, asyncio.TimerHandle] | None = None

    async def ask(self, dialog: Dialog[T]) -> T | None:
        """Show it until it ends; None when it was closed. Cancelling the caller closes it."""
        self._open.append(dialog)  # pyright: ignore[reportArgumentType]  # a stack of dialogs of any answer
        if self._waits(dialog):  # pyright: ignore[reportArgumentType]
            self._ring()
        self._changed()
        try:
            return await dialog.answer()
        finally:
            self._open.remove(dialog)  # pyright: ignore[reportArgumentType]
            self._changed()

    @property
    def top(self) -> Dialog[object] | None:
        waiting = [dialog for dialog in self._open if not dialog.done]
        if not waiting:
            return None
        top = max(reversed(waiting), key=lambda dialog: dialog.rank)
        top.waits = self._waits(top)
        return top

    def waiting(self, rank: int) -> int:
        """How many of a rank are open, e.g. confirmations."""
        return sum(dialog.rank == rank and not dialog.done for dialog in self._open)

    def typed(self, key: Key) -> None:
        """The editor had this key. Sending what was typed is the end of typing it."""
        self._typed_at = 0.0 if key.name == "enter" and not self._drafting() else time.monotonic()

    def _waits(self, dialog: Dialog[object]) -> bool:
        """Whether somebody is typing something else."""
        if not dialog.unasked or dialog.chosen:
            return False
        return self._drafting() or time.monotonic() - self._typed_at < TYPING_S

    def key(self, key: Key) -> bool:
        """Whether a dialog took the key: one that is open takes every key, unless it waits."""
        dialog = self.top
        held, self._held = self._held, None
        if held is not None:
            held[2].cancel()
            if not self._one_after_another(held[0], held[1], key):
                return False
            dialog = self.top
        if dialog is None:
            return False
        if dialog.waits:
            if key.name == "tab":
                dialog.chosen = True
            elif key.name in READING and not (
                self._drafting() and key.name in ("home", "end")
            ):  # those are the draft's
                dialog.key(key)
            else:
                return False
            self._changed()
            return True
        if dialog.unasked and not dialog.chosen and not dialog.takes_text and key.printable:
            # A letter may be an answer, or the first of many: the next moment tells. Others begin something else.
            if key.name not in dialog.answers:
                return False
            timer = asyncio.get_running_loop().call_later(ALONE_S, self._was_alone)
            self._held = (dialog, key, timer)
            return True
        if dialog.unasked and key.name in ("up", "down", "tab"):
            dialog.chosen = True
        self._give(dialog, key)
        return True

    def _give(self, dialog: Dialog[object], key: Key) -> None:
        if not dialog.key(key) and key.name in ("esc", "ctrl+c"):
            dialog.finish(None)
        self._changed()

    def _was_alone(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._give(held[0], held[1])

    def _one_after_another(self, dialog: Dialog[object], first: Key, second: Key) -> bool:
        """Two keys in a row: enter confirms the letter before it, more text makes both of them words for the editor.
        Whether the second is still to be handed out here."""
        if second.name == "enter":
            self._give(dialog, first)
            return dialog.done is False
        if second.printable:
            self._type_on(first)
            self._typed_at = time.monotonic()
            return False
        return True
