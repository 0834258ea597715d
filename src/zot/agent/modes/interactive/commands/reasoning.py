"""``/reasoning``: how hard the model thinks; only levels the model of now tells apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from zot.agent.modes.interactive.commands.command import agent_of
from zot.agent.settings import parse_reasoning
from zot.errors import ZotError
from zot.provider.dialects import dialect_for
from zot.provider.model import REASONING_LEVELS, Reasoning

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.runtime import Runtime
    from zot.tui.widgets.select_list import Choice


async def run(app: App, arguments: str) -> None:
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.tui.widgets.select_list import Choice

    runtime = agent_of(app)
    offered = levels(runtime)
    chosen: str | None = parse_reasoning(arguments) if arguments else None
    if arguments and chosen not in offered:
        raise ZotError(f"{runtime.agent.model.id} has no level {arguments}; it has {', '.join(offered)}")
    if chosen is None:
        current = runtime.agent.reasoning or "off"
        rows = [Choice(level, f"{'● ' if level == current else '  '}{level}") for level in offered]
        chosen = await app.dialogs.ask(Picker(f"reasoning of {runtime.agent.model.id}", rows, selected=current))
    if chosen is not None:
        apply(app, cast("Reasoning", chosen))


def complete(app: App, typed: str) -> list[Choice]:
    """What the editor offers after ``/reasoning``."""
    from zot.tui.widgets.select_list import Choice

    return [Choice(level, level) for level in levels(app.runtime)] if app.runtime is not None else []


def apply(app: App, level: Reasoning) -> None:
    """From the next model call on, and in the next runs."""
    runtime = agent_of(app)
    runtime.agent.reasoning = level
    runtime.workspace.exported["ZOT_REASONING_LEVEL"] = level
    runtime.settings.save(reasoning=level)
    app.status.ok(f"reasoning: {level}")


def levels(runtime: Runtime) -> list[str]:
    """What the model of now tells apart, from none to most."""
    model = runtime.agent.model
    if not model.reasoning:
        return ["off"]
    known = model.reasoning_levels or dialect_for(runtime.resolved.api).levels
    return [level for level in REASONING_LEVELS if level == "off" or level in known]
