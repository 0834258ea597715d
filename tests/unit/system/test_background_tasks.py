from __future__ import annotations

import asyncio
import gc

from zot.system.background_tasks import BackgroundTasks


async def test_running_task_survives_garbage_collection() -> None:
    tasks, done = BackgroundTasks(), asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.set()

    tasks.start(work())
    gc.collect()
    await asyncio.wait_for(done.wait(), 5)
    await asyncio.sleep(0)
    assert len(tasks) == 0


async def test_aclose_cancels_and_waits() -> None:
    tasks, ended = BackgroundTasks(), list[str]()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append("yes")

    tasks.start(work())
    await asyncio.sleep(0)
    await tasks.aclose()
    assert ended == ["yes"] and list(tasks) == []


async def test_error_reaches_the_owner_and_cancelling_does_not() -> None:
    errors: list[BaseException] = []
    tasks = BackgroundTasks(errors.append)

    async def fail() -> None:
        raise ValueError("broken")

    failed = tasks.start(fail())
    tasks.start(asyncio.sleep(60))
    await asyncio.wait([failed])
    await tasks.aclose()
    assert [str(error) for error in errors] == ["broken"]


async def test_task_of_a_group_can_be_cancelled_with_the_others() -> None:
    tasks = BackgroundTasks()
    async with asyncio.TaskGroup() as group:
        task = tasks.add(group.create_task(asyncio.sleep(60)))
        assert list(tasks) == [task]
        tasks.cancel()
    assert task.cancelled() and len(tasks) == 0
