"""The life of something asynchronous in a program that is not: opened in a thread of its own, used and closed there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from zot.errors import RuntimeClosed
from zot.system.loop_thread import LoopThread

T = TypeVar("T")


class Opened(Protocol):
    async def __aenter__(self) -> object: ...

    async def close(self) -> None: ...


class WaitingFace:
    """What a synchronous face of ``inner`` inherits; ``name`` is what it is called where it is used after its end."""

    def __init__(self, inner: Opened, name: str) -> None:
        self._inner = inner
        self._name = name
        self._loop: LoopThread | None = None

    def __enter__(self) -> Self:
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
        """Stop what runs and let go of everything; harmless the second time."""
        loop, self._loop = self._loop, None
        if loop is not None:
            try:
                loop.call(self._inner.close())
            finally:
                loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns or raises."""
        if self._loop is None:
            work.close()
            raise self._closed()
        return self._loop.call(work)

    def _each(self, stream: AsyncIterator[T]) -> Iterator[T]:
        """The items of a stream; leaving early closes it."""
        if self._loop is None:
            raise self._closed()
        return self._loop.iterate(stream)

    def _closed(self) -> RuntimeClosed:
        return RuntimeClosed(f"{self._name} is closed")
