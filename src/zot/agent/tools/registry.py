"""The built-in tools by name; their code is imported on the first call, or while the model writes its arguments.
To add one: write its module, describe it here, and add one line to ``offered_tools``."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.events import AgentEvent, ToolUseStart
from zot.system.files import find_program

if TYPE_CHECKING:
    from zot.agent.settings import SettingsValues
    from zot.agent.tools.workspace import Workspace
    from zot.core.agent import Agent
    from zot.core.tool import Tool, ToolContext, ToolResult

ALL_TOOLS = ("read", "write", "edit", "bash", "glob", "grep")  # short descriptions: see the test of the first request
SWARM = "swarm"  # name of this group in --tools and in the settings
EXTRAS = (SWARM,)  # off unless named
SWARM_NAMES = ("swarm_spawn", "agent_wait", "agent_send", "agent_stop", "agent_list")


class BashLimits(msgspec.Struct, frozen=True):
    """Timeouts of commands; the user can set them."""

    bash_timeout_s: int = 120
    bash_max_timeout_s: int = 600


def bash_limits(values: SettingsValues) -> BashLimits:
    return BashLimits(int(values.bash_timeout_s), int(values.bash_timeout_max_s))


class LazyTool:
    """Placeholder of a tool: has its description, imports it to run it."""

    def __init__(self, name: str, spec: ToolDefinition, make: Callable[[], Tool]) -> None:
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
        """Import and create the tool; cached."""
        if self._tool is None:
            self._tool = self._make()
        return self._tool

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        return await self.prepare().execute(args, context)


def builtin_tools(
    workspace: Workspace, *, names: Collection[str] | None = None, limits: BashLimits | None = None
) -> list[Tool]:
    """The named tools in fixed order; None means all. Unknown names are ignored here."""
    chosen = ALL_TOOLS if names is None else names
    offers = offered_tools(workspace, limits or BashLimits())
    return [LazyTool(name, *offers[name]) for name in ALL_TOOLS if name in chosen]


def offered_tools(workspace: Workspace, limits: BashLimits) -> dict[str, tuple[ToolDefinition, Callable[[], Tool]]]:
    """Description and factory of each tool."""

    def code(name: str, *more: object) -> Callable[[], Tool]:
        def make() -> Tool:
            return getattr(import_module(f"zot.agent.tools.{name}"), f"{name.capitalize()}Tool")(workspace, *more)

        return make

    shell = find_program("bash") or "/bin/sh"
    return {
        "read": (READ, code("read")),
        "write": (WRITE, code("write")),
        "edit": (EDIT, code("edit")),
        "bash": (bash_spec(shell, limits), code("bash", limits)),
        "glob": (GLOB, code("glob")),
        "grep": (GREP, code("grep")),
    }


def preload_on_call(agent: Agent) -> Callable[[AgentEvent], None]:
    """Loads a tool when the model begins to call it, while it writes the arguments."""

    def watch(event: AgentEvent) -> None:
        if isinstance(event, ToolUseStart):
            tool = agent.toolbox.get(event.name)
            if isinstance(tool, LazyTool) and not tool.is_prepared:
                import_module("zot.core.tool_batch")  # used by the loop
                tool.prepare()

    return watch


def unknown_tools(names: Collection[str], others: Collection[str] = ()) -> list[str]:
    """Names that are neither built in nor among ``others`` (``skill``, extension tools), for a warning."""
    return [name for name in names if name not in (*ALL_TOOLS, *EXTRAS) and name not in others]


class ToolDefinition(msgspec.Struct, frozen=True):
    """Description for a model, and whether the tool is read-only."""

    description: str
    schema: dict[str, Any]
    read_only: bool = False


READ = ToolDefinition(
    (
        "Read a text file or an image, or list a directory. At most 2000 lines or 50 KiB at a time; continue with "
        "offset."
    ),
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the working directory."},
            "offset": {"type": "integer", "description": "First line, from 1."},
            "limit": {"type": "integer", "description": "Lines to return."},
        },
        "required": ["path"],
    },
    read_only=True,
)
WRITE = ToolDefinition(
    "Create or replace a file. Missing directories are created.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File to write."},
            "content": {"type": "string"},
        },
        "required": ["path", "content"],
    },
)
EDIT = ToolDefinition(
    "Replace exact text in a file. Each oldText must occur exactly once.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File to change."},
            "edits": {
                "type": "array",
                "description": "Each matches the original file; they must not overlap.",
                "items": {
                    "type": "object",
                    "properties": {
                        "oldText": {"type": "string", "description": "Exact text, found once."},
                        "newText": {"type": "string"},
                    },
                    "required": ["oldText", "newText"],
                },
            },
        },
        "required": ["path", "edits"],
    },
)
GLOB = ToolDefinition(
    "Find files by path pattern. Newest first; skips ignored files.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Such as **/*.py; * stays in one directory."},
            "path": {"type": "string", "description": "Directory to search."},
        },
        "required": ["pattern"],
    },
    read_only=True,
)
GREP = ToolDefinition(
    "Search file contents by regular expression. Skips ignored and binary files.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Matched within single lines."},
            "path": {"type": "string", "description": "File or directory."},
            "glob": {"type": "string", "description": "Only these files, such as *.py."},
            "ignore_case": {"type": "boolean"},
            "context": {"type": "integer", "description": "Lines around each match."},
        },
        "required": ["pattern"],
    },
    read_only=True,
)


def bash_spec(shell: str, limits: BashLimits) -> ToolDefinition:
    """Names the shell, since commands for one may fail in another."""
    return ToolDefinition(
        f"Run a shell command ({os.path.basename(shell)}) in the working directory. Returns its "
        "output and exit code. Input is empty; long output keeps head and tail.",
        {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {
                    "type": "integer",
                    "description": (
                        f"Seconds until it is killed: {limits.bash_timeout_s} unless given, "
                        f"{limits.bash_max_timeout_s} at most."
                    ),
                },
                "background": {"type": "boolean"},
            },
            "required": ["command"],
        },
    )
