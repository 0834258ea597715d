"""The swarm in a conversation: tools with which the model starts agents, and the message that reports their results."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from zot.agent.feature import Feature
from zot.agent.tools.registry import SWARM, LazyTool, ToolDefinition
from zot.core.tool import Tool, ToolContext, ToolResult, text_result
from zot.errors import ToolError, ZotError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.swarm.model_agents import ModelAgents

AGENT_VARIABLE = "ZOT_SWARM_AGENT_ID"
_IDS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Ids or names of agents; default: all of yours.",
}
_ID = {"type": "string", "description": "Id or name of the agent."}

SPECS = {
    "swarm_spawn": ToolDefinition(
        "Start an agent in the background, with its own task and context; it sees nothing of this conversation, so "
        "the task must contain everything. Returns its id at once. In a repository it works on its own branch; your "
        "files change only when the user merges it. Use it for independent pieces of work. When all agents you "
        "started are done, you receive their answers.",
        {
            "type": "object",
            "properties": {
                "task": {"type": "string", "description": "What to do, and what to answer."},
                "name": {"type": "string", "description": "A short name."},
                "mode": {
                    "type": "string",
                    "enum": ["worktree", "shared"],
                    "description": "worktree: changes files on its own branch; shared: only reads, in this directory.",
                },
                "model": {"type": "string", "description": "A model other than yours."},
                "provider": {"type": "string", "description": "A provider other than yours."},
            },
            "required": ["task"],
        },
    ),
    "agent_wait": ToolDefinition(
        "Wait until agents are done; returns their answers and a summary of their changes.",
        {
            "type": "object",
            "properties": {"ids": _IDS, "timeout": {"type": "integer", "description": "Seconds; default 600."}},
        },
        read_only=True,
    ),
    "agent_send": ToolDefinition(
        "Send an agent a message; it reads it after its current task.",
        {
            "type": "object",
            "properties": {"id": _ID, "text": {"type": "string", "description": "The message."}},
            "required": ["id", "text"],
        },
    ),
    "agent_stop": ToolDefinition(
        "Stop an agent and everything it started; its changes stay on its branch.",
        {"type": "object", "properties": {"id": _ID}, "required": ["id"]},
    ),
    "agent_list": ToolDefinition(
        "List the agents you started with their status.", {"type": "object", "properties": {}}, read_only=True
    ),
}


def swarm_tools(swarm: Callable[[], ModelAgents]) -> list[Tool]:
    def make(name: str) -> Callable[[], Tool]:
        return lambda: SwarmTool(name, getattr(swarm(), name))

    return [LazyTool(name, spec, make(name)) for name, spec in SPECS.items()]


class SwarmTool:
    def __init__(self, name: str, work: Callable[[dict[str, Any]], Awaitable[str]]) -> None:
        spec = SPECS[name]
        self.name, self.description, self.schema, self.read_only = name, spec.description, spec.schema, spec.read_only
        self._work = work

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        try:
            return text_result(await self._work(args))
        except ToolError:
            raise
        except ZotError as error:
            raise ToolError(f"{self.name}: {error}") from error


class SwarmFeature(Feature):
    """``agents`` is None until the model has used one of the tools."""

    name = "swarm"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.agents: ModelAgents | None = None
        self._offered = False

    def tools(self, taken: Collection[str]) -> list[Tool]:
        """None unless enabled; none in a worker or for a grammar-constrained model."""
        self._offered = self._is_enabled()
        if not self._offered or self.conversation.model.tool_calls or os.environ.get(AGENT_VARIABLE):
            return []
        return swarm_tools(self._agents)

    def _is_enabled(self) -> bool:
        named, values = self.services.config.tools, self.conversation.settings.values
        return SWARM in named if named is not None else values.model_can_start_agents or SWARM in values.tools

    def settings_changed(self) -> None:
        if self._is_enabled() != self._offered:
            self.conversation.refresh_tools(own=True)

    def _agents(self) -> ModelAgents:
        """In a terminal, results are submitted as if typed; elsewhere the front end asks for them."""
        if self.agents is None:
            from zot.swarm.model_agents import ModelAgents

            surface = self.services.front_end.surface
            typed = surface is not None and surface.interactive
            self.agents = ModelAgents(
                self.conversation, partial(surface.submit, "swarm") if surface and typed else None
            )
        return self.agents

    async def wait_for_results(self) -> str:
        return await self.agents.finished_message() if self.agents is not None else ""

    def spent(self) -> float:
        return self.agents.spent if self.agents is not None else 0.0

    async def aclose(self) -> None:
        if self.agents is not None:
            await self.agents.aclose()
