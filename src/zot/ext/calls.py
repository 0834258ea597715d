"""Open calls: of the host to this extension's tools, and of this extension to the host (``call_tool``)."""

from __future__ import annotations

from itertools import count

from zot.ext import frames

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event
    from typing import Any

    from zot.ext.record import Record

CALL_TOOL_LIMIT = 60.0


class ToolContext:
    """One call of a tool: its origin, whether it was cancelled, and a way to call other tools."""

    def __init__(self, call: frames.ToolCall, host: HostCalls) -> None:
        from threading import Event  # threads are imported by the first request, not at start

        self.id = call.id
        self.name = call.name
        self.operation_key = call.operation_key
        self._given_up = Event()
        self._host = host

    @property
    def cancelled(self) -> bool:
        """True if the host cancelled the call and ignores its result."""
        return self._given_up.is_set()

    def wait_cancelled(self, seconds: float) -> bool:
        """Sleep this long or until the call is cancelled; True if it was."""
        return self._given_up.wait(seconds)

    def cancel(self) -> None:
        self._given_up.set()
        self._host.give_up(self.id)

    def call_tool(self, name: str, args: Mapping[str, Any], timeout: float = CALL_TOOL_LIMIT) -> frames.HostToolResult:
        """Ask the host to run a tool as part of this call."""
        return self._host.call(name, args, parent=self, timeout=timeout)


class HostCalls:
    """Pending ``call_tool`` requests."""

    def __init__(self, send: Callable[[Record], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._open: dict[str, _Waiting] = {}
        self.offered = False
        self.reader = 0  # the thread that reads the wire must not wait for its own input

    def call(
        self, name: str, args: Mapping[str, Any], *, parent: ToolContext | None, timeout: float
    ) -> frames.HostToolResult:
        from threading import get_ident

        if not self.offered:
            raise RuntimeError("this host does not offer call_tool")
        if get_ident() == self.reader:
            raise RuntimeError("call_tool cannot be used in an event or panel handler: it would wait for itself")
        parent_id = parent.id if parent else ""
        id = f"call-{next(self._numbers)}"
        waiting = self._open[id] = _Waiting(parent_id)
        self._send(frames.CallTool(id=id, name=name, args=dict(args), parent_id=parent_id))
        arrived = waiting.done.wait(timeout)
        self._open.pop(id, None)
        if waiting.result is not None:
            return waiting.result
        if arrived and waiting.lost:
            raise ConnectionError("the host is gone")
        self._send(frames.CallToolCancel(id=id))
        raise TimeoutError("call_tool: " + ("the call was cancelled" if arrived else f"no result in {timeout:g} s"))

    def answer(self, result: frames.HostToolResult) -> None:
        waiting = self._open.pop(result.id, None)
        if waiting:
            waiting.result = result
            waiting.done.set()

    def give_up(self, parent_id: str) -> None:
        for waiting in list(self._open.values()):
            if waiting.parent_id == parent_id:
                waiting.done.set()

    def lose_all(self) -> None:
        for waiting in list(self._open.values()):
            waiting.lost = True
            waiting.done.set()


class _Waiting:
    def __init__(self, parent_id: str) -> None:
        from threading import Event

        self.parent_id = parent_id
        self.done: Event = Event()
        self.result: frames.HostToolResult | None = None
        self.lost = False
