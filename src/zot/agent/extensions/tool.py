"""A tool that lives in an extension: the call goes over the wire, the answer comes back or its absence is told.

The model always gets a result. An abandoned call is cancelled in the child if it said that it understands that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

from zot.agent.extensions import schema_check
from zot.agent.extensions.child import Child
from zot.agent.extensions.pending import new_id
from zot.agent.extensions.registry import is_deferred
from zot.agent.extensions.tool_results import converted, failed
from zot.core.tool import ToolContext, ToolResult
from zot.errors import ExtensionError, ExtensionTimedOut
from zot.wire import frames

_SLOW_S = 10.0


class ToolHost(Protocol):
    """What a tool needs of the host."""

    tool_timeout_s: float

    @property
    def interactive(self) -> bool: ...

    def owner_of_tool(self, name: str) -> Child | None: ...

    def call_opened(self, child: Child, id: str, tool: str) -> Callable[[], None]:
        """Note a running call, so that the child may ask for tools within it; returns what notes its end."""
        ...

    def activate(self, names: tuple[str, ...]) -> None: ...


class ExtensionTool:
    """Described by the extension that registered it and run by whoever owns the name when it is called."""

    read_only = False

    def __init__(self, child: Child, frame: frames.RegisterTool, host: ToolHost) -> None:
        self.extension = child.name
        self.name = frame.name
        self.description = frame.description
        self.schema: dict[str, Any] = schema_check.completed(frame.schema)
        self.deferred = is_deferred(frame)
        self._interactive = frame.interactive
        self._host = host

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        child = self._host.owner_of_tool(self.name)
        if child is None:
            return self._failed(f"no extension registered for tool {self.name}")
        if self._interactive and not self._host.interactive:
            return self._failed("it waits for a person, and in this mode there is none")
        if wrong := schema_check.misfit(self.schema, args):
            return self._failed(f"the arguments do not fit its schema: {wrong}")
        id = new_id()
        closed = self._host.call_opened(child, id, self.name)
        try:
            return await self._call(child, id, args)
        finally:
            closed()

    async def _call(self, child: Child, id: str, args: dict[str, Any]) -> ToolResult:
        began = time.monotonic()
        child.ask("tool", frames.ToolCall(id=id, name=self.name, args=args), id)
        try:
            seconds = None if self._interactive else self._host.tool_timeout_s
            answer: frames.ToolResult = await child.answer("tool", id, seconds)
        except asyncio.CancelledError:
            self._cancel(child, id)
            raise
        except ExtensionTimedOut as error:
            self._cancel(child, id)
            child.log.write(f"tool {self.name}: {error}")
            return self._failed(f"timeout: {error}", timed_out=True)
        except ExtensionError as error:
            return self._failed(f"the extension {error}")
        finally:
            child.slow_calls += time.monotonic() - began > _SLOW_S
        if answer.activate_tools:
            self._host.activate(answer.activate_tools)
        return converted(child.name, self.name, answer)

    def _cancel(self, child: Child, id: str) -> None:
        if "tool_cancel" in child.capabilities:
            child.send(frames.ToolCancel(id=id))

    def _failed(self, reason: str, *, timed_out: bool = False) -> ToolResult:
        return failed(self.extension, self.name, reason, timed_out=timed_out)
