"""Swarm access for the terminal, RPC, SDK and model tools: connects on first use and reconnects.

Only starting or continuing a worker starts a supervisor.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import UsageError, ZotError
from zot.swarm import client
from zot.swarm.client import Event, SupervisorClient
from zot.swarm.event_log import last_answer
from zot.swarm.inbox import Inbox
from zot.swarm.worker_config import check_control, check_merge, prepare_worker, with_key_of
from zot.swarm.worker_records import WorkerRecord
from zot.swarm.worker_store import WorkerStore, worker_info
from zot.system.files import zot_home
from zot.wire import swarm_frames as frames
from zot.wire.rpc_frames import Command, Image
from zot.wire.swarm_frames import SwarmStart, SwarmWorker, WorkerInfo

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.swarm.git.worktrees import Diffstat

_FLAG = "start zot with --all-workers to control every worker of this home"

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class SwarmService:
    """``starter`` returns the starting run's configuration; ``on_event`` receives events; ``spawn`` starts a task.
    ``restricted``: for a program that may control only workers that this run started, and none that may do more than
    the run; it may still list all."""

    def __init__(
        self,
        starter: Callable[[], RunConfig],
        spawn: Spawn,
        on_event: Callable[[Event], None],
        *,
        restricted: bool = False,
    ) -> None:
        self._starter = starter
        self._restricted = restricted
        self._started: set[str] = set()
        self._own_budgets: set[str] = set()
        self._spawn = spawn
        self._on_event = on_event
        self._id = os.urandom(6).hex()
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
        """A worker, recorded when this returns; NotLoggedIn where it could only fail."""
        starter = self._starter()
        order, credential = prepare_worker(starter, await self._with_budget(starter, command))
        info = await (await self._joined()).start(order, credential)
        self._started.add(info.id)
        return info

    async def _with_budget(self, starter: RunConfig, command: SwarmStart) -> SwarmStart:
        """Workers of a run with a cost limit share what is left of it."""
        if not starter.max_cost:
            self._check_budget(command.swarm)
            return command
        name = f"chat-{starter.session or self._id}"
        if command.swarm not in ("", name):
            raise UsageError(f"cannot use the budget {command.swarm}: this run has a cost limit, which workers share")
        await (await self._joined()).request(frames.SwarmBudget(swarm=name, max_cost=starter.max_cost))
        return msgspec.structs.replace(command, swarm=name)

    @property
    def spent(self) -> float:
        """In USD, by the workers this run started."""
        store = WorkerStore(self.home)
        spent = 0.0
        for id in self._started:
            with suppress(ZotError, OSError):  # removed meanwhile
                spent += store.of(id).load().usage.cost_usd
        return spent

    async def resume(self, worker: str) -> WorkerInfo:
        """Continues its session without repeating the task."""
        from zot.swarm.worker_config import resume_credential

        by = self._starter()
        found = self.controlled(worker)
        config = with_key_of(by, found.spec.config)
        return await (await self._joined()).resume(found.id, resume_credential(config, by.home, by.environ))

    async def budget(self, command: frames.SwarmBudget) -> None:
        if self._starter().max_cost:
            raise UsageError("cannot make a budget: this run has a cost limit, which its workers share (--max-cost)")
        self._check_budget(command.swarm)
        await (await self._joined()).request(command)
        self._own_budgets.add(command.swarm)

    def _check_budget(self, name: str) -> None:
        """A program changes and uses only the budgets it made."""
        if not name or name in self._own_budgets or self._reaches_all:
            return
        if any(worker.spec.swarm == name for worker in WorkerStore(self.home).all()):
            raise UsageError(f"cannot use the budget {name}: this run did not make it ({_FLAG})")

    async def stop(self, worker: str = "", *, all: bool = False) -> tuple[WorkerInfo, ...]:
        found = None if all else self.reached(worker)
        swarm = await self._joined_if_alive()
        if swarm is not None:
            if found is not None or self._reaches_all:
                return await swarm.stop(found.id if found is not None else "", all=all)
            own = [row.id for row in await swarm.list() if self._is_own(self.named(row.id))]
            return tuple([info for id in own for info in await swarm.stop(id)])
        if found is not None:
            raise ZotError(f"{found.name} is not running: {found.status}")
        return ()

    # --- messages

    async def send(self, worker: str, text: str, images: tuple[Image, ...] = ()) -> None:
        """On disk when this returns; ZotError, with the advice to resume, for one that runs no more."""
        found = self.controlled(worker)
        swarm = await self._joined_if_alive()
        if swarm is None:
            raise ZotError(f"{found.name} is {found.status}: resume it first")
        await swarm.send(found.id, text, images)

    async def approve(self, command: frames.SwarmApprove) -> None:
        found = self.controlled(command.worker)
        await (await self._joined()).request(msgspec.structs.replace(command, worker=found.id))

    async def subscribe(self, worker: str = "", *, past: bool = False, off: bool = False) -> None:
        """Sends this worker's events to ``on_event``, or changes of all workers; with ``past`` also earlier ones."""
        id = self.reached(worker).id if worker else ""
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
        """A worker with all it last said and what it changed."""
        id = self.reached(worker).id
        swarm = await self._joined_if_alive()
        found = recorded(self.home, id) if swarm is None else await swarm.get(id)
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
        while (swarm := await self._connect_separately()) is not None:
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

    def reached(self, typed: str) -> WorkerRecord:
        """The record of a worker that this run may read and stop; UsageError if it is another run's."""
        found = self.named(typed)
        if not self._reaches_all and not self._is_own(found):
            raise UsageError(f"cannot reach {found.name}: this run did not start it ({_FLAG})")
        return found

    def controlled(self, typed: str) -> WorkerRecord:
        """The record of a worker that this run may direct; UsageError if that worker may do more than the run."""
        found = self.reached(typed)
        if self._restricted:
            check_control(self._starter(), found)
        return found

    @property
    def _reaches_all(self) -> bool:
        config = self._starter()
        return not self._restricted or config.all_workers

    def _is_own(self, worker: WorkerRecord) -> bool:
        return worker.id in self._started or worker.spec.session == (self._starter().session or None)

    # --- what became of its work

    async def diff(self, worker: str) -> str:
        from zot.swarm.git import worktrees

        found = self.reached(worker)
        if found.tree is None:
            raise ZotError(f"{found.name} has no worktree; its changes are in {found.spec.cwd}")
        return (await worktrees.diff(found.tree)).decode(errors="replace")

    async def merge(self, command: frames.SwarmMerge) -> frames.SwarmMerged:
        from zot.swarm import worker_operations
        from zot.swarm.git.merge import TIMEOUT_S, CommandCheck
        from zot.swarm.git.worktrees import left_behind

        worker = await worker_operations.get_worker(self.home, self.reached(command.worker).id)
        if self._restricted:
            check_merge(self._starter(), worker, command.check)
        if command.how == "patch":
            path = Path(self._starter().cwd) / f"{worker.name}.patch"
            written = await worker_operations.write_patch(worker, path)
            left = await left_behind(worker.tree) if worker.tree is not None else ()
            return frames.SwarmMerged(into="", patch=str(path) if written else "", left=left)
        check = CommandCheck(command.check, TIMEOUT_S, self.home) if command.check else None
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

        found = await worker_operations.get_worker(self.home, self.controlled(worker).id)
        return await worker_operations.repair(self.home, found, into, with_key_of(self._starter(), found.spec.config))

    async def remove(self, worker: str, *, force: bool = False) -> tuple[str, ...]:
        """Removes a worker; returns a line for each thing that could not be removed."""
        from zot.swarm import worker_operations

        return await worker_operations.remove_worker(
            self.home, await worker_operations.get_worker(self.home, self.reached(worker).id), force=force
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

    async def _connect_separately(self) -> SupervisorClient | None:
        """A separate connection, because events have one reader."""
        return await client.connect(self.home) if client.supervisor_running(self.home) else None

    async def _listen(self, swarm: SupervisorClient) -> None:
        async for event in swarm.events():
            self._on_event(event)
        if not self._closed and (self._all or self._ones):
            await self._joined_if_alive()  # its active workers continue under the next one


def recorded(home: Path, id: str) -> SwarmWorker:
    """A worker from its record, without a supervisor."""
    place = WorkerStore(home).of(id)
    worker = place.load()
    answer = last_answer(place.events) or worker.answer
    return SwarmWorker(worker=worker_info(worker), answer=answer, waiting=Inbox(place.inbox).waiting)
