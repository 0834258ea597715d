"""Open calls of this extension to tools of zot (``call_tool`` of the first edition)."""

from __future__ import annotations

from itertools import count

from zot.ext import frames

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event
    from typing import Any

    from zot.ext.record import Record


class HostCalls:
    """Pending ``call_tool`` requests. ``waits`` is called before a thread waits for a result."""

    def __init__(self, send: Callable[[Record], None], waits: Callable[[], None]) -> None:
        self._send = send
        self._waits = waits
        self._numbers = count(1)
        self._open: dict[str, _Waiting] = {}
        self._lost = False
        self.offered = False

    def call(self, name: str, args: Mapping[str, Any], *, parent_id: str, timeout: float) -> frames.HostToolResult:
        if not self.offered:
            raise RuntimeError("this host does not offer call_tool")
        if self._lost:
            raise ConnectionError("the host is gone")
        id = f"call-{next(self._numbers)}"
        waiting = self._open[id] = _Waiting(parent_id)
        self._send(frames.CallTool(id=id, name=name, args=dict(args), parent_id=parent_id))
        self._waits()
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
        self._lost = True
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
