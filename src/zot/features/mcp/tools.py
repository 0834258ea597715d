"""What the model gets of MCP servers: their tools once they were looked up, and ``mcp_search`` to look them up with.

A tool is called like any other: interceptors, the gate and limits stand before it. What a server says of its own tools
(``readOnlyHint`` and the like) is shown and never believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError

if TYPE_CHECKING:
    from zot.features.mcp.list_cache import Listed, ToolRow
    from zot.features.mcp.server import Server

_LINE = 160
_PROGRESS_S = 0.1
SEARCH = "mcp_search"
RESOURCE = "mcp_resource"


class Host(Protocol):
    """What the tools need of whoever has the servers."""

    timeout_s: float

    def running(self, name: str) -> Server: ...

    def find(self, full_name: str) -> tuple[str, ToolRow] | None: ...

    def rows(self) -> Mapping[str, tuple[str, ToolRow]]: ...

    def lists(self) -> Mapping[str, Listed | None]: ...

    async def list_missing(self, only: str = "") -> dict[str, str]: ...

    def activate(self, names: Iterable[str]) -> None: ...

    def has_resources(self, names: Iterable[str]) -> list[str]: ...


class McpTool:
    """One tool of one server."""

    read_only = False

    def __init__(self, name: str, server: str, row: ToolRow, host: Host, *, pinned: bool) -> None:
        self.name = name
        self.extension = f"mcp:{server}"
        self.deferred = not pinned
        self._server = server
        self.row = row
        self._host = host
        self._schema: dict[str, Any] | None = None

    @property
    def description(self) -> str:
        return self.row.description or self.row.title or f"A tool of the MCP server {self._server}."

    @property
    def schema(self) -> dict[str, Any]:
        if self._schema is None:
            from zot.features.mcp.tool_schemas import usable  # only for tools that are offered

            raw = bytes(self.row.input_schema)
            self._schema = usable(msgspec.json.decode(raw), len(raw))
        return self._schema

    @property
    def hints(self) -> dict[str, Any]:
        """What the server says of it; for people to read."""
        return self.row.annotations

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.mcp.protocol import McpError, NoAnswer
        from zot.features.mcp.tool_results import converted

        details = {"mcp": self._server, "tool": self.row.name}
        try:
            answer = await self._host.running(self._server).request(
                "tools/call",
                {"name": self.row.name, "arguments": args},
                seconds=self._host.timeout_s,
                headers=self._headers(args),
                progress=_throttled(context),
            )
        except NoAnswer as error:
            return text_result(f"mcp: {error}", is_error=True, details={**details, "timed_out": True})
        except McpError as error:
            return text_result(f"mcp: {error}", is_error=True, details=details)
        return converted(self._server, self.row.name, answer)

    def _headers(self, args: dict[str, Any]) -> dict[str, str]:
        """Arguments that the server wants in the head of the message, too."""
        raw = bytes(self.row.input_schema)
        if b"x-mcp-header" not in raw:
            return {}
        from zot.features.mcp.param_headers import param_headers

        return param_headers(msgspec.json.decode(raw), args)


def _throttled(context: ToolContext) -> Any:
    """Progress for the screen, at most ten times a second whatever the server sends."""
    last = [0.0]

    def progress(text: str) -> None:
        if text and time.monotonic() - last[0] >= _PROGRESS_S:
            last[0] = time.monotonic()
            context.progress(f"{text}\n")

    return progress


class SearchTool:
    """The one tool that is always there. Its description is made once: it must not change while a conversation runs."""

    name = SEARCH
    read_only = True
    extension = "mcp"

    def __init__(self, host: Host, description: str, activate: Callable[[Sequence[str]], None] | None = None) -> None:
        self._host = host
        self._activate = activate or host.activate
        self.description = description
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words for what you need, or exact names."},
                "server": {"type": "string", "description": "Only this server."},
            },
            "required": ["query"],
        }

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.mcp.list_cache import clean
        from zot.features.mcp.tool_names import ranked

        query, server = str(args.get("query") or ""), str(args.get("server") or "")
        lists = self._host.lists()
        if server and server not in lists:
            server = next((name for name in lists if clean(name) == server), server)
            if server not in lists:
                raise ToolError(f"there is no MCP server {server!r}; there are {', '.join(lists)}")
        failed = await self._host.list_missing(server)
        rows = {name: row for name, row in self._host.rows().items() if not server or row[0] == server}
        found = ranked(query, rows)
        self._activate(found)
        lines = [_found(name, *rows[name]) for name in found]
        if lines:
            lines.insert(0, "These tools can be called from now on:")
        else:
            lines.append("No tool fits; there are:")
            lines += [f"- {name}" for name in list(rows)[:100]]
        wanted = {rows[name][0] for name in found} | {name for name in (server,) if name}
        if "resource" in query.lower():
            wanted |= set(lists)
        if readable := self._host.has_resources(sorted(wanted)):
            self._activate([*found, RESOURCE])
            lines.append(f"({', '.join(readable)}: mcp_resource lists and reads what there is to read)")
        lines += [f"({name} has no tools to offer now: {reason})" for name, reason in failed.items()]
        return text_result("\n".join(lines), details={"tools": found})


def _found(name: str, server: str, row: ToolRow) -> str:
    hints = [
        word
        for key, word in (("readOnlyHint", "says it only reads"), ("destructiveHint", "may destroy"))
        if row.annotations.get(key) is True
    ]
    return " ".join(
        filter(None, (f"- {name}:", " ".join(row.description.split())[:_LINE], *(f"[{hint}]" for hint in hints)))
    )


def pinned(pins: Sequence[str], rows: Mapping[str, tuple[str, ToolRow]]) -> set[str]:
    """The tools that a setting puts into every request: by server, by full name, or all with ``*``."""
    return {name for name, (server, _) in rows.items() if "*" in pins or server in pins or name in pins}
