"""Offers actions after a failed turn: continue, log in, retry, or use another model.
If none is chosen, the prompt returns to the editor."""

from __future__ import annotations

from collections.abc import Sequence

from zot.core.agent import Outcome
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.commands.model import use_model
from zot.frontends.terminal.dialogs.model_picker import model_row, reachable_models, value_of
from zot.frontends.terminal.dialogs.picker import Picker
from zot.provider.error_mapping import recovery_kind
from zot.provider.model import Model
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice

AGAIN, LOG_IN = "again", "log in"
_ROWS = 12


async def recover_failed_turn(context: CommandContext, outcome: Outcome) -> None:
    error, conversation, turns = outcome.error, context.conversation, context.turns
    if error is None or outcome.taken_back is not None:  # has its own recovery
        return
    await turns.wait_idle()
    category = recovery_kind(error)
    if category in ("", "too_large"):
        turns.give_failed_back()
        return
    # Models that may succeed: a provider that refused the key is excluded.
    failed = conversation.model
    found = [model for model in reachable_models(conversation) if value_of(model) != value_of(failed)]
    picker = RecoveryPicker(
        conversation.model,
        [m for m in found if m.provider != failed.provider] if category == "authentication" else found,
        broke_off=conversation.is_answer_cut_off,
        gives_back=conversation.unanswered_prompt is not None,
        may_log_in=category == "authentication" and conversation.resolved.provider.needs_key,
        dropped=conversation.launch.active_flags,
    )
    turns.moved_on = lambda: picker.finish(None)
    chosen = await context.dialogs.ask(picker)
    turns.moved_on = lambda: None
    if not turns.busy:  # otherwise another prompt was sent meanwhile
        await _go(context, chosen)


async def _go(context: CommandContext, chosen: str | None) -> None:
    turns = context.turns
    if chosen is None:
        turns.give_failed_back()
    elif chosen == AGAIN:
        turns.proceed()
    elif chosen == LOG_IN:
        from zot.frontends.terminal.commands.login import log_in

        taken = await log_in(context, context.conversation.resolved.provider)
        turns.proceed() if taken else turns.give_failed_back()
    else:
        await _elsewhere(context, *chosen.split("\n", 1))
        turns.proceed()


async def _elsewhere(context: CommandContext, provider: str, model: str) -> None:
    dropped = context.conversation.launch.active_flags
    context.conversation.launch.forget()
    await use_model(context, provider, model)
    if dropped:
        context.transcript.add_note(f"continuing with {provider}/{model}, without {dropped}")


class RecoveryPicker(Picker):
    """Ends with ``again``, ``log in`` or the value of a model row.
    It opens by itself: letters go to the editor until the user focuses it with tab or an arrow."""

    unasked = True
    takes_text = False

    def __init__(
        self,
        failed: Model,
        others: Sequence[Model],
        *,
        broke_off: bool = False,
        gives_back: bool = False,
        may_log_in: bool = False,
        dropped: str = "",
    ) -> None:
        name = one_line(failed.id)
        rows = [Choice(AGAIN, "  go on from here" if broke_off else f"  try {name} again")]
        if may_log_in:
            rows.insert(0, Choice(LOG_IN, f"  log in to {one_line(failed.provider)} with another key"))
        above = [f"another model continues without {dropped}"] if dropped and others else []
        if not others:
            above.append("no other model is available; add a provider with /login")
        title = "the answer was interrupted" if broke_off else f"{one_line(failed.provider)}/{name} did not answer"
        hint = "enter picks · esc returns the prompt" if gives_back else "enter picks · esc closes"
        hint += " · tab, then type to filter" if others else ""
        super().__init__(title, [*rows, *(model_row(model) for model in others)], above=above, hint=hint, most=_ROWS)
