"""``call_tool``: an extension asks the host to run a tool, through the same interceptors and gate as the model's calls.

A call made from inside a tool names its parent and ends with it; a chain of calls has at most four tools, none of them
twice. While a tool of an extension runs, its calls without a parent are refused: their chain could not be known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import msgspec

from zot.core.tool import ToolResult, text_result
from zot.errors import ToolError
from zot.features.extensions.child import ExtensionChild
from zot.features.extensions.tools import wire_blocks
from zot.system.background_tasks import BackgroundTasks
from zot.wire import extension_frames, limits

RunTool = Callable[[str, dict[str, Any], str], Awaitable[ToolResult]]

MOST_CALLS = 64  # of one extension at a time

_chain: ContextVar[tuple[str, ...]] = ContextVar("tools above this call", default=())


class _Open(msgspec.Struct):
    """A tool call that a child is working on, and the calls it asked for meanwhile."""

    chain: tuple[str, ...]
    nested: set[tuple[str, str]] = msgspec.field(default_factory=lambda: set[tuple[str, str]]())


class NestedCalls:
    """``run_tool`` is set once there is an agent."""

    def __init__(self, tasks: BackgroundTasks) -> None:
        self.run_tool: RunTool | None = None
        self._tasks = tasks
        self._open: dict[tuple[str, str], _Open] = {}
        self._running: dict[tuple[str, str], asyncio.Task[Any]] = {}

    @contextmanager
    def within(self, child: ExtensionChild, id: str, tool: str) -> Generator[None]:
        """A tool call goes to ``child``; whatever it asked for meanwhile ends with it."""
        key = (child.name, id)
        self._open[key] = _Open((*_chain.get(), tool))
        try:
            yield
        finally:
            for nested in self._open.pop(key).nested:
                self._cancel(nested)

    def requested(self, child: ExtensionChild, frame: extension_frames.CallTool) -> None:
        key = (child.name, frame.id)
        if not frame.id or key in self._running:
            child.fault("bad call_tool", f"sent call_tool with {'an empty' if not frame.id else 'a repeated'} id")
            return
        try:
            if sum(name == child.name for name, _ in self._running) >= MOST_CALLS:
                raise ToolError(f"call_tool: {MOST_CALLS} calls of this extension are running already")
            chain = self._allowed_chain(child, frame)
            if not isinstance(frame.args, dict | None):
                raise ToolError("call_tool: args must be an object")
            args = cast("dict[str, Any]", frame.args or {})
        except ToolError as error:
            self._reply(child, frame, text_result(str(error), is_error=True))
            return
        task = self._running[key] = self._tasks.start(self._run(child, frame, args, chain))
        task.add_done_callback(lambda _: self._running.pop(key, None))
        if frame.parent_id:
            self._open[child.name, frame.parent_id].nested.add(key)

    def cancelled(self, child: ExtensionChild, id: str) -> None:
        self._cancel((child.name, id))

    def child_ended(self, child: ExtensionChild) -> None:
        for key in [key for key in self._running if key[0] == child.name]:
            self._cancel(key)

    def _cancel(self, key: tuple[str, str]) -> None:
        if task := self._running.get(key):
            task.cancel()

    def _allowed_chain(self, child: ExtensionChild, frame: extension_frames.CallTool) -> tuple[str, ...]:
        """The tools above the requested one; ToolError when it may not be called there."""
        if not frame.parent_id:
            if any(name == child.name for name, _ in self._open):
                raise ToolError("call_tool without parent_id while a tool of this extension runs")
            return ()
        parent = self._open.get((child.name, frame.parent_id))
        if parent is None:
            raise ToolError(f"call_tool: no tool call {frame.parent_id} of this extension is running")
        if frame.name in parent.chain:
            raise ToolError(f"call_tool: {frame.name} is already running in this chain of tools")
        if len(parent.chain) >= limits.CALL_TOOL_CHAIN:
            raise ToolError(f"call_tool: more than {limits.CALL_TOOL_CHAIN} tools in a chain")
        return parent.chain

    async def _run(
        self, child: ExtensionChild, frame: extension_frames.CallTool, args: dict[str, Any], chain: tuple[str, ...]
    ) -> None:
        _chain.set(chain)  # of this task alone
        if self.run_tool is None:
            result = text_result("call_tool: there is no agent to run a tool", is_error=True)
        else:
            try:
                async with asyncio.timeout(limits.CALL_TOOL_REPLY):
                    result = await self.run_tool(frame.name, args, child.name)
            except TimeoutError:
                result = text_result(f"call_tool: no result within {limits.CALL_TOOL_REPLY:g} s", is_error=True)
        self._reply(child, frame, result)

    def _reply(self, child: ExtensionChild, frame: extension_frames.CallTool, result: ToolResult) -> None:
        content, truncated = wire_blocks(result.content, limits.CALL_TOOL_RESULT)
        child.send(
            extension_frames.HostToolResult(
                id=frame.id, name=frame.name, content=content, is_error=result.is_error, truncated=truncated
            )
        )
