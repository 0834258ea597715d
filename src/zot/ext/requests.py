"""Open requests of this extension to zot: each gets one answer, in any order.
In an ``async def`` handler a request is awaited, everywhere else it waits and returns the result."""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import count

from zot.ext import frames
from zot.ext.errors import Cancelled, HostGone, RequestError, error_of

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from queue import SimpleQueue
    from typing import Any

    from zot.ext.record import Record

    Convert = Callable[[Any], Any]
    OnProgress = Callable[[frames.Progress], Any]


class Pending:
    """A request inside ``async def``: await it. It refuses to be used as a value, so that a forgotten ``await``
    cannot pass for a yes."""

    def __init__(self, wait: Callable[[], Generator[Any, None, Any]]) -> None:
        self._wait = wait

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait()

    def __bool__(self) -> bool:
        raise TypeError("await this request before its result is used")


class Requests:
    """``waits`` is called before a thread waits for an answer."""

    def __init__(self, send: Callable[[Record], None], waits: Callable[[], None]) -> None:
        self._send = send
        self._waits = waits
        self._numbers = count(1)
        self._open: dict[str, _Waiting] = {}
        self._lost = False

    def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        parent_id: str = "",
        timeout: float | None = None,
        convert: Convert | None = None,
        failed: Convert | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """The result as ``convert`` makes it, or a ``Pending`` where an event loop runs. ``failed`` makes a result of
        an error, or raises it."""
        given = {key: value for key, value in params.items() if value is not None}
        milliseconds = round(timeout * 1000) if timeout else 0
        frame = frames.Request(id="", method=method, params=given or None, parent_id=parent_id, timeout_ms=milliseconds)
        return self._ask(frame, parent_id, _Outcome(convert, failed), on_progress)

    def contribute(self, frame: frames.Contribute | frames.Withdraw) -> Any:
        """Send the frame with an id, and wait for the answer to it."""
        return self._ask(frame, "", _Outcome(), None)

    def _ask(
        self,
        frame: frames.Request | frames.Contribute | frames.Withdraw,
        parent_id: str,
        outcome: _Outcome,
        on_progress: OnProgress | None,
    ) -> Any:
        if self._lost:
            raise HostGone("zot is gone")
        id = frame.id = f"r{next(self._numbers)}"
        waiting = self._open[id] = _in_loop(parent_id) or _InThread(parent_id)
        waiting.on_progress = on_progress
        if self._lost and self._open.pop(id, None):  # meanwhile
            raise HostGone("zot is gone")
        self._send(frame)
        self._waits()
        if isinstance(waiting, _InLoop):
            return Pending(lambda: self._awaited(id, waiting, outcome).__await__())
        try:
            return outcome.of(waiting.wait())
        finally:
            self._ended(id)

    def answered(self, response: frames.Response) -> None:
        if waiting := self._open.pop(response.id, None):
            waiting.settle(response)

    def progressed(self, progress: frames.Progress) -> None:
        if waiting := self._open.get(progress.id):
            waiting.progressed(progress)

    def give_up(self, parent_id: str) -> None:
        """The question they belong to was cancelled; zot cancels them itself."""
        for id, waiting in list(self._open.items()):
            if waiting.parent_id == parent_id and self._open.pop(id, None) is waiting:
                waiting.settle(Cancelled("the call was cancelled"))

    def lose_all(self) -> None:
        self._lost = True
        while self._open:
            _, waiting = self._open.popitem()
            waiting.settle(HostGone("zot is gone"))

    async def _awaited(self, id: str, waiting: _InLoop, outcome: _Outcome) -> Any:
        try:
            return outcome.of(await waiting.future)
        finally:
            self._ended(id)

    def _ended(self, id: str) -> None:
        """A request without an answer is cancelled."""
        if self._open.pop(id, None) is not None:
            self._send(frames.Cancel(id=id))


class _Outcome:
    """What the caller gets of an answer."""

    def __init__(self, convert: Convert | None = None, failed: Convert | None = None) -> None:
        self._convert = convert
        self._failed = failed

    def of(self, answer: frames.Response | RequestError) -> Any:
        if isinstance(answer, RequestError):
            raise answer
        if answer.error is None:
            return self._convert(answer.result) if self._convert else answer.result
        error = error_of(answer.error.code, answer.error.message, answer.error.data)
        if self._failed:
            return self._failed(error)
        raise error


class _Waiting:
    def __init__(self, parent_id: str) -> None:
        self.parent_id = parent_id
        self.on_progress: OnProgress | None = None

    def settle(self, answer: frames.Response | RequestError) -> None:
        raise NotImplementedError

    def progressed(self, progress: frames.Progress) -> None:
        raise NotImplementedError


class _InThread(_Waiting):
    """A thread waits; progress is handled in it."""

    def __init__(self, parent_id: str) -> None:
        from queue import SimpleQueue

        super().__init__(parent_id)
        self._arrived: SimpleQueue[frames.Response | frames.Progress | RequestError] = SimpleQueue()

    def settle(self, answer: frames.Response | RequestError) -> None:
        self._arrived.put(answer)

    def progressed(self, progress: frames.Progress) -> None:
        if self.on_progress:
            self._arrived.put(progress)

    def wait(self) -> Any:
        while True:
            arrived = self._arrived.get()
            if not isinstance(arrived, frames.Progress):
                return arrived
            if self.on_progress:
                self.on_progress(arrived)


class _InLoop(_Waiting):
    """A coroutine waits; progress is handled in its loop."""

    def __init__(self, parent_id: str, loop: Any) -> None:
        super().__init__(parent_id)
        self._loop = loop
        self.future: Any = loop.create_future()

    def settle(self, answer: frames.Response | RequestError) -> None:
        self._soon(lambda: None if self.future.done() else self.future.set_result(answer))

    def progressed(self, progress: frames.Progress) -> None:
        if self.on_progress:
            self._soon(self.on_progress, progress)

    def _soon(self, action: Callable[..., Any], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: no coroutine waits
            self._loop.call_soon_threadsafe(action, *args)


def _in_loop(parent_id: str) -> _InLoop | None:
    """None outside a running event loop."""
    if "asyncio" not in sys.modules:
        return None
    import asyncio

    try:
        return _InLoop(parent_id, asyncio.get_running_loop())
    except RuntimeError:
        return None
