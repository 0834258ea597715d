"""Base class of dialogs, and the stack that decides which one is drawn and gets keys.
The highest ``rank`` wins, then the newest. A dialog that opens without a key of the user waits while the user types."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.width import cells, cut

PANEL, ASKED, NORMAL, CONFIRM = 0, 1, 2, 3  # panels and questions of extensions lie below everything of zot

TYPING_S = 1.0  # seconds after the last key of typing
DEAF_S = 0.25  # an extension's dialog takes no key at first, and zot's own questions none after it
AWAY_S = 10.0  # seconds without a key after which a question rings
ALONE_S = 0.4  # seconds after a letter that may be text: without another key it was an answer
TYPED_S = 2.0  # seconds after the last key in the editor, and
UNREAD_S = 0.5  # seconds after a question appeared, in which a letter may be text
READING = frozenset({"pageup", "pagedown", "home", "end"})  # scroll, never answer
WAITS = "waits while you type · tab answers it"

T = TypeVar("T")


class Dialog(Generic[T]):
    """Subclass it: ``title``, ``hint``, ``rows`` and ``key`` are all a dialog needs.
    ``key`` returns whether it used the key. ``cursor`` is the terminal cursor in the rows returned last, as (row,
    column), or None."""

    rank = NORMAL
    unasked = False  # opens by itself; keys may be meant for the editor
    foreign = False  # an extension's question
    takes_text = True  # takes letters only with focus, else single ``answers``
    answers: frozenset[str] = frozenset()
    listens_after = 0.0  # seconds on the screen before a key may be an answer
    fullscreen = False  # drawn on the alternate screen; ``lines`` then fill it
    overlaid = False  # a panel over the rest of the screen, drawn by the layout
    title = ""
    hint = ""
    animated = False  # animated, such as a spinner

    def __init__(self) -> None:
        self.cursor: tuple[int, int] | None = None
        self.waits = False  # while the user types in the editor
        self.chosen = False  # focused by tab or an arrow: takes all keys
        self._shown_at = 0.0
        self._result: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows of at most ``width`` cells, without the frame."""
        raise NotImplementedError

    def key(self, key: Key) -> bool:
        return False

    def finish(self, value: T | None) -> None:
        """Set the answer; the dialog closes with the next frame. Later calls are ignored."""
        if not self._result.done():
            self._result.set_result(value)

    @property
    def done(self) -> bool:
        return self._result.done()

    @property
    def is_new(self) -> bool:
        """True shortly after it appeared, so that typing is no answer."""
        return self.shown_for < self.listens_after

    @property
    def shown_for(self) -> float:
        """Seconds on the screen."""
        return time.monotonic() - self._shown_at if self._shown_at else 0.0

    async def answer(self) -> T | None:
        return await self._result

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        """The dialog with its frame: titled rule, hint, rows, closing rule."""
        self._shown_at = self._shown_at or time.monotonic()
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
    """The stack. ``changed`` is called when the top may have changed.
    ``drafting`` returns whether the editor has text, ``type_on`` passes it a key, ``ring`` is for a waiting
    question."""

    def __init__(
        self,
        changed: Callable[[], None],
        *,
        drafting: Callable[[], bool] = lambda: False,
        type_on: Callable[[Key], None] = lambda key: None,
        ring: Callable[[], None] = lambda: None,
        focused: Callable[[], bool] = lambda: True,
    ) -> None:
        self._changed = changed
        self._drafting = drafting
        self._type_on = type_on
        self._ring = ring
        self._focused = focused
        self._key_at = time.monotonic()
        self._open: list[Dialog[object]] = []
        self._typed_at = 0.0
        self._edited_at = 0.0  # the same, but submitting counts
        self._top: Dialog[object] | None = None
        self._foreign_at = 0.0  # when an extension's dialog opened or closed last
        self._held: tuple[Dialog[object], Key, asyncio.TimerHandle] | None = None

    async def ask(self, dialog: Dialog[T]) -> T | None:
        """Show it until it ends; None if it was closed. Cancelling the caller closes it."""
        self._open.append(dialog)  # pyright: ignore[reportArgumentType]  # a stack of dialogs of any answer
        reminder = self._call_user(dialog)  # pyright: ignore[reportArgumentType]
        self._changed()
        try:
            return await dialog.answer()
        finally:
            if reminder is not None:
                reminder.cancel()
            self._open.remove(dialog)  # pyright: ignore[reportArgumentType]
            if dialog.foreign:
                self._foreign_at, self._top = time.monotonic(), None
            self._changed()

    def _call_user(self, dialog: Dialog[object]) -> asyncio.TimerHandle | None:
        """Ring for a question that opens by itself: now, or once the user has pressed no key for ten seconds."""
        if not dialog.unasked:
            return None
        away_in = self._key_at + AWAY_S - time.monotonic()
        if self._waits(dialog) or not self._focused() or away_in <= 0:
            self._ring()
            return None
        return asyncio.get_running_loop().call_later(away_in, self._ring_if_away)

    def _ring_if_away(self) -> None:
        if time.monotonic() - self._key_at >= AWAY_S or not self._focused():
            self._ring()

    @property
    def top(self) -> Dialog[object] | None:
        waiting = [dialog for dialog in self._open if not dialog.done]
        if not waiting:
            return None
        top = max(reversed(waiting), key=lambda dialog: dialog.rank)
        top.waits = self._waits(top)
        if top is not self._top:
            if top.foreign or (self._top is not None and self._top.foreign):
                self._foreign_at = time.monotonic()
            self._top = top
        return top

    def _is_deaf(self, dialog: Dialog[object]) -> bool:
        """True shortly after an extension's dialog opened, or gave way to a question of zot's own."""
        question = dialog.foreign or dialog.unasked or dialog.rank == CONFIRM
        return question and time.monotonic() - self._foreign_at < DEAF_S

    def waiting(self, rank: int) -> int:
        """Number of open dialogs of a rank, such as confirmations."""
        return sum(dialog.rank == rank and not dialog.done for dialog in self._open)

    def typed(self, key: Key) -> None:
        """The editor got this key. Submitting ends typing."""
        self._edited_at = time.monotonic()
        self._typed_at = 0.0 if key.name == "enter" and not self._drafting() else self._edited_at

    def _waits(self, dialog: Dialog[object]) -> bool:
        """True while the user types in the editor."""
        if not dialog.unasked or dialog.chosen:
            return False
        return self._drafting() or time.monotonic() - self._typed_at < TYPING_S

    def key(self, key: Key) -> bool:
        """True if a dialog took the key: an open one takes every key, unless it waits."""
        self._key_at = time.monotonic()
        dialog = self.top
        held, self._held = self._held, None
        if held is not None:
            held[2].cancel()
            if not self._one_after_another(held[0], held[1], key):
                return False
            dialog = self.top
        if dialog is None:
            return False
        if self._is_deaf(dialog) and not dialog.waits:
            return True
        if dialog.waits:
            if key.name == "tab":
                dialog.chosen = True
            elif key.name in READING and not (
                self._drafting() and key.name in ("home", "end")
            ):  # those belong to the draft
                dialog.key(key)
            else:
                return False
            self._changed()
            return True
        if dialog.unasked and not dialog.chosen and not dialog.takes_text and key.printable:
            # A letter may be an answer or the first of a word: the next key or a pause decides. Others start a word.
            if key.name not in dialog.answers or dialog.is_new:
                return False
            if self._may_be_text(dialog):
                timer = asyncio.get_running_loop().call_later(ALONE_S, self._was_alone)
                self._held = (dialog, key, timer)
                return True
        if dialog.unasked and key.name in ("up", "down", "tab"):
            dialog.chosen = True
        self._give(dialog, key)
        return True

    def _may_be_text(self, dialog: Dialog[object]) -> bool:
        """True if the user typed shortly before, or has hardly read the question."""
        now = time.monotonic()
        return now - self._edited_at < TYPED_S or dialog.shown_for < UNREAD_S

    def _give(self, dialog: Dialog[object], key: Key) -> None:
        if not dialog.key(key) and key.name in ("esc", "ctrl+c"):
            dialog.finish(None)
        self._changed()

    def _was_alone(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._give(held[0], held[1])

    def _one_after_another(self, dialog: Dialog[object], first: Key, second: Key) -> bool:
        """Two keys in a row: enter confirms the letter before it; more text sends both to the editor.
        True if the second is still to be dispatched."""
        if second.name == "enter":
            self._give(dialog, first)
            return dialog.done is False
        if second.printable:
            self._type_on(first)
            self._typed_at = time.monotonic()
            return False
        return True
