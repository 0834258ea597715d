"""Background tasks of the screen."""

from __future__ import annotations

import asyncio
import warnings

from zot.frontends.terminal.screen.ui_services import Tasks


async def test_task_cancelled_before_its_first_step_warns_nothing() -> None:
    """A warning of Python would be printed into the screen."""
    began: list[bool] = []

    async def work() -> None:
        began.append(True)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = Tasks(print, print).start(work())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        del task
    assert not began
