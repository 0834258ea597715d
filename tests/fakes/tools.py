"""A tool that records its calls and runs the test's function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from zot.core.tool import ToolContext, ToolResult, text_result

Behaviour = Callable[[dict[str, Any], ToolContext], Awaitable[ToolResult]]


class FakeTool:
    """Answers ``<name> ok`` unless given a behaviour; ``ran`` holds the arguments of every execution."""

    def __init__(self, name: str = "bash", behaviour: Behaviour | None = None, *, read_only: bool = False) -> None:
        self._name = name
        self._behaviour = behaviour
        self._read_only = read_only
        self.ran: list[dict[str, Any]] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def description(self) -> str:
        return f"the {self._name} tool"

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    @property
    def read_only(self) -> bool:
        return self._read_only

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        self.ran.append(args)
        if self._behaviour is not None:
            return await self._behaviour(args, context)
        return text_result(f"{self._name} ok")
