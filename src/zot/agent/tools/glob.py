"""The glob tool: the files whose paths match a pattern, newest first."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from zot.agent.tools.arguments import Arguments
from zot.agent.tools.glob_pattern import has_magic, regex_of
from zot.agent.tools.search import CappedRows, own_listing, printable, ripgrep, ripgrep_listing, run_search
from zot.agent.tools.specs import GLOB
from zot.agent.tools.workspace_tool import WorkspaceTool
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError

_MOST_FILES = 100_000  # whose times are looked up to find the newest


class GlobTool(WorkspaceTool):
    name = "glob"
    spec = GLOB

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = Arguments(self.name, args)
        pattern = arguments.filled_text("pattern").removeprefix("./")
        root = self._workspace.resolve(arguments.optional_text("path") or ".")
        if not root.is_dir():
            raise ToolError(f"glob: {self._workspace.shown(root)}: no such directory")
        fixed, pattern = _split(pattern)
        base = self._workspace.resolve(os.path.join(root, fixed))
        found = await self._matching(base, pattern) if base.is_dir() else []
        newest = await asyncio.to_thread(_newest_first, base, found)  # asks the disk once per file
        return self._result(base, newest, arguments.text("pattern"))

    async def _matching(self, base: Path, pattern: str) -> list[str]:
        matcher = _Matcher(pattern)
        rg = ripgrep()
        await run_search(self._workspace, ripgrep_listing(rg) if rg else own_listing(), base, matcher.take)
        return matcher.found

    def _result(self, base: Path, found: list[str], pattern: str) -> ToolResult:
        rows = CappedRows()
        for path in found:
            if not rows.add(printable(self._workspace, base / path)):
                break
        details = {"path": str(base), "files": len(found), "truncated": rows.truncated}
        hint = "" if "/" in pattern else f"; **/{pattern} looks in every directory"
        return text_result(rows.text() or f"no file matches {pattern}{hint}\n", details=details)


class _Matcher:
    """Picks the matching paths out of a listing as it comes in pieces."""

    def __init__(self, pattern: str) -> None:
        self.found: list[str] = []
        self._regex = re.compile(regex_of(pattern), re.DOTALL)
        self._rest = b""

    def take(self, chunk: bytes) -> bool:
        *paths, self._rest = (self._rest + chunk).split(b"\0")
        names = (os.fsdecode(path).removeprefix("./") for path in paths)
        self.found += [name for name in names if self._regex.fullmatch(name)]
        return len(self.found) < _MOST_FILES


def _split(pattern: str) -> tuple[str, str]:
    """The directories a pattern names outright, where the search may begin, and the rest of it."""
    fixed: list[str] = []
    *parts, last = pattern.split("/")
    while parts and not has_magic(parts[0]) and "\\" not in parts[0]:
        fixed.append(parts.pop(0))
    if pattern.startswith("/"):
        fixed[0] = "/"
    return os.path.join("", *fixed), "/".join([*parts, last])


def _newest_first(base: Path, paths: list[str]) -> list[str]:
    def key(path: str) -> tuple[int, str]:
        try:
            return -os.stat(os.path.join(base, path)).st_mtime_ns, path
        except OSError:
            return 0, path

    return sorted(paths, key=key)
