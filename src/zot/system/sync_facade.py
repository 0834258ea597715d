"""Runs asynchronous objects in the event loop of their own thread, for synchronous programs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from zot.errors import RuntimeClosed

T = TypeVar("T")


class AsyncCloseable(Protocol):
    async def __aenter__(self) -> object: ...

    async def close(self) -> None: ...


class SyncFacade:
    """Base of a synchronous facade of ``inner``; errors about its end call it ``name``."""

    def __init__(self, inner: AsyncCloseable, name: str) -> None:
        self._inner = inner
        self._name = name
        self._loop: LoopThread | None = None

    def __enter__(self) -> Self:
        return self.open()

    def open(self) -> Self:
        """Open it, as ``with`` does; ``close`` is the counterpart."""
        loop = LoopThread(f"zot {self._name}")
        try:
            loop.call(self._inner.__aenter__())
        except BaseException:
            loop.close()
            raise
        self._loop = loop
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop everything and release it; safe to call twice."""
        loop, self._loop = self._loop, None
        if loop is not None:
            try:
                loop.call(self._inner.close())
            finally:
                loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise RuntimeClosed(f"{self._name} is closed")
        return self._loop.call(work)

    def _each(self, stream: AsyncIterator[T]) -> Iterator[T]:
        return self._running().iterate(stream)

    def _running(self) -> LoopThread:
        if self._loop is None:
            raise RuntimeClosed(f"{self._name} is closed")
        return self._loop


class LoopThread:
    """An event loop in a daemon thread, from construction to ``close``."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result; it is cancelled if the wait is interrupted."""
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, stream: AsyncIterator[T]) -> Iterator[T]:
        """The items of an asynchronous stream; leaving early closes the stream."""
        try:
            while True:
                try:
                    yield self.call(_next(stream))
                except StopAsyncIteration:
                    return
        finally:
            with suppress(RuntimeError):  # closed meanwhile
                self.call(_close(stream))

    def close(self) -> None:
        """Safe to call twice."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()


async def _next(stream: AsyncIterator[T]) -> T:
    return await anext(stream)


async def _close(stream: AsyncIterator[Any]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
