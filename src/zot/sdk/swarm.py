"""Many agents from your program: each worker is a zot of its own, in a process of its own, under one budget.

>>> async def main():
...     async with Swarm(model="claude-haiku-4-5", max_cost=2.0) as swarm:
...         workers = [await swarm.start(f"write a test for {name}") for name in ("a.py", "b.py")]
...         for worker in workers:
...             result = await worker.result()
...             if result.status == "done":
...                 await worker.merge(check="make test")

Leaving the block stops the workers that are still at work, unless ``keep`` is set; what they did stays.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import msgspec

from zot.errors import RuntimeClosed, ZotError
from zot.system.background_tasks import BackgroundTasks
from zot.wire.rpc_frames import Event, KnownEvent, Unknown
from zot.wire.swarm_frames import (
    SwarmBudget,
    SwarmEvent,
    SwarmMerge,
    SwarmMerged,
    SwarmStart,
    SwarmUpdate,
    SwarmWorker,
    WorkerInfo,
)

if TYPE_CHECKING:
    from zot.swarm.service import SwarmService

_AT_WORK = ("queued", "running", "waiting")


class WorkerOptions(TypedDict, total=False):
    """The keyword arguments of ``Swarm.start``; what is left out is as the swarm has it."""

    name: str  # made from the task when left out
    cwd: str | os.PathLike[str]
    mode: Literal["worktree", "shared"]  # worktree in a repository, else shared
    write: bool  # a shared worker may change files
    include_dirty: bool  # the worktree begins with what is uncommitted
    provider: str
    model: str
    reasoning: str
    tools: list[str]  # only these; [] is none at all
    jail: bool  # also without a worktree, whose workers always are in it
    extensions: bool  # those that are installed; on unless said otherwise
    max_steps: int
    max_cost: float
    timeout_s: float  # an hour when left out
    once: bool  # it ends with its first task instead of waiting for more
    restarts: int  # how often it is continued by itself when its process is gone
    key: str  # for you: what it works on


class SwarmResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker's task ended: ``done`` (or ``idle``, when it waits for more), else why not in ``reason``."""

    status: str
    text: str
    reason: str
    cost_usd: float
    worker: WorkerInfo

    @property
    def ok(self) -> bool:
        return self.status in ("done", "idle")


class SwarmAgent:
    """A worker of a Swarm; ``Swarm.start`` makes it."""

    def __init__(self, service: SwarmService, info: WorkerInfo) -> None:
        self._service = service
        self._info = info
        self._readers: list[asyncio.Queue[Event | None]] = []

    @property
    def id(self) -> str:
        return self._info.id

    @property
    def info(self) -> WorkerInfo:
        """As it was last heard of."""
        return self._info

    async def look(self) -> SwarmWorker:
        """It, all it last said, and how much it changed, at this moment."""
        return await self._service.get(self.id)

    async def result(self) -> SwarmResult:
        """Wait until it has done what it was told, or has ended."""
        info = await self._service.wait(self.id)
        text = (await self._service.get(self.id)).answer
        return SwarmResult(status=info.status, text=text, reason=info.reason, cost_usd=info.usage.cost_usd, worker=info)

    async def events(self) -> AsyncIterator[Event]:
        """What it says, from its first event, until it has nothing to do any more."""
        reader: asyncio.Queue[Event | None] = asyncio.Queue()
        self._readers.append(reader)
        try:
            await self._service.subscribe(self.id, past=True)
            if self._info.status not in _AT_WORK:
                reader.put_nowait(None)
            while (event := await reader.get()) is not None:
                yield event
        finally:
            self._readers.remove(reader)

    async def send(self, text: str) -> None:
        """A further prompt, taken when its turn comes; it is on disk when this returns."""
        await self._service.send(self.id, text)

    async def stop(self) -> None:
        """It and all it started are gone when this returns; harmless when they are already."""
        if self._info.status in (*_AT_WORK, "idle"):
            try:
                await self._service.stop(self.id)
            except ZotError:
                if self._service.named(self.id).status in _AT_WORK:
                    raise

    async def resume(self) -> None:
        """Continue it, from its session, when its process is gone."""
        self._info = await self._service.resume(self.id)

    async def diff(self) -> str:
        """What it changed in its worktree."""
        return await self._service.diff(self.id)

    async def merge(
        self, how: Literal["squash", "no-ff"] = "squash", *, into: str = "", check: str = "", repair: bool = False
    ) -> SwarmMerged:
        """Bring its changes into the repository, if ``check`` succeeds with the merged files. With ``conflicts`` in
        what is returned, nothing was changed; with ``repair`` it is then told to mend them in its own tree."""
        order = SwarmMerge(worker=self.id, how=how, into=into, check=check, repair=repair)
        return await self._service.merge(order)

    async def remove(self, *, force: bool = False) -> None:
        """Delete its record, tree and branch; with changes that are not merged only with ``force``."""
        await self._service.remove(self.id, force=force)

    def heard(self, event: SwarmEvent | SwarmUpdate) -> None:
        """Called by the swarm."""
        if isinstance(event, SwarmUpdate):
            self._info = event.worker
            if event.status not in _AT_WORK:
                self._tell(None)
            return
        try:
            self._tell(msgspec.convert(event.event, KnownEvent))
        except msgspec.ValidationError:
            self._tell(Unknown(str(event.event.get("type", "")), event.event))

    def _tell(self, event: Event | None) -> None:
        for reader in self._readers:
            reader.put_nowait(event)


