"""The model's tools for a swarm: start agents in the background, wait for them, tell them more, stop and list them.

There are no such tools unless they are switched on, and none in an agent that was itself started so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from zot.agent.tools.registry import LazyTool, Spec
from zot.core.tool import Tool, ToolContext, ToolResult, text_result
from zot.errors import ToolError, ZotError

if TYPE_CHECKING:
    from zot.swarm.model_agents import ModelSwarm

AGENT_VARIABLE = "ZOT_SWARM_AGENT_ID"
_IDS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Ids or names of agents; all of yours unless given.",
}
_ID = {"type": "string", "description": "Id or name of the agent."}

SPECS = {
    "swarm_spawn": Spec(
        "Start an agent that works on a task of its own in the background, with a context of its own; it sees nothing "
        "of this conversation, so the task has to say everything. Returns its id at once. In a repository it works on "
        "a branch of its own, and nothing of it is in your files until the user merges it. Use it for independent "
        "pieces of work. When all agents you started are done, you are told what they answered.",
        {
            "type": "object",
            "properties": {
                "task": {"type": "string", "description": "What it is to do, and what it is to answer with."},
                "name": {"type": "string", "description": "A short name."},
                "mode": {
                    "type": "string",
                    "enum": ["worktree", "shared"],
                    "description": "worktree: changes files, on a branch of its own; shared: only reads, right here.",
                },
                "model": {"type": "string", "description": "Another model than yours."},
                "provider": {"type": "string", "description": "Another provider than yours."},
            },
            "required": ["task"],
        },
    ),
    "agent_wait": Spec(
        "Wait until agents are done, and get their answers and how much they changed.",
        {
            "type": "object",
            "properties": {"ids": _IDS, "timeout": {"type": "integer", "description": "Seconds; 600 unless given."}},
        },
        read_only=True,
    ),
    "agent_send": Spec(
        "Tell an agent more; it does that when it is done with what it does now.",
        {
            "type": "object",
            "properties": {"id": _ID, "text": {"type": "string", "description": "What to tell it."}},
            "required": ["id", "text"],
        },
    ),
    "agent_stop": Spec(
        "End an agent and everything it started; what it changed stays on its branch.",
        {"type": "object", "properties": {"id": _ID}, "required": ["id"]},
    ),
    "agent_list": Spec(
        "The agents you started: what each does, or how it ended.", {"type": "object", "properties": {}}, read_only=True
    ),
}


def swarm_tools(swarm: Callable[[], ModelSwarm]) -> list[Tool]:
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
