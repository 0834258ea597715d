"""Many agents from your program: each worker is a zot in its own process; all share one budget.

>>> async def main():
...     async with Swarm(model="claude-haiku-5-5", max_cost=2.0) as swarm:
...         workers = [await swarm.start(f"write a test for {name}") for name in ("a.py", "b.py")]
...         for worker in workers:
...             result = await worker.result()
...             if result.status == "done":
...                 await worker.merge(check="make test")

Leaving the block stops running workers, unless ``keep`` is set; their changes stay.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
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
    """The keyword arguments of ``Swarm.start``; defaults are those of the swarm."""

    name: str  # default: made from the task
    cwd: str | os.PathLike[str]
    mode: Literal["worktree", "shared"]  # default: worktree in a repository, else shared
    write: bool  # a shared worker may change files
    include_dirty: bool  # the worktree starts with your uncommitted changes
    provider: str
    model: str
    reasoning: str
    tools: list[str]  # only these; [] for none
    jail: bool  # workers in a worktree are always jailed
    extensions: bool  # installed ones; default: on
    max_steps: int
    max_cost: float
    timeout_s: float  # default: one hour
    once: bool  # exit after its first task
    restarts: int  # restarts if its process ends
    key: str  # for you: its item


class SwarmResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker's task ended: ``done`` (``idle`` if it accepts more), else ``reason`` says why not."""

    status: str
    text: str
    reason: str
    cost_usd: float
    worker: WorkerInfo

    @property
    def ok(self) -> bool:
        return self.status in ("done", "idle")


class SwarmAgent:
    """A worker of a Swarm, created by ``Swarm.start``."""

    def __init__(self, service: SwarmService, info: WorkerInfo) -> None:
        self._service = service
        self._info = info
        self._readers: list[asyncio.Queue[Event | None]] = []

    @property
    def id(self) -> str:
        return self._info.id

    @property
    def info(self) -> WorkerInfo:
        """Its last known state."""
        return self._info

    async def look(self) -> SwarmWorker:
        """Its current state, last message and number of changes."""
        return await self._service.get(self.id)

    async def result(self) -> SwarmResult:
        """Wait until it has finished its task, or has ended."""
        info = await self._service.wait(self.id)
        text = (await self._service.get(self.id)).answer
        return SwarmResult(status=info.status, text=text, reason=info.reason, cost_usd=info.usage.cost_usd, worker=info)

    async def events(self) -> AsyncIterator[Event]:
        """Its events from the first one, until it is idle."""
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
        """Queue another prompt; it is stored on disk when this returns."""
        await self._service.send(self.id, text)

    async def stop(self) -> None:
        """Stop it and all its processes; safe to call twice."""
        if self._info.status in (*_AT_WORK, "idle"):
            try:
                await self._service.stop(self.id)
            except ZotError:
                if self._service.named(self.id).status in _AT_WORK:
                    raise

    async def resume(self) -> None:
        """Continue it from its session after its process ended."""
        self._info = await self._service.resume(self.id)

    async def diff(self) -> str:
        """Its changes in its worktree."""
        return await self._service.diff(self.id)

    async def merge(
        self, how: Literal["squash", "no-ff"] = "squash", *, into: str = "", check: str = "", repair: bool = False
    ) -> SwarmMerged:
        """Merge its changes into the repository, if ``check`` succeeds with the merged files.
        If the result has ``conflicts``, nothing was changed; with ``repair`` the worker then resolves them in its
        own tree."""
        order = SwarmMerge(worker=self.id, how=how, into=into, check=check, repair=repair)
        return await self._service.merge(order)

    async def remove(self, *, force: bool = False) -> None:
        """Delete its record, tree and branch; unmerged changes only with ``force``."""
        await self._service.remove(self.id, force=force)

    def heard(self, event: SwarmEvent | SwarmUpdate) -> None:
        """Called by the swarm."""
        if isinstance(event, SwarmUpdate):
            self._info = event.worker
            if event.status not in _AT_WORK:
                self._send(None)
            return
        try:
            self._send(msgspec.convert(event.event, KnownEvent))
        except msgspec.ValidationError:
            self._send(Unknown(str(event.event.get("type", "")), event.event))

    def _send(self, event: Event | None) -> None:
        for reader in self._readers:
            reader.put_nowait(event)


class Swarm:
    """``async with Swarm(model=…, max_cost=…) as swarm: worker = await swarm.start("…")``

    ``max_cost``, ``max_steps``, ``max_agents`` and ``timeout_s`` apply to all its workers together. With ``keep``
    they continue after the block; ``zot swarm list`` shows them. ``script`` has the answers of a scripted model, as a
    file or its content: for tests, without a key or network."""

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
        script: str | os.PathLike[str] | Mapping[str, Any] = "",
    ) -> None:
        self._provider, self._model, self._key = provider, model, api_key
        self._script = script if isinstance(script, Mapping) else os.fspath(script)
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
        """The workers of this swarm, oldest first."""
        return tuple(self._agents.values())

    async def __aenter__(self) -> Self:
        from zot.agent.config import RunConfig
        from zot.swarm.service import SwarmService
        from zot.system.files import zot_home

        home = Path(self._home) if self._home else zot_home()
        cwd = os.path.abspath(self._cwd)
        starter = RunConfig(
            home=home,
            cwd=cwd,
            provider=self._provider or ("script" if self._script else ""),
            model=self._model,
            api_key=self._key,
            script=self._script,
        )
        self._service = SwarmService(lambda: starter, self._tasks.start, self._on_event)
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
        """Start a worker with this task; it is recorded when this returns, and runs when a slot is free."""
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

    def _on_event(self, event: SwarmEvent | SwarmUpdate) -> None:
        if (agent := self._agents.get(event.id)) is not None:
            agent.heard(event)
