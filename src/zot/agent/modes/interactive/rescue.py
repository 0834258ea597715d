"""A turn failed for a reason that another model may not have: try again, or continue elsewhere with the same prompt.

The prompt is in the transcript and is not said twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from zot.agent.modes.interactive.commands.context import Context
from zot.agent.modes.interactive.commands.model import use_model
from zot.agent.modes.interactive.dialogs.model_picker import model_row, usable_models, value_of
from zot.agent.modes.interactive.dialogs.picker import Picker
from zot.agent.modes.interactive.screen.failure_text import in_words
from zot.core.agent import Outcome
from zot.provider.failures import rescue_category, rescue_reason
from zot.provider.model import Model
from zot.tui.sanitize import one_line
from zot.tui.widgets.select_list import Choice

AGAIN = "again"
_ROWS = 12


async def rescue(context: Context, outcome: Outcome) -> None:
    error, conversation, turns = outcome.error, context.conversation, context.turns
    if error is None or rescue_category(error) in ("", "too_large"):
        return
    await turns.over()
    dropped = conversation.launch.in_force
    picker = RescuePicker(conversation.model, _reason(error), usable_models(conversation), dropped=dropped)
    chosen = await context.dialogs.ask(picker)
    if chosen is None:
        turns.give_failed_back()
    elif chosen == AGAIN:
        turns.proceed()
    else:
        provider, _, model = chosen.partition("\n")
        conversation.launch.forget()
        await use_model(context, provider, model)
        if dropped:
            context.transcript.remark(f"continuing with {provider}/{model}, without {dropped}")
        turns.proceed()


def _reason(error: Exception) -> str:
    """The category, and what the provider said about it."""
    label, colon, _ = rescue_reason(error).partition(": ")
    said = in_words(str(error))
    return rescue_reason(error) if said == str(error) else f"{label}{colon}{said}"


class RescuePicker(Picker):
    """Ends with ``again`` or the value of a model row."""

    unasked = True

    def __init__(self, failed: Model, reason: str, models: Sequence[Model], *, dropped: str = "") -> None:
        others = [model_row(model) for model in models if value_of(model) != value_of(failed)]
        above = [f"{one_line(failed.provider)}/{one_line(failed.id)} failed: {one_line(reason[:2_000])}"]
        if dropped and others:
            above.append(f"another model continues without {dropped}")
        if not others:
            above.append("no other model can be reached: /login adds a provider")
        rows = [Choice(AGAIN, f"  try {one_line(failed.id)} again"), *others]
        hint = "type to filter · enter sends the prompt again · esc gives it back to edit"
        super().__init__("continue with another model?", rows, above=above, hint=hint, most=_ROWS)
