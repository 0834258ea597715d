"""One run: so many workers under the real supervisor, scheduler, budget and records, and what came of it."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from simulation import virtual_clock
from simulation.provider import FakeProvider, Terms
from simulation.workers import FakeEngine, script_for
from zot.agent.config import RunConfig
from zot.swarm.engines.engine import Engine, WorkerKey
from zot.swarm.supervisor.supervisor import Supervisor
from zot.swarm.supervisor.worker import WorkerController
from zot.swarm.worker_config import worker_spec
from zot.swarm.worker_records import StartWorker, SupervisorConfig
from zot.wire.swarm_frames import SwarmBudget, SwarmStart

SWARM = "simulated"
KILLED = 0.003  # of all model calls: their worker's process dies in the middle
BUDGET = 0.85  # of what all tasks together will cost: the last ones have to be stopped
RESTARTS = 3


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """``took_s`` is on the clock that jumps, ``cpu_s`` what it took here."""

    workers: int
    most: int
    took_s: float
    cpu_s: float
    ended: dict[str, int]
    ends: dict[str, int]  # by how often a worker ended: once, all of them
    finished: dict[str, int]  # by how often a task came to its end
    calls: int
    refused: int
    attempts: int
    lost: int
    limit: float
    spent: float
    dearest: float
    wasted: float

    @property
    def per_minute(self) -> float:
        return self.ended.get("done", 0) / self.took_s * 60 if self.took_s else 0.0

    @property
    def overspent(self) -> float:
        """In requests of each worker that ran at the same time; the law is: at most one."""
        if not self.limit:
            return 0.0
        return max(0.0, self.spent - self.limit) / self.dearest / max(1, self.most)


class SimulatedSupervisor(Supervisor):
    """The real one, with another engine, and with a note of who ended how often."""

    def __init__(self, task: SupervisorConfig, group: asyncio.TaskGroup, engine: Engine) -> None:
        super().__init__(task, group)
        self._only = engine
        self.ends: Counter[str] = Counter()
        self.statuses: dict[str, str] = {}
        self.all_ended = asyncio.Event()
        self.expected = 0

    def engine(self, name: str) -> Engine:
        return self._only

    def ended(self, controller: WorkerController) -> None:
        self.ends[controller.id] += 1
        self.statuses[controller.id] = controller.worker.status
        super().ended(controller)
        if len(self.ends) == self.expected:
            self.all_ended.set()


class Nobody:
    """A client that only starts workers."""

    def __init__(self) -> None:
        self.updates = False
        self.subscribed: set[str] = set()
        self.lent: dict[str, WorkerKey] = {}
        self.environment: dict[str, str] = {}

    def send(self, line: bytes) -> None: ...
    def send_event(self, wrapped: bytes, line: bytes) -> None: ...


def simulate(
    workers: int,
    *,
    seed: int = 1,
    terms: Terms | None = None,
    most: int = 0,
    budget: float = BUDGET,
    killed: float = KILLED,
) -> Outcome:
    """``most`` run at once, all of them when it is 0. ``budget`` is the share of the cost that may be spent, 0 is all
    of it."""
    chance = random.Random(seed)
    scripts = {f"task-{number:05}": script_for(chance, killed) for number in range(workers)}
    engine = FakeEngine(FakeProvider(terms or Terms(), chance), scripts)
    limit = round(budget * sum(1.5 * sum(script.calls) for script in scripts.values()), 6)
    shared = Path("/dev/shm")  # what is written is synced to the disk, and a disk has no clock that jumps
    with tempfile.TemporaryDirectory(prefix="zot-sim-", dir=shared if shared.is_dir() else None) as home:
        return virtual_clock.run(_simulate(Path(home), engine, list(scripts), limit, most or workers))


async def _simulate(home: Path, engine: FakeEngine, tasks: list[str], limit: float, most: int) -> Outcome:
    began, loop = time.process_time(), asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        supervisor = SimulatedSupervisor(SupervisorConfig(home=str(home), patience_s=3600.0), group, engine)
        supervisor.expected = len(tasks)
        await supervisor.dispatch(Nobody(), SwarmBudget(swarm=SWARM, max_cost=limit, max_agents=most))
        for task in tasks:
            await supervisor.dispatch(Nobody(), order_for(home, task))
        await supervisor.all_ended.wait()
    return _outcome(supervisor, engine, len(tasks), limit, loop.time(), time.process_time() - began)


def order_for(home: Path, task: str) -> StartWorker:
    same: dict[str, Any] = {"cwd": str(home), "mode": "shared", "once": True, "restarts": RESTARTS, "timeout_s": 0.0}
    return StartWorker(spec=worker_spec(RunConfig(home=home), SwarmStart(task=task, swarm=SWARM, **same)))


def _outcome(
    supervisor: SimulatedSupervisor, engine: FakeEngine, workers: int, limit: float, took_s: float, cpu_s: float
) -> Outcome:
    provider = engine.provider
    return Outcome(
        workers=workers,
        most=engine.most,
        took_s=took_s,
        cpu_s=cpu_s,
        ended=dict(Counter(supervisor.statuses.values())),
        ends={str(count): number for count, number in Counter(supervisor.ends.values()).items()},
        finished={str(count): number for count, number in Counter(engine.finished.values()).items()},
        calls=provider.asked,
        refused=provider.refused,
        attempts=engine.attempts,
        lost=engine.lost,
        limit=limit,
        spent=provider.spent,
        dearest=provider.dearest,
        wasted=engine.wasted,
    )
