"""One run of the agent and its cancellation.
A subscriber that raises is removed and aborts the run; its exception is raised by the call that started the run.
``abort`` cancels the task; a cancellation from elsewhere is recognised by counting and propagates."""

from __future__ import annotations

import asyncio
import contextlib

from zot.core.event_bus import EventBus


class Run:
    """Created inside the task that does the work; ``emit`` is the hot path of streaming."""

    def __init__(self, readers: EventBus) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an agent runs inside an asyncio task")
        self._task = task
        self._cancels_before = task.cancelling()
        self._aborted = False
        self.failure: Exception | None = None
        self.emit = readers.emit
        readers.reset_failed()
        readers.on_failure = self._reader_failed

    def _reader_failed(self, error: Exception) -> None:
        self.failure = self.failure or error
        self.abort()

    def abort(self) -> None:
        """Abort the run; does nothing when it is already ending."""
        if not self.cancelled:
            self._aborted = True
            self._task.cancel()

    @property
    def cancelled(self) -> bool:
        """True after an abort, even if a tool swallowed the cancellation."""
        return self._task.cancelling() > self._cancels_before

    async def checkpoint(self) -> None:
        """Let a pending cancellation in; called before each model call and each tool."""
        await asyncio.sleep(0)
        if self.cancelled:
            raise asyncio.CancelledError

    async def close(self) -> None:
        """Undo our own cancel, delivered or not; raises if the task was also cancelled from outside."""
        if self._aborted:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)  # an unnoticed abort must not cancel the caller's next await
            self._task.uncancel()
        if self.cancelled:
            raise asyncio.CancelledError
