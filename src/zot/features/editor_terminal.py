"""Commands in terminals of the editor that runs zot, if the user set ``editor_terminal``. Never in the jail, which an
editor's terminal is not in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from zot.agent.feature import Feature
from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.registry import bash_limits
from zot.core.tool import ToolContext, ToolResult, text_result

if TYPE_CHECKING:
    from zot.agent.config import RunCommand
    from zot.core.tool import Tool


class EditorTerminalFeature(Feature):
    name = "editor_terminal"

    def wrap_tool(self, tool: Tool) -> Tool:
        run = self.services.front_end.run_command
        return TerminalBash(tool, run, self) if tool.name == "bash" and run is not None else tool


class TerminalBash:
    """``bash`` in a terminal of the editor; in the jail, and with ``background``, the tool itself."""

    def __init__(self, tool: Tool, run: RunCommand, feature: EditorTerminalFeature) -> None:
        self.name = tool.name
        self.description = tool.description
        self.schema = tool.schema
        self.read_only = tool.read_only
        self._tool = tool
        self._run = run
        self._feature = feature

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        workspace = self._feature.conversation.workspace
        if workspace.jail is not None or args.get("background"):
            return await self._tool.execute(args, context)
        arguments = ToolArguments(self.name, args)
        command, limits = arguments.filled_text("command"), bash_limits(self._feature.services.settings.values)
        asked = arguments.integer("timeout")
        seconds = min(asked if asked > 0 else limits.bash_timeout_s, limits.bash_max_timeout_s)
        try:
            async with asyncio.timeout(seconds), workspace.record_command(self.name):
                output, code = await self._run(context.call_id, command)
        except TimeoutError:
            return text_result(f"$ {command}\n[timed out after {seconds}s: the command was killed]", is_error=True)
        text = f"$ {command}\n{output.rstrip()}\n[exit {code}, in a terminal of the editor]"
        return text_result(text, is_error=code != 0, details={"exit_code": code})
