"""A workspace in an empty directory, and one way to call a tool."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

import pytest

from zot.agent.tools.workspace import Workspace
from zot.core.tool import Tool, ToolContext, ToolResult
from zot.provider.messages import TextBlock, ToolCallBlock


class Run(Protocol):
    """Calls a tool with the keywords as its arguments."""

    def __call__(
        self, tool: Tool, progress: Callable[[str], object] = ..., **args: Any
    ) -> Coroutine[Any, Any, ToolResult]: ...


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def run() -> Run:
    async def call(tool: Tool, progress: Callable[[str], object] = lambda text: None, **args: Any) -> ToolResult:
        def told(text: str) -> None:
            progress(text)

        return await tool.execute(args, ToolContext(ToolCallBlock("call_1", tool.name), told))

    return call


def text_of(result: ToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextBlock)
    return block.text
