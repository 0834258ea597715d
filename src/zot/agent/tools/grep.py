"""The grep tool: lines of files that match a regular expression."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.registry import GREP
from zot.agent.tools.search import SearchQuery, own_search, printable, ripgrep, ripgrep_search, run_search
from zot.agent.tools.truncate import CappedRows
from zot.agent.tools.workspace import Workspace, WorkspaceTool
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError

MAX_CONTEXT = 50
_LONGEST_LINE = 500
_LONGEST_KEPT = 64 * 1024  # bytes of one row
_BAD_PATTERN = 2


class GrepTool(WorkspaceTool):
    name = "grep"
    spec = GREP

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        target = self._workspace.resolve(arguments.optional_text("path") or ".")
        self._workspace.check_place(target)
        root, query = self._query(arguments, target)
        rows = await self._search(root, query)
        details = {"path": str(target), "matches": rows.matches, "truncated": rows.truncated}
        nothing = f"no match for {query.pattern} in {self._workspace.display_path(target)}\n"
        return text_result(rows.text() or nothing, details=details)

    def _query(self, arguments: ToolArguments, target: Path) -> tuple[Path, SearchQuery]:
        if not target.exists():
            raise ToolError(f"grep: {self._workspace.display_path(target)}: no such file or directory")
        root, file = (target, "") if target.is_dir() else (target.parent, target.name)
        pattern = arguments.text("pattern")
        if not pattern:
            raise arguments.error("'pattern' is required")
        return root, SearchQuery(
            pattern,
            file,
            arguments.optional_text("glob"),
            arguments.flag("ignore_case"),
            min(max(arguments.integer("context"), 0), MAX_CONTEXT),
        )

    async def _search(self, root: Path, query: SearchQuery) -> _Rows:
        """Retry with Python's expressions, since ripgrep has no look-around and back references."""
        if rg := ripgrep():
            rows = _Rows(self._workspace, root)
            code = await run_search(self._workspace, ripgrep_search(rg, query), root, rows.take)
            if code != _BAD_PATTERN or rows.rows:
                return rows
        rows = _Rows(self._workspace, root)
        code = await run_search(self._workspace, own_search(query), root, rows.take)
        if code == _BAD_PATTERN:
            raise ToolError(f"grep: {query.pattern}: {rows.message}")
        return rows


class _Rows(CappedRows):
    """Parses ``path NUL line : text`` into rows, from pieces."""

    def __init__(self, workspace: Workspace, root: Path) -> None:
        super().__init__()
        self.matches = 0
        self.message = ""
        self._workspace = workspace
        self._root = root
        self._rest = b""

    def take(self, chunk: bytes) -> bool:
        *lines, rest = (self._rest + chunk).split(b"\n")
        # Rows are shown in part; the rest of a minified line is dropped.
        self._rest = rest if len(rest) <= _LONGEST_KEPT else rest[:_LONGEST_KEPT]
        return all(self._line(line) for line in lines)

    def _line(self, line: bytes) -> bool:
        path, separator, rest = line.partition(b"\0")
        if line.removesuffix(b"\r") == b"--":
            return self.add("--")
        if not separator:
            self.message = self.message or line.decode("utf-8", "replace")
            return True
        number = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
        mark = rest[len(number) : len(number) + 1].decode("utf-8", "replace")
        self.matches += mark == ":"
        text = rest[len(number) + 1 :].decode("utf-8", "replace").removesuffix("\r")
        shown = f"{text[:_LONGEST_LINE]}…" if len(text) > _LONGEST_LINE else text
        name = printable(self._workspace, self._root / os.fsdecode(path).removeprefix("./"))
        return self.add(f"{name}{mark}{number.decode()}{mark}{shown}")
