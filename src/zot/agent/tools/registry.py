"""The built-in tools by name. What a model is told about a tool is known at once; its code is imported when it is
called for, or a little earlier, while the model still writes the arguments.

To add one: write its module, describe it in ``specs``, and add one line to ``_offers``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from zot.agent.tools import specs
from zot.agent.tools.limits import Limits
from zot.agent.tools.specs import Spec
from zot.core.events import AgentEvent, ToolUseStart
from zot.system.files import find_program

if TYPE_CHECKING:
    from zot.agent.tools.workspace import Workspace
    from zot.core.agent import Agent
    from zot.core.tool import Tool, ToolContext, ToolResult

DEFAULT_TOOLS = ("read", "write", "edit", "bash")
ALL_TOOLS = (*DEFAULT_TOOLS, "glob", "grep")


class DeferredTool:
    """Stands for a tool until it is needed."""

    def __init__(self, name: str, spec: Spec, make: Callable[[], Tool]) -> None:
        self.name = name
        self.description = spec.description
        self.schema = spec.schema
        self.read_only = spec.read_only
        self._make = make
        self._tool: Tool | None = None

    @property
    def is_prepared(self) -> bool:
        return self._tool is not None

    def prepare(self) -> Tool:
        """Import and make the tool; quick the second time."""
        if self._tool is None:
            self._tool = self._make()
        return self._tool

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        return await self.prepare().execute(args, context)


def builtin_tools(
    workspace: Workspace, *, names: Collection[str] | None = None, limits: Limits | None = None
) -> list[Tool]:
    """The tools named, in their fixed order; None means the default set. Other names are passed over here."""
    chosen = DEFAULT_TOOLS if names is None else names
    offers = _offers(workspace, limits or Limits())
    return [DeferredTool(name, *offers[name]) for name in ALL_TOOLS if name in chosen]


def _offers(workspace: Workspace, limits: Limits) -> dict[str, tuple[Spec, Callable[[], Tool]]]:
    def simple(module: str) -> Callable[[], Tool]:
        return lambda: _tool_class(module)(workspace)

    shell = find_program("bash") or "/bin/sh"
    return {
        "read": (specs.READ, simple("read")),
        "write": (specs.WRITE, simple("write")),
        "edit": (specs.EDIT, simple("edit")),
        "bash": (specs.bash(shell, limits), lambda: _tool_class("bash")(workspace, limits)),
        "glob": (specs.GLOB, simple("glob")),
        "grep": (specs.GREP, simple("grep")),
    }


def _tool_class(name: str) -> Callable[..., Tool]:
    from importlib import import_module

    return getattr(import_module(f"zot.agent.tools.{name}"), f"{name.capitalize()}Tool")


def preparing(agent: Agent) -> Callable[[AgentEvent], None]:
    """An observer that makes a tool ready as soon as the model begins to call it, while it writes the arguments."""

    def watch(event: AgentEvent) -> None:
        if isinstance(event, ToolUseStart) and isinstance(tool := agent.toolbox.get(event.name), DeferredTool):
            tool.prepare()

    return watch


def unknown_tools(names: Collection[str], others: Collection[str] = ()) -> list[str]:
    """The names that are neither built in nor among ``others`` (``skill``, extension tools), for a warning."""
    return [name for name in names if name not in ALL_TOOLS and name not in others]
