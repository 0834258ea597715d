"""What a run does differently for a model that is held by a grammar: such models are small, and make mistakes that a
larger one would not. Their commands are confirmed where a person can answer, and jailed where nobody can.

A mode or a jail that was asked for stands as it is. Where the machine has no jail, there is no bash, and one line
says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.services import Resources

ASKS = "accept-edits"  # edits in the project run, commands are asked about


def guard(resources: Resources) -> list[str]:
    """Prepares the run for such a model; returns what there is to say about it."""
    config, values, front_end = resources.config, resources.settings.values, resources.front_end
    if config.permission_mode or values.permission_mode or resources.workspace.jail is not None:
        return []
    if front_end.switches or front_end.confirmer is not None:
        resources.held_mode = ASKS
        return []
    if config.tools is not None and "bash" not in config.tools:
        return []
    from zot.features.jail.setup import confine, wanted  # most runs are free

    asked = wanted("on", config.jail_read, config.jail_write, config.jail_level, values)
    try:
        resources.workspace.jail = confine(resources.workspace.cwd, resources.home, asked)
    except ZotError as error:
        resources.withheld = frozenset({"bash"})
        return [
            "bash is not offered: where nobody can be asked, a small model's commands run in a jail, and there is"
            f" {error}; --permission-mode everything runs them all the same"
        ]
    return []


def adapt(conversation: Conversation) -> list[str]:
    """Another model answers from now on, and either it or the one before it is held by a grammar, but not both: tools
    and commands become what the new one needs. Returns what there is to say about it."""
    resources, held = conversation.resources, conversation.model.tool_calls != ""
    said = _guard_from_now_on(conversation) if held else _as_before(conversation)
    if not conversation.is_child:  # a child has the tools it was made with
        from zot.agent.build import own_tools  # it is loaded: it made this conversation

        resources.own_tools = own_tools(resources, conversation.model)
        conversation.refresh_tools()
    return said


def _guard_from_now_on(conversation: Conversation) -> list[str]:
    resources, gate = conversation.resources, conversation.gate
    if (gate is not None and not gate.open) or resources.held_mode or resources.withheld:
        return []
    said = guard(resources)
    if gate is not None and resources.held_mode:
        resources.narrowed, gate.mode = True, ASKS
        return [*said, f"{conversation.model.id} is a small model: commands are asked about from now on"]
    return said


def _as_before(conversation: Conversation) -> list[str]:
    """What was narrowed for a model that took over in mid-session is undone; what the run began with stands, and so
    do a jail and a mode that somebody has chosen since."""
    resources, gate = conversation.resources, conversation.gate
    narrowed, resources.narrowed = resources.narrowed, False
    resources.withheld = frozenset()
    if gate is None or not gate.open:  # else somebody opened it for the small model, who may have it so again
        resources.held_mode = ""
    if gate is None or not narrowed or gate.mode != ASKS:
        return []
    gate.mode = "everything"
    return ["commands are no longer asked about: that was for the small model"]
