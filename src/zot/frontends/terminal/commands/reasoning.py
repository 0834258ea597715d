"""``/reasoning``: the reasoning effort; only levels the current model supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from zot.agent.settings import parse_reasoning
from zot.errors import ZotError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.provider.dialects import dialect_for
from zot.provider.model import REASONING_LEVELS, Reasoning
from zot.provider.providers import JOINED

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.tui.widgets import Choice


async def run(context: CommandContext, arguments: str) -> None:
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.tui.widgets import Choice

    conversation = context.conversation
    offered = levels(conversation)
    chosen: str | None = parse_reasoning(arguments) if arguments else None
    if arguments and chosen not in offered:
        raise ZotError(
            f"{conversation.model.id} does not support level {arguments}; expected one of {', '.join(offered)}"
        )
    if chosen is None:
        current = conversation.snapshot.reasoning or "off"
        rows = [Choice(level, f"{'● ' if level == current else '  '}{level}") for level in offered]
        chosen = await context.dialogs.ask(Picker(f"reasoning of {conversation.model.id}", rows, selected=current))
    if chosen is not None:
        apply(context, cast("Reasoning", chosen))


def complete(context: CommandContext, typed: str) -> list[Choice]:
    """Arguments offered after ``/reasoning``."""
    from zot.tui.widgets import Choice

    return [Choice(level, level) for level in levels(context.conversation)]


def apply(context: CommandContext, level: Reasoning) -> None:
    """From the next model call on, and in later runs."""
    conversation = context.conversation
    conversation.set_reasoning(level)
    conversation.settings.save(reasoning=level)
    context.status.ok(f"reasoning: {level}")


def levels(conversation: Conversation) -> list[str]:
    """Levels of the current model, from none to maximum."""
    model = conversation.model
    if not model.reasoning:
        return ["off"]
    known = model.reasoning_levels
    if not known and conversation.resolved.api != JOINED:
        known = dialect_for(conversation.resolved.api).levels
    always = model.can_skip_reasoning is False
    return [level for level in REASONING_LEVELS if level in known or (level == "off" and not always)]
