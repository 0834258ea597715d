"""The edit tool: replaces exact pieces of a text file, all of them or none.

Every edit is matched against the file as it was, so edits never see each other's output. What was not named stays
as it is, byte for byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from zot.agent.tools.arguments import Arguments
from zot.agent.tools.edit_diff import diff_of
from zot.agent.tools.edit_match import locate
from zot.agent.tools.edit_text import EditableText
from zot.agent.tools.failures import reason_of
from zot.agent.tools.specs import EDIT
from zot.agent.tools.workspace_tool import WorkspaceTool
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.system.files import open_regular, replace_file


class EditTool(WorkspaceTool):
    name = "edit"
    spec = EDIT

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = Arguments(self.name, args)
        path = self._workspace.resolve(arguments.filled_text("path"))
        edits = [(edit.text("oldText"), edit.text("newText")) for edit in arguments.objects("edits")]
        shown = self._workspace.shown(path)
        with self._reading(path), open(open_regular(path), "rb") as file:
            text = EditableText(file.read())
        try:
            spans = locate(text.body, edits)
            data = text.replaced(spans)
        except ToolError as error:
            raise ToolError(f"edit: {shown} was not changed.\n{error}") from error
        except UnicodeEncodeError as error:
            raise ToolError(f"edit: {shown} was not changed: newText holds a lone surrogate") from error
        _written(path, shown, data)
        diff = diff_of(text.body, spans)
        details = {
            "path": str(path),
            "edits": len(spans),
            "diff": diff.text,
            "hunks": msgspec.to_builtins(diff.hunks),
        }
        return text_result(diff.text, details=details)


def _written(path: Path, shown: str, data: bytes) -> None:
    try:
        replace_file(path, data)
    except OSError as error:
        raise ToolError(f"edit: {shown} was not changed: {reason_of(error)}") from error
