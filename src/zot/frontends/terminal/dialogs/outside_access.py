"""A call failed because of the jail: may it have what it wanted outside? The exact path or host stands there.

Closing it refuses. *No* is selected, because a yes opens something that was closed on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zot.features.jail.outside_access import Decision, OutsideRequest
from zot.frontends.terminal.dialogs.call_details import call_hides, call_rows
from zot.frontends.terminal.dialogs.confirm import Confirmations, DigitDialog, DigitOption
from zot.frontends.terminal.dialogs.text_dialogs import Evidence
from zot.system.visible_text import has_hidden
from zot.tui.decision_text import decision_rows
from zot.tui.theme import Theme

if TYPE_CHECKING:
    from zot.tui.markdown import Painter

_CHOICES = (
    DigitOption("1", "yes, once: run it again with this", "once", "once"),
    DigitOption("2", "yes, for this session", "session", "session"),
    DigitOption("3", "never: refuse it, and do not ask again in this session", "never", "never"),
    DigitOption("4", "no", "no", "deny"),
)


class OutsideDialog(DigitDialog[Decision]):
    title = "open the jail for this?"
    hint = "1–4 or enter answers · esc refuses"

    def __init__(self, offer: OutsideRequest, painter: Painter, confirmations: Confirmations) -> None:
        hidden = call_hides(offer.call.name, offer.call.args) or any(has_hidden(str(wish)) for wish in offer.wishes)
        super().__init__(confirmations, offer.worker, Evidence(self._all_of_it, hidden=hidden), "4")
        if self._who:
            self.title = f"{self._who}: {self.title}"
        self._offer = offer
        self._painter = painter

    @property
    def _choices(self) -> Sequence[DigitOption]:
        return _CHOICES

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
        call = call_rows(offer.call.name, offer.call.args, self._painter, width, self._existing)
        return [*rows, *decision_rows("a yes runs it again from its beginning:", "muted", theme, width), *call]

    def _choose(self, choice: DigitOption) -> None:
        self.finish(choice.decision)
