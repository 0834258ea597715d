"""What servers have to read: ``mcp_resource`` for the model, ``@server:uri`` in a prompt for the person."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.features.mcp.protocol import McpError, fields, list_in, text_of
from zot.features.mcp.tool_results import of_resource, within
from zot.features.mcp.tools import RESOURCE
from zot.provider.messages import ResultBlock, TextBlock

if TYPE_CHECKING:
    from zot.features.mcp.host import McpHost

SECONDS = 60.0
MOST_LISTED = 200
MOST_MENTIONS = 8
_MENTION = re.compile(r"(?<![\w@])@([\w.-]{1,64}):([a-zA-Z][a-zA-Z0-9+.-]{0,40}://\S{1,2000})")


class ResourceTool:
    """Lists what a server has, or reads one of it. It joins once a server that has any was looked up."""

    name = RESOURCE
    description = "List the resources of an MCP server, or read one of them by its uri."
    read_only = True
    deferred = True
    extension = "mcp"

    def __init__(self, host: McpHost) -> None:
        self._host = host
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "server": {"type": "string"},
                "uri": {"type": "string", "description": "Leave it out to list them."},
            },
            "required": ["server"],
        }

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        server, uri = text_of(args.get("server")), text_of(args.get("uri"))
        if server not in self._host.lists():
            raise ToolError(f"there is no MCP server {server!r}; there are {', '.join(self._host.lists())}")
        try:
            if uri:
                return ToolResult(tuple(await read(self._host, server, uri)), False, {"mcp": server, "uri": uri})
            return text_result(await listing(self._host, server), details={"mcp": server})
        except McpError as error:
            return text_result(f"mcp: {error}", is_error=True)


async def listing(host: McpHost, server: str) -> str:
    session = await host.running(server).session()
    if not session.offers("resources"):
        return f"{server} has no resources"
    rows, _ = await session.pages("resources/list", "resources", SECONDS)
    lines = [
        " · ".join(
            filter(None, (text_of(row.get("uri"))[:500], *(text_of(row.get(k))[:200] for k in ("name", "description"))))
        )
        for row in rows[:MOST_LISTED]
    ]
    more = [f"({len(rows) - MOST_LISTED} more)"] if len(rows) > MOST_LISTED else []
    return "\n".join([*lines, *more]) or f"{server} has no resources"


async def read(host: McpHost, server: str, uri: str) -> list[ResultBlock]:
    raw = await host.running(server).request("resources/read", {"uri": uri}, seconds=SECONDS)
    blocks = [block for each in list_in(fields(raw).get("contents")) for block in of_resource(each)]
    return within(blocks) or [TextBlock(f"({uri} is empty)")]


def mentions(host: McpHost, text: str) -> list[tuple[str, str]]:
    """Server and uri of each resource that a prompt names; a server nobody has is an ordinary word."""
    servers = host.lists()
    found = [(match[1], match[2].rstrip(".,;:!?)")) for match in _MENTION.finditer(text)]
    return list(dict.fromkeys(each for each in found if each[0] in servers))[:MOST_MENTIONS]
