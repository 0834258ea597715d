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
    from zot.agent.resources import Resources

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
    from zot.agent.confinement import confine, wanted  # most runs are free

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


def guard_from_now_on(conversation: Conversation) -> list[str]:
    """The same when such a model takes over in mid-session."""
    resources, gate = conversation.resources, conversation.gate
    if gate is not None and gate.open and not resources.held_mode:
        said = guard(resources)
        if resources.held_mode:
            gate.mode = ASKS
            said = [*said, f"{conversation.model.id} is a small model: commands are asked about from now on"]
        return said
    if gate is not None or resources.held_mode or resources.withheld:
        return []
    said = guard(resources)
    if resources.withheld:
        resources.own_tools = [tool for tool in resources.own_tools if tool.name not in resources.withheld]
        conversation.refresh_tools()
    return said