class Swarm:
    """``async with Swarm(model=…, max_cost=…) as swarm: worker = await swarm.start("…")``

    ``max_cost``, ``max_steps``, ``max_agents`` and ``timeout_s`` hold for all its workers together. With ``keep`` they
    go on when the block is left; ``zot swarm list`` shows them."""

    def __init__(
        self,
        *,
        provider: str = "",
        model: str = "",
        api_key: str = "",
        cwd: str | os.PathLike[str] = "",
        home: str | os.PathLike[str] = "",
        max_cost: float = 0.0,
        max_steps: int = 0,
        max_agents: int = 0,
        timeout_s: float = 0.0,
        keep: bool = False,
    ) -> None:
        self._provider, self._model, self._key = provider, model, api_key
        self._cwd, self._home = os.fspath(cwd) or os.getcwd(), os.fspath(home)
        self._limits = SwarmBudget(
            swarm=f"sdk-{os.urandom(6).hex()}",
            max_cost=max_cost,
            max_steps=max_steps,
            max_agents=max_agents,
            timeout_s=timeout_s,
        )
        self._keep = keep
        self._agents: dict[str, SwarmAgent] = {}
        self._tasks = BackgroundTasks()
        self._service: SwarmService | None = None

    @property
    def agents(self) -> tuple[SwarmAgent, ...]:
        """Those this swarm started, oldest first."""
        return tuple(self._agents.values())

    async def __aenter__(self) -> Self:
        from zot.agent.config import RunConfig
        from zot.swarm.service import SwarmService
        from zot.system.files import zot_home

        home = Path(self._home) if self._home else zot_home()
        cwd = os.path.abspath(self._cwd)
        starter = RunConfig(home=home, cwd=cwd, provider=self._provider, model=self._model, api_key=self._key)
        self._service = SwarmService(lambda: starter, self._tasks.start, self._heard)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        service, self._service = self._opened(), None
        try:
            if not self._keep:
                for agent in self._agents.values():
                    await agent.stop()
        finally:
            await service.aclose()
            self._tasks.cancel()

    async def start(self, task: str, **options: Unpack[WorkerOptions]) -> SwarmAgent:
        """Give a task to a new worker; it is recorded when this returns, and runs when there is room for it."""
        service = self._opened()
        if not self._agents:
            await service.subscribe()
            await service.budget(self._limits)
        given: dict[str, Any] = dict(options)
        for name, convert in (("cwd", os.fspath), ("tools", tuple)):
            if name in given:
                given[name] = convert(given[name])
        info = await service.start(SwarmStart(task=task, swarm=self._limits.swarm, **given))
        agent = self._agents[info.id] = SwarmAgent(service, info)
        return agent

    def _opened(self) -> SwarmService:
        if self._service is None:
            raise RuntimeClosed("the swarm is closed; use `async with Swarm(…) as swarm:`")
        return self._service

    def _heard(self, event: SwarmEvent | SwarmUpdate) -> None:
        if (agent := self._agents.get(event.id)) is not None:
            agent.heard(event)
