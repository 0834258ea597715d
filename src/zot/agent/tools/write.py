"""The write tool: a file gets exactly the bytes given, all at once; missing directories are made."""

from __future__ import annotations

import os
from typing import Any

from zot.agent.tools.arguments import Arguments
from zot.agent.tools.registry import WRITE
from zot.agent.tools.workspace import WorkspaceTool, reason_of
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.system.files import replace_file


class WriteTool(WorkspaceTool):
    name = "write"
    spec = WRITE

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = Arguments(self.name, args)
        path = self._workspace.resolve(arguments.filled_text("path"))
        shown = self._workspace.shown(path)
        content = arguments.text("content")
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            raise ToolError(f"write: 'content' holds a lone surrogate at character {error.start}") from error
        try:
            with self._workspace.changing(path, data, self.name):
                os.makedirs(path.parent, mode=0o755, exist_ok=True)
                created = replace_file(path, data)
        except OSError as error:
            raise ToolError(f"write: {shown}: {reason_of(error)}; nothing was changed") from error
        lines = content.count("\n") + (bool(content) and not content.endswith("\n"))
        details = {"path": str(path), "content": content, "bytes": len(data), "total_lines": lines, "start_line": 1}
        verb = "created" if created else "overwrote"
        size = f"{_counted(lines, 'line')}, {_counted(len(data), 'byte')}"
        return text_result(f"{verb} {shown}: {size}", details=details)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
