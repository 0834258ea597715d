"""Swarm access for the terminal, RPC, SDK and model tools: connects on first use and reconnects.

Only starting or continuing a worker starts a supervisor.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import ZotError
from zot.swarm import client
from zot.swarm.client import Event, SupervisorClient
from zot.swarm.event_log import last_answer
from zot.swarm.inbox import Inbox
from zot.swarm.worker_config import prepare_worker, with_key_of
from zot.swarm.worker_records import WorkerRecord
from zot.swarm.worker_store import WorkerStore, worker_info
from zot.system.files import zot_home
from zot.wire import swarm_frames as frames
from zot.wire.rpc_frames import Command, Image
from zot.wire.swarm_frames import SwarmStart, SwarmWorker, WorkerInfo

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.swarm.git.worktrees import Diffstat

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class SwarmService:
    """``starter`` returns the starting run's configuration; ``heard`` receives events; ``spawn`` starts a task."""

    def __init__(self, starter: Callable[[], RunConfig], spawn: Spawn, heard: Callable[[Event], None]) -> None:
        self._starter = starter
        self._spawn = spawn
        self._heard = heard
        self._swarm: SupervisorClient | None = None
        self._opening = asyncio.Lock()
        self._all = False  # subscribed to changes of all workers
        self._ones: set[str] = set()
        self._closed = False

    @property
    def home(self) -> Path:
        return self._starter().home or zot_home()

    @property
    def is_connected(self) -> bool:
        """Whether a supervisor is connected."""
        return self._swarm is not None and not self._swarm.is_closed

    # --- starting and stopping

    async def start(self, command: SwarmStart) -> WorkerInfo:
        """Starts a worker, recorded when this returns. NotLoggedIn without a credential."""
        order, credential = prepare_worker(self._starter(), command)
        return await (await self._joined()).start(order, credential)

    async def resume(self, worker: str) -> WorkerInfo:
        """Continues its session without repeating the task."""
        from zot.swarm.worker_config import resolve_worker_credential

        by = self._starter()
        config = with_key_of(by, self.named(worker).spec.config)
        return await (await self._joined()).resume(
            worker, resolve_worker_credential(config, by.home, by.environ).credential
        )

    async def budget(self, command: frames.SwarmBudget) -> None:
        await (await self._joined()).request(command)

    async def stop(self, worker: str = "", *, all: bool = False) -> tuple[WorkerInfo, ...]:
        swarm = await self._joined_if_alive()
        if swarm is not None:
            return await swarm.stop(worker, all=all)
        if not all:
            found = self.named(worker)
            raise ZotError(f"{found.name} is not running: it is {found.status}")
        return ()

    # --- messages

    async def send(self, worker: str, text: str, images: tuple[Image, ...] = ()) -> None:
        """Stores a message; ZotError with the advice to resume if the worker has ended."""
        swarm = await self._joined_if_alive()
        if swarm is None:
            found = self.named(worker)
            raise ZotError(f"{found.name} is {found.status}: resume it first")
        await swarm.send(worker, text, images)

    async def approve(self, command: frames.SwarmApprove) -> None:
        await (await self._joined()).request(command)

    async def subscribe(self, worker: str = "", *, past: bool = False, off: bool = False) -> None:
        """Sends this worker's events to ``heard``, or changes of all workers; with ``past`` also earlier ones."""
        id = self.named(worker).id if worker else ""
        if not id:
            self._all = not off
        elif off:
            self._ones.discard(id)
        else:
            self._ones.add(id)
        swarm = self._swarm if off else await self._joined_if_alive()
        if swarm is not None:
            await swarm.subscribe(id, past=past, off=off)
            await swarm.caught_up()

    # --- inspecting

    async def list(self, *, all: bool = False, session: str = "", swarm: str = "") -> tuple[WorkerInfo, ...]:
        """Active workers, or all, oldest first."""
        joined = await self._joined_if_alive()
        if joined is not None:
            return await joined.list(all=all, session=session, swarm=swarm)
        rows = [worker_info(worker) for worker in WorkerStore(self.home).all()] if all else []
        return tuple(row for row in rows if session in ("", row.session) and swarm in ("", row.swarm))

    async def get(self, worker: str) -> SwarmWorker:
        """A worker with its last answer and changes."""
        swarm = await self._joined_if_alive()
        found = recorded(self.home, self.named(worker).id) if swarm is None else await swarm.get(worker)
        tree = self.named(found.worker.id).tree
        if tree is None:
            return found
        from zot.swarm.git.worktrees import diffstat

        stat = await diffstat(tree)
        return msgspec.structs.replace(found, files=stat.files, added=stat.added, removed=stat.removed)

    async def diffstat(self, id: str) -> Diffstat | None:
        """A worker's changes so far; None without a worktree."""
        from zot.swarm.git.worktrees import diffstat

        tree = WorkerStore(self.home).of(id).load().tree
        return await diffstat(tree) if tree is not None and os.path.isdir(tree.path) else None

    async def wait(self, worker: str) -> WorkerInfo:
        """Waits until it is idle or has ended, also across a killed supervisor."""
        while (swarm := await self._waiting_room()) is not None:
            async with swarm:
                try:
                    return await swarm.wait(worker)
                except ZotError:
                    if not swarm.is_closed:
                        raise
        return recorded(self.home, self.named(worker).id).worker

    def named(self, typed: str) -> WorkerRecord:
        """The worker's record; NotThere if there is none."""
        return client.load_worker(self.home, typed)

    # --- merging and removing

    async def diff(self, worker: str) -> str:
        from zot.swarm.git import worktrees

        found = self.named(worker)
        if found.tree is None:
            raise ZotError(f"{found.name} has no worktree; its changes are in {found.spec.cwd}")
        return (await worktrees.diff(found.tree)).decode(errors="replace")

    async def merge(self, command: frames.SwarmMerge) -> frames.SwarmMerged:
        from zot.swarm import worker_operations
        from zot.swarm.git.merge import TIMEOUT_S, CommandCheck
        from zot.swarm.git.worktrees import left_behind

        worker = await worker_operations.get_worker(self.home, command.worker)
        if command.how == "patch":
            path = Path(self._starter().cwd) / f"{worker.name}.patch"
            written = await worker_operations.write_patch(worker, path)
            left = await left_behind(worker.tree) if worker.tree is not None else ()
            return frames.SwarmMerged(into="", patch=str(path) if written else "", left=left)
        check = CommandCheck(command.check, TIMEOUT_S) if command.check else None
        report = await worker_operations.merge_workers(
            self.home, [worker], how=command.how, into=command.into, check=check
        )
        row = report.rows[0]
        if row.outcome in ("merged", "nothing", "conflict"):
            conflicts = tuple(conflict.path for conflict in row.conflicts)
            mending = await self.repair(worker.id, command.into) if conflicts and command.repair else ()
            return frames.SwarmMerged(
                into=report.into, files=report.files, conflicts=conflicts, said=row.said, left=row.left, mending=mending
            )
        if row.outcome == "uncommitted":
            raise ZotError(f"you have uncommitted changes in {', '.join(row.files)}; commit or stash them first")
        what = "the check failed on the merged files" if row.outcome == "check failed" else "cannot be merged"
        raise ZotError(f"{worker.name}: {what}: {row.said}")

    async def repair(self, worker: str, into: str = "") -> tuple[str, ...]:
        """Returns a conflict to its worker, resumed if needed; the files to repair."""
        from zot.swarm import worker_operations

        found = await worker_operations.get_worker(self.home, worker)
        return await worker_operations.repair(self.home, found, into, with_key_of(self._starter(), found.spec.config))

    async def remove(self, worker: str, *, force: bool = False) -> tuple[str, ...]:
        """Removes a worker; returns a line for each thing that could not be removed."""
        from zot.swarm import worker_operations

        return await worker_operations.remove_worker(
            self.home, await worker_operations.get_worker(self.home, worker), force=force
        )

    # --- the connection

    async def request(self, command: Command) -> Any:
        return await (await self._joined()).request(command)

    async def aclose(self) -> None:
        """Workers continue."""
        self._closed = True
        if self._swarm is not None:
            await self._swarm.aclose()
            self._swarm = None

    async def _joined_if_alive(self) -> SupervisorClient | None:
        return await self._joined() if client.supervisor_running(self.home) else None

    async def _joined(self) -> SupervisorClient:
        async with self._opening:
            if self._swarm is None or self._swarm.is_closed:
                self._swarm = await client.connect(self.home)
                if self._all:
                    await self._swarm.subscribe()
                for id in self._ones:
                    await self._swarm.subscribe(id)
                self._spawn(self._listen(self._swarm))
            return self._swarm

    async def _waiting_room(self) -> SupervisorClient | None:
        """A separate connection, because events have one reader."""
        return await client.connect(self.home) if client.supervisor_running(self.home) else None

    async def _listen(self, swarm: SupervisorClient) -> None:
        async for event in swarm.events():
            self._heard(event)
        if not self._closed and (self._all or self._ones):
            await self._joined_if_alive()  # its active workers continue under the next one


def recorded(home: Path, id: str) -> SwarmWorker:
    """A worker from its record, without a supervisor."""
    place = WorkerStore(home).of(id)
    worker = place.load()
    answer = last_answer(place.events) or worker.answer
    return SwarmWorker(worker=worker_info(worker), answer=answer, waiting=Inbox(place.inbox).waiting)
