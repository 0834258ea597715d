"""A call failed because of the jail: may it have what it wanted outside? The exact path or host stands there.

As with every confirmation: one at a time, keys of its first moments and of somebody who types are not answers, and
closing it refuses. *No* is selected, because a yes opens something that was closed on purpose.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from zot.features.jail.outside_access import Decision, OutsideRequest
from zot.frontends.terminal.dialogs.call_details import call_hides, call_rows, nothing_there
from zot.frontends.terminal.dialogs.confirm import DEAF_S, Confirmations
from zot.frontends.terminal.dialogs.dialog import CONFIRM, Dialog
from zot.frontends.terminal.dialogs.text_dialogs import Evidence
from zot.system.visible_text import has_hidden, spelled
from zot.tui.decision_text import decision_rows
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.tui.markdown import Painter

_ROOMY = 8


class _Choice(NamedTuple):
    digit: str
    text: str
    short: str
    decision: Decision


_CHOICES = (
    _Choice("1", "yes, once: run it again with this", "once", "once"),
    _Choice("2", "yes, for this session", "session", "session"),
    _Choice("3", "never: refuse it, and do not ask again in this session", "never", "never"),
    _Choice("4", "no", "no", "deny"),
)


class OutsideDialog(Dialog[Decision]):
    rank = CONFIRM
    unasked = True
    takes_text = False
    answers = frozenset("1234")
    title = "open the jail for this?"
    hint = "1–4 or enter answers · esc refuses"

    def __init__(self, offer: OutsideRequest, painter: Painter, confirmations: Confirmations) -> None:
        super().__init__()
        self._who = offer.worker
        if self._who:
            self.title = f"{spelled(self._who)}: {self.title}"
        self._offer = offer
        self._painter = painter
        self._confirmations = confirmations
        hidden = call_hides(offer.call.name, offer.call.args) or any(has_hidden(str(wish)) for wish in offer.wishes)
        self._evidence = Evidence(self._all_of_it, hidden=hidden)
        self._shown_at = 0.0
        self._selected = "4"

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        self._shown_at = self._shown_at or time.monotonic()
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        answers = self._answers(theme, width, height)
        return [*self._evidence.rows(theme, width, max(height - len(answers), 2)), *answers]

    def _all_of_it(self, theme: Theme, width: int) -> list[str]:
        """What it wanted first: that is what is decided."""
        offer = self._offer
        rows = decision_rows(
            f"{offer.call.name} failed, because this is outside the jail; it wanted", "fg", theme, width
        )
        for wish in offer.wishes:
            rows += decision_rows(str(wish), "warning", theme, width, "    ")
            if wish.access == "network":
                rows += decision_rows("all or nothing: a yes opens the whole network", "muted", theme, width, "    ")
        if offer.origin:
            rows += decision_rows(f"the extension {offer.origin} asked for the call", "muted", theme, width)
        existing = nothing_there if self._who else self._confirmations.existing
        call = call_rows(offer.call.name, offer.call.args, self._painter, width, existing)
        return [*rows, *decision_rows("a yes runs it again from its beginning:", "muted", theme, width), *call]

    def _answers(self, theme: Theme, width: int, height: int) -> list[str]:
        if height >= _ROOMY:
            return [self._row(theme, choice, width) for choice in _CHOICES]
        marks = [
            f"[{choice.digit} {choice.short}]" if choice.digit == self._selected else f" {choice.digit} {choice.short} "
            for choice in _CHOICES
        ]
        return [theme.paint("fg", cut(f"  {''.join(marks)}", width))]

    def _row(self, theme: Theme, choice: _Choice, width: int) -> str:
        text = f"  {choice.digit}  {choice.text}"
        return theme.selected(text, width) if choice.digit == self._selected else theme.paint("fg", cut(text, width))

    def key(self, key: Key) -> bool:
        if time.monotonic() - self._shown_at < DEAF_S or not self._shown_at:
            return True
        digits = [choice.digit for choice in _CHOICES]
        if key.name in ("esc", "ctrl+c"):
            if not self._who:
                self._confirmations.escaped()
            self.finish("deny")
        elif key.name in ("up", "down"):
            place = digits.index(self._selected) + (1 if key.name == "down" else -1)
            self._selected = digits[min(max(place, 0), len(digits) - 1)]
        elif key.name in digits or key.name == "enter":
            chosen = self._selected if key.name == "enter" else key.name
            self.finish(next(choice.decision for choice in _CHOICES if choice.digit == chosen))
        else:
            self._evidence.key(key)
        return True
