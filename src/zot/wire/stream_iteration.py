"""Ends a stream when the loop that reads it is left, even if the stream itself is still referenced.
Python signals that only by releasing a generator; so each loop gets its own iterator without other references.
Shared by ``zot.sdk`` and ``zot.client``, with and without ``async``."""

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
    """The iterator of one ``async for``."""

    def __init__(self, stream: Stream[T]) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        return await self._stream.__anext__()

    def __del__(self) -> None:
        self._stream.left()


class SyncIteration(Generic[T]):
    """The same for a plain ``for``: every loop is a separate generator. ``begin`` creates the items of one loop."""

    def __init__(self, begin: Callable[[], Iterator[T]]) -> None:
        self._begin = begin
        self._direct: Iterator[T] | None = None

    def __iter__(self) -> Iterator[T]:
        return self._begin()

    def __next__(self) -> T:
        self._direct = self._direct or self._begin()
        return next(self._direct)
