"""The tool ``more_tools``: names on-demand tools in its description and makes those callable that the model asks for.
The description does not change during a conversation, so that the cached prompt stays valid until a tool is added."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from zot.agent.feature import Feature
from zot.agent.tool_set import ON_DEMAND
from zot.core.permission_modes import CallClass
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.provider.messages import Message, ToolCallBlock

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.agent import Agent
    from zot.core.session.session import Session
    from zot.core.tool import Tool

MORE_TOOLS = "more_tools"


class MoreToolsFeature(Feature):
    name = MORE_TOOLS

    def join(self) -> None:
        self.conversation.toolset.name(_enabled(self.conversation.messages))

    def tools(self, taken: Collection[str]) -> list[Tool]:
        listed = self.conversation.toolset.on_demand
        return [MoreToolsTool(listed, self.conversation.agent, self._activate)] if listed else []

    def limit_tools(self, tools: list[Tool]) -> list[Tool]:
        """None of them for a model that has none to activate; they come back with another model."""
        if not self.conversation.model.tool_calls:
            return tools
        return [tool for tool in tools if tool.name != MORE_TOOLS and tool.name not in ON_DEMAND]

    def _activate(self, names: Sequence[str]) -> None:
        self.conversation.toolset.activate(names)

    def for_child(self, child: Conversation) -> Feature | None:
        """A side conversation gets its own, which adds tools to it alone."""
        agent = child.agent
        if not isinstance(own := agent.toolbox.get(MORE_TOOLS), MoreToolsTool):
            return None
        toolset = self.conversation.toolset

        def activate(names: Sequence[str]) -> None:
            missing = [name for name in names if name not in agent.toolbox]
            offered = {tool.name: tool for tool in (*toolset.permitted(), *toolset.lend(missing))}
            agent.set_tools([*agent.tools, *(offered[name] for name in missing if name in offered)])

        mine = MoreToolsTool(own.listed, agent, activate)
        agent.set_tools([tool for tool in (*agent.tools, mine) if tool is not own])
        return None

    async def before_session(self, session: Session) -> None:
        self._activate(_enabled(session.messages_to_resume()))


class MoreToolsTool:
    name = MORE_TOOLS
    read_only = True
    deferred = True  # not in the list of tools of the system prompt

    def __init__(self, listed: dict[str, str], agent: Agent, activate: Callable[[Sequence[str]], None]) -> None:
        self.listed = listed
        self._agent = agent
        self._activate = activate
        tools = ", ".join(name if text == name else f"{name} ({text})" for name, text in listed.items())
        self.description = f"Makes more tools callable: {tools}"
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {"names": {"type": "array", "items": {"type": "string"}}},
            "required": ["names"],
        }

    def classify(self, args: dict[str, Any]) -> CallClass:
        return CallClass("look")

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        names = _names(args)
        if unknown := [name for name in names if name not in self.listed]:
            raise ToolError(f"more_tools: no tool named {unknown[0][:60]!r}; available: {', '.join(self.listed)}")
        if not names:
            raise ToolError(f"more_tools: names: expected one or more of {', '.join(self.listed)}")
        self._activate(names)
        toolbox = self._agent.toolbox
        ready = [name for name in names if name in toolbox]
        lines = [f"Callable from now on: {', '.join(ready)}."] if ready else []
        lines += [f"{name} is not available in this run." for name in names if name not in toolbox]
        return text_result("\n".join(lines), is_error=not ready)


def _enabled(messages: Iterable[Message]) -> list[str]:
    """What the model enabled earlier in the session."""
    return [
        name
        for message in messages
        if message.role == "assistant"
        for block in message.content
        if isinstance(block, ToolCallBlock) and block.name == MORE_TOOLS
        for name in _names(block.args or {})
    ]


def _names(args: dict[str, Any]) -> list[str]:
    """Also one name as a text, which some models send."""
    given = args.get("names")
    values = cast("list[object]", given if isinstance(given, list) else [given])
    return list(dict.fromkeys(name for name in values if isinstance(name, str)))
