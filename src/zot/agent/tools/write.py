"""The write tool: writes a file atomically and creates missing directories; screens get the diff."""

from __future__ import annotations

from typing import Any

from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.edit_diff import EditSpan, diff_of, hunks_text
from zot.agent.tools.registry import WRITE
from zot.agent.tools.workspace import WorkspaceTool, reason_of
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.system.safe_open import TooLarge

LARGEST_COMPARED = 4 << 20  # of a file that is replaced
_SNIFFED = 8_192


class WriteTool(WorkspaceTool):
    name = "write"
    spec = WRITE

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        path = self._workspace.resolve(arguments.filled_text("path"))
        shown = self._workspace.display_path(path)
        content = arguments.text("content")
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            raise ToolError(f"write: 'content' holds a lone surrogate at character {error.start}") from error
        try:
            before = self._workspace.read_whole(path, LARGEST_COMPARED)
        except (OSError, TooLarge):
            before = None
        try:
            with self._workspace.record_write(path, data, self.name, before):
                created = await self._workspace.store(path, data)
        except OSError as error:
            raise ToolError(f"write: {shown}: {reason_of(error)}; nothing was changed") from error
        lines = content.count("\n") + (bool(content) and not content.endswith("\n"))
        details: dict[str, Any] = {
            "path": str(path),
            "content": content,
            "bytes": len(data),
            "total_lines": lines,
            "start_line": 1,
        }
        if before is not None and not created and (changes := changes_between(before, content)) is not None:
            details["changes"] = changes
        verb = "created" if created else "overwrote"
        size = f"{_counted(lines, 'line')}, {_counted(len(data), 'byte')}"
        return text_result(f"{verb} {shown}: {size}", details=details)


def changes_between(before: bytes, content: str) -> str | None:
    """Hunks of a unified diff; empty if unchanged, None if not text."""
    if before == content.encode():
        return ""
    if b"\0" in before[:_SNIFFED]:
        return None
    old = before.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    new = content.removeprefix("\ufeff").replace("\r\n", "\n")
    if old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
    return hunks_text(diff_of(old, [EditSpan(0, len(old), 1, new)])) if old != new else None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
