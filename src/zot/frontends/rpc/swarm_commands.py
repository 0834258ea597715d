"""The swarm over RPC: a service executes each command; responses may come out of order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from zot.agent.conversation import Conversation
from zot.agent.feature import Feature
from zot.frontends.prompt_queue import PromptQueue
from zot.frontends.rpc.writer import PendingResponse, Writer, respond_later
from zot.swarm.service import SwarmService
from zot.swarm.worker_config import conversation_config
from zot.system.background_tasks import BackgroundTasks
from zot.wire import swarm_frames as wire


class StartedWorkers(Feature):
    """Counts what workers of this client cost towards the limit of the run."""

    name = "started_workers"

    def __init__(self, conversation: Conversation, service: SwarmService) -> None:
        super().__init__(conversation)
        self._service = service

    def spent(self) -> float:
        return self._service.spent


class SwarmCommands:
    def __init__(
        self, conversation: Conversation, writer: Writer, queue: PromptQueue, tasks: asyncio.TaskGroup
    ) -> None:
        self._queue = queue
        self._tasks = tasks
        self._listening = BackgroundTasks()
        self._service = service = SwarmService(
            lambda: conversation_config(conversation), self._listen, writer.send_event, restricted=True
        )
        conversation.features.add(StartedWorkers(conversation, service))
        self._handlers: dict[type, Callable[[Any], Coroutine[Any, Any, Any]]] = {
            wire.SwarmStart: self._start,
            wire.SwarmResume: self._resume,
            wire.SwarmBudget: service.budget,
            wire.SwarmList: self._list,
            wire.SwarmGet: lambda command: service.get(command.worker),
            wire.SwarmSend: lambda command: service.send(command.worker, command.text, command.images),
            wire.SwarmStop: self._stop,
            wire.SwarmApprove: service.approve,
            wire.SwarmDiff: self._diff,
            wire.SwarmMerge: service.merge,
            wire.SwarmRemove: self._remove,
            wire.SwarmSubscribe: lambda command: service.subscribe(command.worker, past=command.past, off=command.off),
        }

    def do(self, command: wire.SwarmCommand, reply: PendingResponse) -> None:
        """Input may end meanwhile; the response is still sent."""
        self._queue.announce()
        task = self._tasks.create_task(respond_later(self._handlers[type(command)](command), reply))
        task.add_done_callback(lambda _: self._queue.withdraw())

    def close(self) -> None:
        """Unsubscribe the client."""
        self._listening.cancel()

    def _listen(self, work: Coroutine[Any, Any, None]) -> None:
        self._listening.add(self._tasks.create_task(work))

    async def _start(self, command: wire.SwarmStart) -> wire.SwarmStarted:
        return wire.SwarmStarted(worker=await self._service.start(command))

    async def _resume(self, command: wire.SwarmResume) -> wire.SwarmStarted:
        return wire.SwarmStarted(worker=await self._service.resume(command.worker))

    async def _list(self, command: wire.SwarmList) -> wire.SwarmWorkers:
        rows = await self._service.list(all=command.all, session=command.session, swarm=command.swarm)
        return wire.SwarmWorkers(workers=rows)

    async def _stop(self, command: wire.SwarmStop) -> wire.SwarmWorkers:
        return wire.SwarmWorkers(workers=await self._service.stop(command.worker, all=command.all))

    async def _diff(self, command: wire.SwarmDiff) -> wire.SwarmDiffData:
        return wire.SwarmDiffData(diff=await self._service.diff(command.worker))

    async def _remove(self, command: wire.SwarmRemove) -> Any:
        left = await self._service.remove(command.worker, force=command.force)
        return wire.SwarmRemoved(left=left) if left else msgspec.UNSET
