"""The supervisor: one for each ``$ZOT_HOME`` that starts workers, queues them, and answers whoever asks about them.

It is born with the lock that shows that it lives, and alone writes the records of workers while it does. It asks
nothing of the network, holds keys in memory only, and ends by itself when no worker lives and nobody is connected.
Killed, it takes its workers along: the next one finds their records, continues those that may be continued, and calls
the others lost.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from zot.errors import UsageError, ZotError
from zot.swarm.engines.engine import Credential, Engine
from zot.swarm.engines.local import LocalEngine
from zot.swarm.event_log import EventLog, last_answer, recorded
from zot.swarm.inbox import Inbox
from zot.swarm.info import info_of
from zot.swarm.supervisor.budget import Budget, Left, Purse
from zot.swarm.supervisor.internal_frames import AnyCommand, Lend, Note, StartWorker, Task
from zot.swarm.supervisor.orphans import end_leftovers
from zot.swarm.supervisor.scheduler import Scheduler
from zot.swarm.supervisor.worker import Charge
from zot.swarm.worker_records import LIVE, Order, Tree, Worker
from zot.swarm.worker_store import MAKING, Places, WorkerPlace, check_name, free_name, meant
from zot.system.processes import reap_strays
from zot.system.temp_files import remove_tree
from zot.wire import rpc_frames, swarm_frames

UPDATE_S = 0.1  # between two updates of a worker whose status has not changed
SAVE_S = 2.0
ALLOW_S = 0.5
LINGER_S = 1.0  # after the last worker has ended and the last client has left

_encode = msgspec.json.Encoder().encode


class Client(Protocol):
    """One who asks and listens. ``updates``: to what changes about any worker; ``subscribed``: to all these say."""

    updates: bool
    subscribed: set[str]
    lent: dict[str, Credential]
    environment: dict[str, str]

    def send(self, line: bytes) -> None: ...
    def send_event(self, wrapped: bytes, line: bytes) -> None: ...


@runtime_checkable
class AllowingEngine(Protocol):
    """One whose workers may outlive this process."""

    async def allow(self, left: dict[str, Left]) -> None: ...


class Supervisor:
    def __init__(self, task: Task, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._lent = {name: Credential(provider=name, value=value) for name, value in task.lent.items()}
        self._loop = asyncio.get_running_loop()
        self._places = Places(Path(task.home))
        self._charges: dict[str, Charge] = {}
        self._scheduler = Scheduler(task.most)
        self._clients: set[Client] = set()
        self._engines: dict[str, Engine] = {}
        self._unsaved: dict[str, Charge] = {}
        self._untold: dict[str, Charge] = {}
        self._saving = self._telling = self._looking = self._admitting = self._allowing = False
        self._purse_timer: asyncio.TimerHandle | None = None
        self._starts = 0
        self._names: set[str] = set()  # of those that are being made
        self.patience_s, self.idle_s = task.patience_s, task.idle_s
        of_workers = {worker.order.swarm for worker in self._places.all()}
        self.purse = Purse(self._places.root / "budgets.jsonl", self._loop.time(), of_workers.__contains__)
        for budget in self.purse.budgets():
            self._scheduler.most_of[budget.swarm] = budget.max_agents
        self.unneeded = asyncio.Event()
        self._doers: dict[type, Callable[[Client, Any], Any]] = {
            Lend: self._lend,
            Note: self._note,
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

    # --- beginning

    async def recover(self) -> None:
        """What the last supervisor has left: nothing of its workers runs any more, and each is told where it stands."""
        everyone = self._places.all()
        await self._clear_unfinished(everyone)
        workers = [worker for worker in everyone if worker.status in LIVE]
        await end_leftovers([worker for worker in workers if worker.order.engine == "local"])
        for worker in workers:
            self._recover(worker)
        self._note_need()

    async def _clear_unfinished(self, everyone: list[Worker]) -> None:
        """Nobody was promised a worker where there is no record yet: its tree and branch would be nobody's."""
        taken = {worker.tree.branch for worker in everyone if worker.tree is not None}
        for place in self._places.unfinished():
            from zot.swarm.git import worktrees  # only after a kill

            with suppress(ZotError, OSError):
                await worktrees.remove_unfinished(place.directory, taken)
                remove_tree(place.directory)

    def _recover(self, worker: Worker) -> None:
        place = self._places.of(worker.id)
        try:
            inbox = Inbox(place.inbox)
        except ZotError as error:
            _close_record(place, worker, "lost", str(error))
            return
        credential = self._lent.get(worker.order.config.provider)
        if worker.order.engine != "local" and worker.pid:
            charge = self._take(worker, place, credential)
            self._scheduler.readmit(charge.wish)
            charge.go_on()
            return
        over = inbox.next is None and not inbox.interrupted
        may_go_on = worker.status == "queued" or 0 < worker.attempt <= worker.order.restarts
        if over:
            _close_record(place, worker, "done", "")
        elif may_go_on:
            queued = msgspec.structs.replace(worker, status="queued", activity="queued", pid=0, born=0)
            charge = self._take(queued, place, credential)
            self.changed(charge, at_once=True)
            self.asks_to_run(charge)
        else:
            _close_record(place, worker, "lost", "the supervisor was killed, and its workers with it")

    def _take(self, worker: Worker, place: WorkerPlace, credential: Credential | None = None) -> Charge:
        charge = self._charges[worker.id] = Charge(worker, place, self, credential)
        self._keep_looking()
        return charge

    # --- what workers ask (Keeper)

    def engine(self, name: str) -> Engine:
        if name not in self._engines:
            self._engines[name] = _engine(name)
        return self._engines[name]

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._group.create_task(_guarded(work))

    def changed(self, charge: Charge, *, at_once: bool) -> None:
        self._unsaved[charge.id] = self._untold[charge.id] = charge
        if at_once:
            self._save()
            self._tell()
            return
        if not self._saving:
            self._saving = True
            self._loop.call_later(SAVE_S, self._save)
        if not self._telling:
            self._telling = True
            self._loop.call_later(UPDATE_S, self._tell)

    def _save(self) -> None:
        self._saving = False
        unsaved, self._unsaved = self._unsaved, {}
        for id, charge in unsaved.items():
            try:
                charge.place.save(charge.worker)
            except OSError:
                if charge.place.directory.is_dir():  # a full disk: the next change is another try
                    self._unsaved[id] = charge
        if self._unsaved and not self._saving:
            self._saving = True
            self._loop.call_later(SAVE_S, self._save)

    def _tell(self) -> None:
        self._telling = False
        untold, self._untold = self._untold, {}
        if not any(client.updates for client in self._clients):
            return
        for charge in untold.values():
            info = info_of(charge.worker)
            line = _encode(swarm_frames.SwarmUpdate(id=info.id, status=info.status, worker=info))
            for client in self._clients:
                if client.updates:
                    client.send(line)

    def heard(self, charge: Charge, line: bytes) -> None:
        listening = [client for client in self._clients if charge.id in client.subscribed]
        if listening:
            wrapped = _wrapped(charge.id, line)
            for client in listening:
                client.send_event(wrapped, line)

    def asks_to_run(self, charge: Charge) -> None:
        self._scheduler.ask(charge.wish)
        self._admit_soon()

    def runs_no_more(self, charge: Charge) -> None:
        self._scheduler.leave(charge.id)
        self._admit_soon()

    def ended(self, charge: Charge) -> None:
        self._charges.pop(charge.id, None)
        self.runs_no_more(charge)
        self.look_after_purse()
        self._note_need()

    def _admit_soon(self) -> None:
        if not self._admitting:
            self._admitting = True
            self._loop.call_soon(self._admit)

    def _admit(self) -> None:
        self._admitting = False
        for id in self._scheduler.admit():
            if (charge := self._charges.get(id)) is not None:
                charge.go()
            else:
                self._scheduler.leave(id)

    # --- time

    def _keep_looking(self) -> None:
        if not self._looking and self._charges:
            self._looking = True
            self._loop.call_later(self.patience_s / 4, self._look)

    def _look(self) -> None:
        self._looking = False
        for charge in list(self._charges.values()):
            charge.look()
        reap_strays()
        self._keep_looking()

    def look_after_purse(self) -> None:
        """Somebody may go when a pause is over."""
        now = self._loop.time()
        self.purse.look(now)
        if self._purse_timer is not None:
            self._purse_timer.cancel()
        wait = self.purse.next_look(now)
        self._purse_timer = None if wait is None else self._loop.call_later(wait + 0.001, self.look_after_purse)
        if not self._allowing and any(isinstance(engine, AllowingEngine) for engine in self._engines.values()):
            self._allowing = True
            self._loop.call_later(ALLOW_S, self._allow)

    def _allow(self) -> None:
        """Engines whose workers go on without us know what is left of the budgets."""
        self._allowing = False
        left = self.purse.left(self._loop.time())
        for engine in self._engines.values():
            if isinstance(engine, AllowingEngine):
                self.begin(engine.allow(left))

    def _note_need(self) -> None:
        self._loop.call_later(LINGER_S, self._look_for_need)

    def _look_for_need(self) -> None:
        if self.is_unneeded:
            self.unneeded.set()

    @property
    def is_unneeded(self) -> bool:
        return not self._charges and not self._clients and not self._starts

    # --- clients

    def join(self, client: Client) -> None:
        self._clients.add(client)

    def leave(self, client: Client) -> None:
        self._clients.discard(client)
        self._note_need()

    async def do(self, client: Client, command: AnyCommand) -> Any:
        """The data of the answer; ZotError or OSError says why there is none."""
        done = self._doers[type(command)](client, command)
        return await done if asyncio.iscoroutine(done) else done

    def _lend(self, client: Client, command: Lend) -> None:
        client.lent.pop(command.provider, None)  # a key that was typed for another address must not stay
        if command.value:
            client.lent[command.provider] = Credential(provider=command.provider, value=command.value)
        client.environment = command.environment or client.environment
        if command.most and command.most != self._scheduler.most:
            self._scheduler.most = command.most
            self._admit_soon()

    def _list(self, client: Client, command: swarm_frames.SwarmList) -> swarm_frames.SwarmWorkers:
        return swarm_frames.SwarmWorkers(workers=tuple(map(info_of, self._listed(command))))

    def _send(self, client: Client, command: swarm_frames.SwarmSend) -> None:
        self._living(command.worker).accept(command.text, command.images)

    def _approve(self, client: Client, command: swarm_frames.SwarmApprove) -> None:
        approval = rpc_frames.Approve(request_id=command.request_id, decision=command.decision, reason=command.reason)
        self._living(command.worker).approve(approval)

    def _refuse_git(self, client: Client, command: AnyCommand) -> None:
        raise UsageError("whoever asks does that itself: git is not the supervisor's business")

    def _everyone(self) -> list[Worker]:
        """Those that live as they are now, the others as they are on disk."""
        living = self._charges
        return [living[worker.id].worker if worker.id in living else worker for worker in self._places.all()]

    def _meant(self, typed: str) -> Worker:
        """NotThere when it is nobody, or could be several."""
        if (charge := self._charges.get(typed)) is not None:
            return charge.worker
        return meant(typed, self._everyone())

    def _listed(self, command: swarm_frames.SwarmList) -> list[Worker]:
        everyone = self._everyone() if command.all else [charge.worker for charge in self._charges.values()]
        return [
            worker
            for worker in sorted(everyone, key=lambda worker: (worker.created, worker.id))
            if (not command.session or worker.order.session in ("", command.session))
            and (not command.swarm or worker.order.swarm == command.swarm)
        ]

    def _get(self, client: Client, command: swarm_frames.SwarmGet) -> swarm_frames.SwarmWorker:
        worker = self._meant(command.worker)
        charge, place = self._charges.get(worker.id), self._places.of(worker.id)
        inbox = charge.inbox if charge is not None else Inbox(place.inbox)
        answer = (charge.answer if charge is not None else "") or last_answer(place.events) or worker.answer
        return swarm_frames.SwarmWorker(worker=info_of(worker), answer=answer, waiting=inbox.waiting)

    def _living(self, typed: str) -> Charge:
        worker = self._meant(typed)
        charge = self._charges.get(worker.id)
        if charge is None:
            raise UsageError(f"{worker.name} is {worker.status}: `zot swarm resume {worker.id}` continues it")
        return charge

    # --- starting and ending workers

    def _refuse_start(self, client: Client, command: AnyCommand) -> None:
        raise UsageError("this zot is older than the supervisor of its workers; start it again")

    async def _start(self, client: Client, command: StartWorker) -> swarm_frames.SwarmStarted:
        self._starts += 1
        try:
            return swarm_frames.SwarmStarted(worker=info_of((await self._started(client, command.spec)).worker))
        finally:
            self._starts -= 1
            self._note_need()

    async def _started(self, client: Client, order: Order) -> Charge:
        taken = {charge.worker.name for charge in self._charges.values()} | self._names
        if order.name:
            check_name(order.name, taken)
        name = order.name or free_name(_label(order), taken)
        self._names.add(name)
        try:
            return await self._made(client, order, name)
        finally:
            self._names.discard(name)

    async def _made(self, client: Client, order: Order, name: str) -> Charge:
        place, tree, notes = self._places.make(order.name or _label(order)), None, ()
        try:
            if order.mode == "worktree":
                tree, notes = await _tree(order, place, name)
            about: dict[str, Any] = {"tree": tree, "notes": notes, "created": time.time(), "activity": "queued"}
            worker = Worker(id=place.id, name=name, order=order, **about)
            Inbox(place.inbox).accept(order.task)
            place.save(worker)  # from here on it is a worker, whatever happens
        except BaseException:
            await _discard(place, tree)
            raise
        with suppress(OSError):
            (place.directory / MAKING).unlink(missing_ok=True)
        charge = self._take(worker, place, client.lent.get(order.config.provider))
        charge.environment = client.environment
        self._untold[charge.id] = charge
        self._tell()
        self.asks_to_run(charge)
        return charge

    def _resume(self, client: Client, command: swarm_frames.SwarmResume) -> swarm_frames.SwarmStarted:
        worker = self._meant(command.worker)
        if worker.id in self._charges:
            raise UsageError(f"{worker.name} lives already: it is {worker.status}")
        taken = {charge.worker.name for charge in self._charges.values()}
        changes: dict[str, Any] = {"name": free_name(worker.name, taken)} if worker.name in taken else {}
        changes |= {"status": "queued", "activity": "queued", "reason": "", "ended": 0.0}
        credential = client.lent.get(worker.order.config.provider)
        charge = self._take(msgspec.structs.replace(worker, **changes), self._places.of(worker.id), credential)
        charge.environment = client.environment
        charge.stays = charge.inbox.next is None and not charge.inbox.interrupted
        self.changed(charge, at_once=True)
        self.asks_to_run(charge)
        return swarm_frames.SwarmStarted(worker=info_of(charge.worker))

    async def _stop(self, client: Client, command: swarm_frames.SwarmStop) -> swarm_frames.SwarmWorkers:
        charges = list(self._charges.values()) if command.all else [self._living(command.worker)]
        async with asyncio.TaskGroup() as group:
            for charge in charges:
                group.create_task(charge.stop("somebody stopped it"))
        return swarm_frames.SwarmWorkers(workers=tuple(info_of(charge.worker) for charge in charges))

    def _open_budget(self, client: Client, command: swarm_frames.SwarmBudget) -> None:
        if not command.swarm:
            raise UsageError("a budget needs the name of a swarm")
        self.purse.open(
            Budget(
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

    def _note(self, client: Client, command: Note) -> None:
        worker = self._meant(command.worker)
        charge = self._charges.get(worker.id)
        if charge is not None and (command.forget or worker.status != "idle"):
            raise UsageError(f"{worker.name} is {worker.status}: stop it first")
        if command.merged and charge is not None:
            charge.note_merged(command.merged)
        elif command.merged:
            self._places.of(worker.id).save(msgspec.structs.replace(worker, merged=command.merged))

    def _subscribe(self, client: Client, command: swarm_frames.SwarmSubscribe) -> None:
        if not command.worker:
            client.updates = not command.off
            return
        worker = self._meant(command.worker)
        if command.off:
            client.subscribed.discard(worker.id)
            return
        if command.past:
            for line in recorded(self._places.of(worker.id).events):
                client.send(_wrapped(worker.id, line))
        client.subscribed.add(worker.id)


def _close_record(place: WorkerPlace, worker: Worker, status: Literal["done", "lost"], reason: str) -> None:
    """Of a worker nobody looked after when it ended."""
    ended = {"type": "agent_stopped", "status": status, "reason": reason, "attempt": worker.attempt}
    log = EventLog(place.events)
    with suppress(OSError):
        log.append(_encode(ended))
        changes = {"status": status, "reason": reason, "activity": status, "pid": 0, "born": 0}
        place.save(msgspec.structs.replace(worker, **changes, ended=worker.ended or time.time()))
    log.close()


async def _tree(order: Order, place: WorkerPlace, name: str) -> tuple[Tree, tuple[str, ...]]:
    """A worktree of its own, and what is missing in it, which goes into the log as well; ZotError with one line when
    there can be none."""
    from zot.swarm.git import worktrees  # those who only read need none

    made = await worktrees.create(Path(order.cwd), place.directory, name, place.id, include_dirty=order.include_dirty)
    log = EventLog(place.events)
    for note in made.notes:
        log.append(_encode({"type": "agent_note", "text": note}))
    log.close()
    return made.tree, made.notes


async def _discard(place: WorkerPlace, tree: Tree | None) -> None:
    """Nothing was promised to anybody yet."""
    if tree is not None:
        from zot.swarm.git import worktrees

        with suppress(ZotError, OSError):
            await worktrees.remove(tree)
    rmtree(place.directory, ignore_errors=True)


def _label(order: Order) -> str:
    """What a worker without a name is called after: the item of a fan-out, of a path its end, else the task."""
    item = os.path.basename(order.key.rstrip("/"))
    return item if any(letter.isascii() and letter.isalpha() for letter in item) else order.task


def _engine(name: str) -> Engine:
    if name == "local":
        return LocalEngine()
    from zot.swarm.engines.ray.engine import RayEngine, address_of  # few have a cluster

    return RayEngine(address_of(name))


def _wrapped(id: str, line: bytes) -> bytes:
    """``swarm_event`` around a line, which stays byte for byte what it was."""
    return b'{"type":"swarm_event","id":"%b","event":%b}' % (id.encode(), line)


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    """A bug in one worker's life is not the end of all."""
    try:
        await work
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
