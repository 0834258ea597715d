"""A turn failed for a reason that another model may not have: try again, or go on elsewhere with the same prompt."""

from __future__ import annotations

from collections.abc import Sequence

from zot.agent.modes.interactive.dialogs.model_picker import by_text, model_row, value_of
from zot.agent.modes.interactive.dialogs.picker import Picker
from zot.provider.model import Model
from zot.tui.sanitize import one_line
from zot.tui.widgets.select_list import Choice

AGAIN = "again"
_ROWS = 12


class RescuePicker(Picker):
    """Ends with ``again`` or the value of a model row."""

    def __init__(self, failed: Model, reason: str, models: Sequence[Model], *, dropped: str = "") -> None:
        others = [model_row(model) for model in models if value_of(model) != value_of(failed)]
        above = [f"{one_line(failed.provider)}/{one_line(failed.id)} failed: {one_line(reason)}"]
        if dropped and others:
            above.append(f"another model goes on without {dropped}")
        if not others:
            above.append("no other model can be reached: /login adds a provider")
        rows = [Choice(AGAIN, f"  try {one_line(failed.id)} again"), *others]
        hint = "type to filter · enter goes on with the prompt · esc gives it back to edit"
        super().__init__("go on elsewhere?", rows, above=above, hint=hint, most=_ROWS, match=by_text)
