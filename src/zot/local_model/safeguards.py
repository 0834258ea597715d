"""What a run does differently for a model that is held by a grammar: such models are small, and make mistakes that a
larger one would not. Their commands are confirmed where a person can answer, and jailed where nobody can.

A mode or a jail that was asked for stands as it is. Where the machine has no jail, there is no bash, and one line
says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.provider.model import Model

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.services import Services
    from zot.local_model.feature import LocalModelFeature

ASKS = "accept-edits"  # edits in the project run, commands are asked about


def guard(services: Services) -> list[str]:
    """Prepares the run for such a model; returns what there is to say about it."""
    config, values, front_end = services.config, services.settings.values, services.front_end
    if config.permission_mode or values.permission_mode or services.workspace.jail is not None:
        return []
    if front_end.switches or "approval" in front_end.question_kinds:
        services.constrained_mode = ASKS
        return []
    if config.tools is not None and "bash" not in config.tools:
        return []
    from zot.features.jail.feature import create_jail  # most runs have none

    try:
        services.workspace.jail = create_jail(services, "on")
    except ZotError as error:
        services.withheld = frozenset({"bash"})
        return [
            "bash is not offered: where nobody can be asked, a small model's commands run in a jail, and there is"
            f" {error}; --permission-mode everything runs them all the same"
        ]
    return []


def adapt(conversation: Conversation, feature: LocalModelFeature) -> list[str]:
    """Another model answers from now on, and either it or the one before it is constrained by a grammar, but not both:
    tools and permissions become what the new one needs. Returns what to report."""
    said = _narrow(conversation, feature) if conversation.model.tool_calls else _restore(conversation, feature)
    conversation.refresh_tools(own=True)
    return said


def _narrow(conversation: Conversation, feature: LocalModelFeature) -> list[str]:
    services, gate = feature.services, conversation.gate
    if (gate is not None and not gate.open) or services.constrained_mode or services.withheld:
        return []
    said = guard(services)
    if gate is not None and services.constrained_mode:
        feature.narrowed, gate.mode = True, ASKS
        return [*said, f"{conversation.model.id} is a small model: commands are asked about from now on"]
    return said


def _restore(conversation: Conversation, feature: LocalModelFeature) -> list[str]:
    """Undo what was narrowed in mid-session; what the run began with stands, and so do a jail and a mode that the user
    has chosen since."""
    services, gate = feature.services, conversation.gate
    narrowed, feature.narrowed = feature.narrowed, False
    services.withheld = frozenset()
    if gate is None or not gate.open:  # else the user opened it for the small model, who may have it so again
        services.constrained_mode = ""
    if gate is None or not narrowed or gate.mode != ASKS:
        return []
    gate.mode = "everything"
    return ["commands are no longer asked about: that was for the small model"]


# What a local model lacks for work with tools, shown once after its first answer: such servers start with small windows
# and any model, and work would go wrong in odd ways.

SMALL_WINDOW = 16_384
_KNOWS_GRAMMARS = ("llama.cpp",)  # whose servers take one in a request
_LARGER = {
    "ollama": "OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
    "llama.cpp": "llama-server -c 32768",
    "lmstudio": "load it with a larger context length",
}


def shortcomings(model: Model) -> Iterator[str]:
    if model.tool_calls:
        return  # whoever holds it by a grammar has allowed for both
    if 0 < model.context_window < SMALL_WINDOW:
        larger = _LARGER.get(model.provider, "start its server with a larger one")
        yield (
            f"{model.id} has a window of {model.context_window} tokens here, and files and commands soon fill it;"
            f" 16k is the least that goes well: {larger}"
        )
    if model.tools is False and model.provider in _KNOWS_GRAMMARS:
        yield (
            f"{model.id} cannot call tools by itself; a grammar can hold it to actions: put"
            f' {{"providers": {{"{model.provider}": {{"tool_calls": "grammar"}}}}}} into models.json'
        )
    elif model.tools is False:
        yield f"{model.id} cannot call tools, its server says: it answers, but changes no files; /model has others"
