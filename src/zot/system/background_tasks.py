"""Background tasks with an owner: referenced while they run, cancelled with the owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundTasks:
    """References tasks until they end, since asyncio does not. ``on_error`` receives errors; without it asyncio
    reports them."""

    def __init__(self, on_error: Callable[[BaseException], None] | None = None) -> None:
        self._on_error = on_error
        self._running: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        """The running tasks, as a copy."""
        return iter(list(self._running))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self.add(asyncio.get_running_loop().create_task(work))

    def add(self, task: asyncio.Task[T]) -> asyncio.Task[T]:
        """Own a task created elsewhere, such as by a task group."""
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        for task in self:
            task.cancel()

    async def aclose(self) -> None:
        running = list(self)
        self.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if self._on_error is not None and not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)
