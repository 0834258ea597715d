"""A stream ends when the loop that reads it is left, even while somebody still holds the stream itself.

Python tells a generator that its loop was left only by letting go of it; so each loop gets an iterator of its own that
nobody else holds. Shared by ``zot.sdk`` and ``zot.client``, with and without ``async``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Stream(Protocol[T_co]):
    """``left`` may be called from any thread, at any time, also after the end."""

    def __anext__(self) -> Awaitable[T_co]: ...

    def left(self) -> None: ...


class SingleIteration(Generic[T]):
    """What one ``async for`` holds of a stream."""

    def __init__(self, stream: Stream[T]) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        return await self._stream.__anext__()

    def __del__(self) -> None:
        self._stream.left()


class SyncIteration(Generic[T]):
    """The same for a plain ``for``: every loop is a generator of its own. ``begin`` makes the items of one loop."""

    def __init__(self, begin: Callable[[], Iterator[T]]) -> None:
        self._begin = begin
        self._direct: Iterator[T] | None = None

    def __iter__(self) -> Iterator[T]:
        return self._begin()

    def __next__(self) -> T:
        self._direct = self._direct or self._begin()
        return next(self._direct)
