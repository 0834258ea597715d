"""``zot mcp test``: one server started, greeted, asked what it has, and stopped; every step is said."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from zot.agent.settings import Settings
from zot.agent.tools.workspace import Workspace
from zot.cli.output import show, tell
from zot.features.mcp.config import Entry
from zot.features.mcp.host import McpHost
from zot.features.mcp.list_cache import forget
from zot.features.mcp.protocol import McpError
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.provider.providers import credential_variables


def host_for(home: Path, cwd: Path, entry: Entry) -> McpHost:
    """A host of this one server, outside any run."""
    values = Settings(home).values
    credentials = credential_variables(Catalog(home).providers().values())
    workspace = Workspace(cwd, credentials=credentials, passthrough=values.env_passthrough)
    return McpHost(
        {entry.name: entry},
        home=home,
        workspace=workspace,
        store=AuthStore(home, keyring=values.credential_store == "keyring"),
        proxy=values.http_proxy,
        tell=lambda text: tell(f"zot: {text}"),
    )


async def trial(home: Path, cwd: Path, entry: Entry) -> int:
    """The exit code: 0 when it answered."""
    forget(home, entry)  # what it says now counts
    host = host_for(home, cwd, entry)
    server = host.running(entry.name)
    began = time.monotonic()
    tell(f"starting {entry.shown(values=False)}")
    try:
        tools = await server.tools()
    except McpError as error:
        tell(f"failed: {server.error or error}")
        if server.log.exists():
            tell(f"its log: {server.log}")
        return 1
    finally:
        await asyncio.shield(host.stop())
    listed = server.listed
    if listed is None:
        tell(f"failed: {server.error or 'it did not say what it has'}")
        return 1
    for name in server.missing:
        tell(f"not set: {name}")
    show(f"{entry.name}: {listed.about or 'unnamed'}, MCP {listed.version}, {time.monotonic() - began:.2f} s")
    for tool in tools:
        show(f"  {tool.name}: {' '.join(tool.description.split())[:100]}")
    return 0
