"""The supervisor: one per ``$ZOT_HOME``; starts and queues workers and answers clients.

Only it writes worker records while it runs. Keys stay in memory. After a kill the next one continues or marks as lost
the workers it finds.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from math import inf
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from zot.errors import UsageError, ZotError
from zot.swarm.engines.engine import Engine, WorkerKey
from zot.swarm.engines.local import LocalEngine, kill_orphans
from zot.swarm.event_log import EventLog, last_answer, last_line, recorded
from zot.swarm.inbox import Inbox
from zot.swarm.supervisor.budget import BudgetLimits, RemainingBudget, SharedBudget
from zot.swarm.supervisor.scheduler import Scheduler
from zot.swarm.supervisor.worker import WorkerController
from zot.swarm.worker_records import (
    LIVE,
    AnyCommand,
    RecordMerge,
    SetCredential,
    StartWorker,
    SupervisorConfig,
    WorkerRecord,
    WorkerSpec,
    WorktreeRecord,
)
from zot.swarm.worker_store import MAKING, WorkerDir, WorkerStore, check_name, find_worker, unique_name, worker_info
from zot.system.processes import reap_orphans
from zot.system.temp_files import remove_tree
from zot.wire import rpc_frames, swarm_frames

UPDATE_S = 0.1  # seconds between updates without a status change
SAVE_S = 2.0
ALLOW_S = 0.5
LINGER_S = 1.0  # seconds after the last worker and client

_encode = msgspec.json.Encoder().encode


class ConnectedClient(Protocol):
    """A client. ``updates``: receives changes of all workers; ``subscribed``: events of these."""

    updates: bool
    subscribed: set[str]
    lent: dict[str, WorkerKey]
    environment: dict[str, str]

    def send(self, line: bytes) -> None: ...
    def send_event(self, wrapped: bytes, line: bytes) -> None: ...


@runtime_checkable
class DetachedEngine(Protocol):
    """An engine whose workers may outlive this process."""

    async def allow(self, left: dict[str, RemainingBudget]) -> None: ...


class Supervisor:
    def __init__(self, task: SupervisorConfig, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._lent = {name: WorkerKey(provider=name, value=value) for name, value in task.lent.items()}
        self._loop = asyncio.get_running_loop()
        self._places = WorkerStore(Path(task.home))
        self._controllers: dict[str, WorkerController] = {}
        self._scheduler = Scheduler(task.most)
        self._clients: set[ConnectedClient] = set()
        self._engines: dict[str, Engine] = {}
        self._unsaved: dict[str, WorkerController] = {}
        self._untold: dict[str, WorkerController] = {}
        self._saving = self._telling = self._looking = self._admitting = self._allowing = False
        self._budget_timer: asyncio.TimerHandle | None = None
        self._starts = 0
        self._names: set[str] = set()  # of workers being created
        self.patience_s, self.idle_s = task.patience_s, task.idle_s
        of_workers = {worker.spec.swarm for worker in self._places.all()}
        self.budget = SharedBudget(self._places.root / "budgets.jsonl", self._loop.time(), of_workers.__contains__)
        for budget in self.budget.budgets():
            self._scheduler.most_of[budget.swarm] = budget.max_agents
        self.unneeded = asyncio.Event()
        self._doers: dict[type, Callable[[ConnectedClient, Any], Any]] = {
            SetCredential: self._lend,
            RecordMerge: self._note,
            StartWorker: self._start,
            swarm_frames.SwarmStart: self._refuse_start,
            swarm_frames.SwarmResume: self._resume,
            swarm_frames.SwarmList: self._list,
            swarm_frames.SwarmGet: self._get,
            swarm_frames.SwarmSend: self._send,
            swarm_frames.SwarmStop: self._stop,
            swarm_frames.SwarmApprove: self._approve,
            swarm_frames.SwarmSubscribe: self._subscribe,
            swarm_frames.SwarmBudget: self._open_budget,
            swarm_frames.SwarmDiff: self._refuse_git,
            swarm_frames.SwarmMerge: self._refuse_git,
            swarm_frames.SwarmRemove: self._refuse_git,
        }

    # --- start

    async def recover(self) -> None:
        """Takes over a killed supervisor's workers: ends their processes and updates their records."""
        everyone = self._places.all()
        taken = {worker.tree.branch for worker in everyone if worker.tree is not None}
        for place in self._places.unfinished():
            from zot.swarm.git import worktrees  # only after a kill

            with suppress(ZotError, OSError):
                await worktrees.remove_unfinished(place.directory, taken)
                remove_tree(place.directory)
        workers = [worker for worker in everyone if worker.status in LIVE]
        await kill_orphans([worker for worker in workers if worker.spec.engine == "local"])
        for worker in workers:
            self._recover(worker)
        self._note_need()

    def _recover(self, worker: WorkerRecord) -> None:
        place = self._places.of(worker.id)
        try:
            inbox = Inbox(place.inbox)
        except ZotError as error:
            _close_record(place, worker, "lost", str(error))
            return
        credential = self._lent.get(worker.spec.config.provider)
        if worker.spec.engine != "local" and worker.pid:
            controller = self._take(worker, place, credential)
            self._scheduler.readmit(controller.run_request)
            controller.rejoin()
            return
        over = inbox.next is None and not inbox.interrupted
        may_go_on = worker.status == "queued" or 0 < worker.attempt <= worker.spec.restarts
        if over:
            _close_record(place, worker, "done", "")
        elif may_go_on:
            queued = msgspec.structs.replace(worker, status="queued", activity="queued", pid=0, born=0)
            controller = self._take(queued, place, credential)
            self.changed(controller, at_once=True)
            self.request_slot(controller)
        else:
            _close_record(place, worker, "lost", "the supervisor was killed, and its workers with it")

    def _take(self, worker: WorkerRecord, place: WorkerDir, credential: WorkerKey | None = None) -> WorkerController:
        controller = self._controllers[worker.id] = WorkerController(worker, place, self, credential)
        self._schedule_look()
        return controller

    # --- WorkerOwner

    def engine(self, name: str) -> Engine:
        if name not in self._engines:
            if name == "local":
                self._engines[name] = LocalEngine()
            else:
                from zot.swarm.engines.ray.engine import RayEngine, address_of  # rarely needed

                self._engines[name] = RayEngine(address_of(name))
        return self._engines[name]

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._group.create_task(_guarded(work))

    def changed(self, controller: WorkerController, *, at_once: bool) -> None:
        self._unsaved[controller.id] = self._untold[controller.id] = controller
        if at_once:
            self._save()
            self._notify()
            return
        if not self._saving:
            self._saving = True
            self._loop.call_later(SAVE_S, self._save)
        if not self._telling:
            self._telling = True
            self._loop.call_later(UPDATE_S, self._notify)

    def _save(self) -> None:
        self._saving = False
        unsaved, self._unsaved = self._unsaved, {}
        for id, controller in unsaved.items():
            try:
                controller.place.save(controller.worker)
            except OSError:
                if controller.place.directory.is_dir():  # a full disk: retried with the next change
                    self._unsaved[id] = controller
        if self._unsaved and not self._saving:
            self._saving = True
            self._loop.call_later(SAVE_S, self._save)
        elif unsaved and not self._unsaved:
            self._note_need()  # it may have waited for space to save a record

    def _notify(self) -> None:
        self._telling = False
        untold, self._untold = self._untold, {}
        if not any(client.updates for client in self._clients):
            return
        for controller in untold.values():
            info = worker_info(controller.worker)
            line = _encode(swarm_frames.SwarmUpdate(id=info.id, status=info.status, worker=info))
            for client in self._clients:
                if client.updates:
                    client.send(line)

    def on_worker_line(self, controller: WorkerController, line: bytes) -> None:
        listening = [client for client in self._clients if controller.id in client.subscribed]
        if listening:
            wrapped = _wrapped(controller.id, line)
            for client in listening:
                client.send_event(wrapped, line)

    def request_slot(self, controller: WorkerController) -> None:
        self._scheduler.enqueue(controller.run_request)
        self._admit_soon()

    def release_slot(self, controller: WorkerController) -> None:
        self._scheduler.remove(controller.id)
        self._admit_soon()

    def ended(self, controller: WorkerController) -> None:
        self._controllers.pop(controller.id, None)
        self.release_slot(controller)
        self.schedule_budget_check()
        self._note_need()

    def _admit_soon(self) -> None:
        if not self._admitting:
            self._admitting = True
            self._loop.call_soon(self._admit)

    def _admit(self) -> None:
        self._admitting = False
        for id in self._scheduler.next_runnable():
            if (controller := self._controllers.get(id)) is not None:
                controller.start()
            else:
                self._scheduler.remove(id)

    # --- timers

    def _schedule_look(self) -> None:
        if not self._looking and self._controllers:
            self._looking = True
            self._loop.call_later(self.patience_s / 4, self._look)

    def _look(self) -> None:
        self._looking = False
        for controller in list(self._controllers.values()):
            controller.check_alive()
        reap_orphans()
        self._schedule_look()

    def schedule_budget_check(self) -> None:
        """A waiting call may be granted when a pause ends."""
        now = self._loop.time()
        self.budget.grant_waiting(now)
        if self._budget_timer is not None:
            self._budget_timer.cancel()
        wait = self.budget.next_look(now)
        self._budget_timer = None if wait is None else self._loop.call_later(wait + 0.001, self.schedule_budget_check)
        if not self._allowing and any(isinstance(engine, DetachedEngine) for engine in self._engines.values()):
            self._allowing = True
            self._loop.call_later(ALLOW_S, self._allow)

    def _allow(self) -> None:
        """Reports remaining budgets to engines whose workers can outlive this process."""
        self._allowing = False
        left = self.budget.left(self._loop.time())
        for engine in self._engines.values():
            if isinstance(engine, DetachedEngine):
                self.begin(engine.allow(left))

    def _note_need(self) -> None:
        self._loop.call_later(LINGER_S, self._look_for_need)

    def _look_for_need(self) -> None:
        if self.is_idle:
            self.unneeded.set()

    @property
    def is_idle(self) -> bool:
        return not (self._controllers or self._clients or self._starts or self._unsaved)

    # --- clients

    def join(self, client: ConnectedClient) -> None:
        self._clients.add(client)

    def leave(self, client: ConnectedClient) -> None:
        self._clients.discard(client)
        self._note_need()

    async def dispatch(self, client: ConnectedClient, command: AnyCommand) -> Any:
        """The data of the answer; ZotError or OSError with the reason of a failure."""
        done = self._doers[type(command)](client, command)
        return await done if asyncio.iscoroutine(done) else done

    def _lend(self, client: ConnectedClient, command: SetCredential) -> None:
        client.lent.pop(command.provider, None)  # do not keep a key that was typed for another address
        if command.value:
            client.lent[command.provider] = WorkerKey(provider=command.provider, value=command.value)
        client.environment = command.environment or client.environment
        if command.most and command.most != self._scheduler.most:
            self._scheduler.most = command.most
            self._admit_soon()

    def _list(self, client: ConnectedClient, command: swarm_frames.SwarmList) -> swarm_frames.SwarmWorkers:
        everyone = self._everyone() if command.all else [controller.worker for controller in self._controllers.values()]
        workers = tuple(
            worker_info(worker)
            for worker in sorted(everyone, key=lambda worker: (worker.created, worker.id))
            if (not command.session or worker.spec.session in ("", command.session))
            and (not command.swarm or worker.spec.swarm == command.swarm)
        )
        return swarm_frames.SwarmWorkers(workers=workers)

    def _send(self, client: ConnectedClient, command: swarm_frames.SwarmSend) -> None:
        self._find_controller(command.worker).accept(command.text, command.images)

    def _approve(self, client: ConnectedClient, command: swarm_frames.SwarmApprove) -> None:
        approval = rpc_frames.Approve(request_id=command.request_id, decision=command.decision, reason=command.reason)
        self._find_controller(command.worker).approve(approval)

    def _refuse_git(self, client: ConnectedClient, command: AnyCommand) -> None:
        raise UsageError("not supported here: merges run in the client, not in the supervisor")

    def _everyone(self) -> list[WorkerRecord]:
        """Active workers from memory, others from disk."""
        living = self._controllers
        return [living[worker.id].worker if worker.id in living else worker for worker in self._places.all()]

    def _find_record(self, typed: str) -> WorkerRecord:
        """NotThere if there is none, or several."""
        if (controller := self._controllers.get(typed)) is not None:
            return controller.worker
        return find_worker(typed, self._everyone())

    def _get(self, client: ConnectedClient, command: swarm_frames.SwarmGet) -> swarm_frames.SwarmWorker:
        worker = self._find_record(command.worker)
        controller, place = self._controllers.get(worker.id), self._places.of(worker.id)
        inbox = controller.inbox if controller is not None else Inbox(place.inbox)
        answer = (controller.answer if controller is not None else "") or last_answer(place.events) or worker.answer
        return swarm_frames.SwarmWorker(worker=worker_info(worker), answer=answer, waiting=inbox.waiting)

    def _find_controller(self, typed: str) -> WorkerController:
        worker = self._find_record(typed)
        controller = self._controllers.get(worker.id)
        if controller is None:
            raise UsageError(f"{worker.name} is {worker.status}; continue it with `zot swarm resume {worker.id}`")
        return controller

    # --- starting and stopping workers

    def _refuse_start(self, client: ConnectedClient, command: AnyCommand) -> None:
        raise UsageError("this zot is older than the supervisor of its workers; start it again")

    async def _start(self, client: ConnectedClient, command: StartWorker) -> swarm_frames.SwarmStarted:
        self._starts += 1
        try:
            return swarm_frames.SwarmStarted(worker=worker_info((await self._started(client, command.spec)).worker))
        finally:
            self._starts -= 1
            self._note_need()

    async def _started(self, client: ConnectedClient, order: WorkerSpec) -> WorkerController:
        taken = {controller.worker.name for controller in self._controllers.values()} | self._names
        if order.name:
            check_name(order.name, taken)
        name = order.name or unique_name(_label(order), taken)
        self._names.add(name)
        try:
            place, tree, notes = self._places.make(order.name or _label(order)), None, ()
            try:
                if order.mode == "worktree":
                    tree, notes = await _tree(order, place, name)
                about: dict[str, Any] = {"tree": tree, "notes": notes, "created": time.time(), "activity": "queued"}
                worker = WorkerRecord(id=place.id, name=name, spec=order, **about)
                Inbox(place.inbox).accept(order.task)
                place.save(worker)  # from here on it has a record
            except BaseException:
                if tree is not None:
                    from zot.swarm.git import worktrees

                    with suppress(ZotError, OSError):
                        await worktrees.remove(tree)
                rmtree(place.directory, ignore_errors=True)
                raise
            with suppress(OSError):
                (place.directory / MAKING).unlink(missing_ok=True)
            controller = self._take(worker, place, client.lent.get(order.config.provider))
            controller.environment = client.environment
            self._untold[controller.id] = controller
            self._notify()
            self.request_slot(controller)
            return controller
        finally:
            self._names.discard(name)

    def _resume(self, client: ConnectedClient, command: swarm_frames.SwarmResume) -> swarm_frames.SwarmStarted:
        worker = self._find_record(command.worker)
        if worker.id in self._controllers:
            raise UsageError(f"{worker.name} is already active: it is {worker.status}")
        taken = {controller.worker.name for controller in self._controllers.values()}
        changes: dict[str, Any] = {"name": unique_name(worker.name, taken)} if worker.name in taken else {}
        changes |= {"status": "queued", "activity": "queued", "reason": "", "ended": 0.0}
        credential = client.lent.get(worker.spec.config.provider)
        controller = self._take(msgspec.structs.replace(worker, **changes), self._places.of(worker.id), credential)
        controller.environment = client.environment
        controller.stays = controller.inbox.next is None and not controller.inbox.interrupted
        self.changed(controller, at_once=True)
        self.request_slot(controller)
        return swarm_frames.SwarmStarted(worker=worker_info(controller.worker))

    async def _stop(self, client: ConnectedClient, command: swarm_frames.SwarmStop) -> swarm_frames.SwarmWorkers:
        controllers = list(self._controllers.values()) if command.all else [self._find_controller(command.worker)]
        async with asyncio.TaskGroup() as group:
            for controller in controllers:
                group.create_task(controller.stop("stopped by the user"))
        return swarm_frames.SwarmWorkers(workers=tuple(worker_info(controller.worker) for controller in controllers))

    def _open_budget(self, client: ConnectedClient, command: swarm_frames.SwarmBudget) -> None:
        if not command.swarm:
            raise UsageError("a budget needs the name of a swarm")
        amounts = (command.max_cost, command.max_steps, command.max_agents, command.timeout_s)
        if not all(0 <= amount < inf for amount in amounts):
            raise UsageError("the limits of a budget cannot be negative; 0 is no limit")
        self.budget.open(
            BudgetLimits(
                swarm=command.swarm,
                max_cost=command.max_cost,
                max_steps=command.max_steps,
                max_agents=command.max_agents,
                timeout_s=command.timeout_s,
            ),
            self._loop.time(),
        )
        self._scheduler.most_of[command.swarm] = command.max_agents
        self._admit_soon()

    def _note(self, client: ConnectedClient, command: RecordMerge) -> None:
        worker = self._find_record(command.worker)
        controller = self._controllers.get(worker.id)
        if controller is not None and (command.forget or worker.status != "idle"):
            raise UsageError(f"{worker.name} is {worker.status}: stop it first")
        if command.merged and controller is not None:
            controller.note_merged(command.merged)
        elif command.merged:
            self._places.of(worker.id).save(msgspec.structs.replace(worker, merged=command.merged))

    def _subscribe(self, client: ConnectedClient, command: swarm_frames.SwarmSubscribe) -> None:
        if not command.worker:
            client.updates = not command.off
            return
        worker = self._find_record(command.worker)
        if command.off:
            client.subscribed.discard(worker.id)
            return
        if command.past:
            for line in recorded(self._places.of(worker.id).events):
                client.send(_wrapped(worker.id, line))
        client.subscribed.add(worker.id)


