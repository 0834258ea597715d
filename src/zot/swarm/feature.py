"""The swarm in a conversation: tools with which the model starts agents, and the message that reports their results."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from zot.agent.feature import Feature
from zot.agent.tools.registry import SWARM
from zot.core.tool import Tool
from zot.swarm.tools import AGENT_VARIABLE, swarm_tools

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.swarm.model_agents import ModelSwarm


class SwarmFeature(Feature):
    """``agents`` is None until the model has used one of the tools."""

    name = "swarm"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.agents: ModelSwarm | None = None
        self._offered = False

    def tools(self, taken: Collection[str]) -> list[Tool]:
        """Nothing unless enabled, nothing in an agent that was itself started so, nor for a constrained model."""
        self._offered = self._is_enabled()
        if not self._offered or self.conversation.model.tool_calls or os.environ.get(AGENT_VARIABLE):
            return []
        return swarm_tools(self._agents)

    def _is_enabled(self) -> bool:
        named, values = self.services.config.tools, self.conversation.settings.values
        return SWARM in named if named is not None else values.auto_swarm_enabled or SWARM in values.tools

    def settings_changed(self) -> None:
        if self._is_enabled() != self._offered:
            self.conversation.refresh_tools(own=True)

    def _agents(self) -> ModelSwarm:
        """In a terminal, results are submitted as if typed; elsewhere the front end asks for them."""
        if self.agents is None:
            from zot.swarm.model_agents import ModelSwarm

            surface = self.services.front_end.surface
            typed = surface is not None and surface.interactive
            self.agents = ModelSwarm(self.conversation, partial(surface.submit, "swarm") if surface and typed else None)
        return self.agents

    async def wait_for_results(self) -> str:
        return await self.agents.news() if self.agents is not None else ""

    def spent(self) -> float:
        return self.agents.spent if self.agents is not None else 0.0

    async def aclose(self) -> None:
        if self.agents is not None:
            await self.agents.aclose()
