"""Fixtures: a host of real MCP servers in this process, with its own home; servers end with the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mcp_server import command
from zot.agent.tools.workspace import Workspace
from zot.core.tool import Tool, ToolContext, ToolResult
from zot.features.mcp.config import parse_server
from zot.features.mcp.host import McpHost
from zot.provider.messages import TextBlock, ToolCallBlock


class Stage:
    """``hosts`` created here share a home and its caches."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"
        self.project = tmp_path / "project"
        self.project.mkdir()
        self.told: list[str] = []
        self.progress: list[str] = []
        self.hosts: list[McpHost] = []

    def host(self, entries: dict[str, dict[str, Any]] | None = None, **options: Any) -> McpHost:
        made = {name: parse_server(name, fields) for name, fields in (entries or {"fake": command()}).items()}
        host = McpHost(made, home=self.home, workspace=Workspace(self.project), notify=self.told.append, **options)
        self.hosts.append(host)
        return host

    async def find(self, host: McpHost, query: str, **more: str) -> str:
        return text(await self.call(host, "mcp_search", query=query, **more))

    async def call(self, host: McpHost, name: str, **args: Any) -> ToolResult:
        [tool] = [each for each in host.tools() if each.name == name]
        return await self.run(tool, **args)

    async def run(self, tool: Tool, **args: Any) -> ToolResult:
        block = ToolCallBlock("1", tool.name, args)
        return await tool.execute(args, ToolContext(block, self.progress.append))


def text(result: ToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextBlock))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    made = Stage(tmp_path)
    yield made
    for host in made.hosts:
        await host.stop()


Fake = Callable[..., dict[str, Any]]
