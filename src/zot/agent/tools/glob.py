"""The glob tool: files whose paths match a pattern, newest first."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.ignore import regex_of
from zot.agent.tools.registry import GLOB
from zot.agent.tools.search import listing, printable, run_search
from zot.agent.tools.truncate import CappedRows
from zot.agent.tools.workspace import WorkspaceTool
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError

_MOST_FILES = 100_000  # files whose times are read to find the newest


class GlobTool(WorkspaceTool):
    name = "glob"
    spec = GLOB

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        pattern = arguments.filled_text("pattern").removeprefix("./")
        root = self._workspace.resolve(arguments.optional_text("path") or ".")
        self._workspace.check_place(root)
        if not root.is_dir():
            raise ToolError(f"glob: {self._workspace.display_path(root)}: no such directory")
        named: list[str] = []  # literal directories of the pattern: the search begins there
        *parts, last = pattern.split("/")
        while parts and not any(character in parts[0] for character in "*?[{\\"):
            named.append(parts.pop(0))
        if pattern.startswith("/"):
            named[0] = "/"
        fixed, pattern = os.path.join("", *named), "/".join([*parts, last])
        base = self._workspace.resolve(os.path.join(root, fixed))
        self._workspace.check_place(base)
        try:
            matcher = _Matcher(pattern)
        except re.error as error:
            raise ToolError(f"glob: {arguments.text('pattern')}: not a pattern: {error}") from error
        if base.is_dir():
            # In a thread: a slow pattern must not block the loop.
            await run_search(self._workspace, listing(), base, lambda chunk: asyncio.to_thread(matcher.take, chunk))
        rows = CappedRows()
        for path in await asyncio.to_thread(_newest_first, base, matcher.found):  # one stat per file
            if not rows.add(printable(self._workspace, base / path)):
                break
        details = {"path": str(base), "files": len(matcher.found), "truncated": rows.truncated}
        typed = arguments.text("pattern")
        hint = "" if "/" in typed else f"; **/{typed} looks in every directory"
        return text_result(rows.text() or f"no file matches {typed}{hint}\n", details=details)


class _Matcher:
    """Collects matching paths from a listing that arrives in pieces."""

    def __init__(self, pattern: str) -> None:
        self.found: list[str] = []
        self._regex = re.compile(regex_of(pattern), re.DOTALL)
        self._rest = b""

    def take(self, chunk: bytes) -> bool:
        *paths, self._rest = (self._rest + chunk).split(b"\0")
        names = (os.fsdecode(path).removeprefix("./") for path in paths)
        self.found += [name for name in names if self._regex.fullmatch(name)]
        return len(self.found) < _MOST_FILES


def _newest_first(base: Path, paths: list[str]) -> list[str]:
    def key(path: str) -> tuple[int, str]:
        try:
            return -os.stat(os.path.join(base, path)).st_mtime_ns, path
        except OSError:
            return 0, path

    return sorted(paths, key=key)