def _close_record(place: WorkerDir, worker: WorkerRecord, status: Literal["done", "lost"], reason: str) -> None:
    """The record of a worker that ended without a supervisor, or whose supervisor was killed before it saved that."""
    ended = {"type": "agent_stopped", "status": status, "reason": reason, "attempt": worker.attempt}
    log = EventLog(place.events)
    with suppress(OSError):
        if last_line(place.events) != _encode(ended):
            log.append(_encode(ended))
        changes = {"status": status, "reason": reason, "activity": status, "pid": 0, "born": 0}
        place.save(msgspec.structs.replace(worker, **changes, ended=worker.ended or time.time()))
    log.close()


async def _tree(order: WorkerSpec, place: WorkerDir, name: str) -> tuple[WorktreeRecord, tuple[str, ...]]:
    """Creates the worktree; its notes also go to the log."""
    from zot.swarm.git import worktrees  # read-only workers need none

    made = await worktrees.create(Path(order.cwd), place.directory, name, place.id, include_dirty=order.include_dirty)
    log = EventLog(place.events)
    for note in made.notes:
        log.append(_encode({"type": "agent_note", "text": note}))
    log.close()
    return made.tree, made.notes


def _label(order: WorkerSpec) -> str:
    """Source of a default name: the item of a fan-out (its last path part), else the task."""
    item = os.path.basename(order.key.rstrip("/"))
    return item if any(letter.isascii() and letter.isalpha() for letter in item) else order.task


def _wrapped(id: str, line: bytes) -> bytes:
    """Wraps a line in ``swarm_event`` without changing it."""
    return b'{"type":"swarm_event","id":"%b","event":%b}' % (id.encode(), line)


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    """Logs a bug in one worker instead of ending all."""
    try:
        await work
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
