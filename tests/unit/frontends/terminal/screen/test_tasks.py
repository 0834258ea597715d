"""Background tasks of the screen."""

from __future__ import annotations

import asyncio
import inspect

from zot.frontends.terminal.screen.ui_services import Tasks


async def test_task_cancelled_before_its_first_step_is_closed() -> None:
    """Else Python prints "was never awaited" into the screen."""

    async def work() -> None: ...

    coroutine = work()
    task = Tasks(print, print).start(coroutine)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED
