"""A slice of ``make swarm-sim``: the laws of a swarm, held by the real supervisor on a clock that jumps."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

from simulation import virtual_clock
from simulation.merges import merge_share
from simulation.page import Point, line, problems, table
from simulation.provider import FakeProvider, Terms
from simulation.run import Nobody, Outcome, SimulatedSupervisor, order_for, simulate
from simulation.workers import FakeEngine, script_for
from zot.swarm.worker_records import SupervisorConfig
from zot.wire.swarm_frames import SwarmList, SwarmSend


def test_simulated_hour_is_instant_and_deadlock_is_reported() -> None:
    async def wait() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    async def wait_forever() -> None:
        await asyncio.Event().wait()

    began = time.monotonic()
    assert virtual_clock.run(wait()) == pytest.approx(3600)
    assert time.monotonic() - began < 60
    with pytest.raises(virtual_clock.Stuck):
        virtual_clock.run(wait_forever())


def test_fifty_workers_end_once_each_and_keep_to_their_budget() -> None:
    """With too little money, a provider that refuses every other request, and processes that die."""
    narrow = Terms(per_minute=120.0, burst=10, fault=0.05)
    point = Point(*(simulate(50, seed=3, terms=narrow, budget=budget, killed=0.03) for budget in (0.0, 0.85)))
    assert problems(point) == []
    free, short = point
    assert free.refused > 20 and free.lost > 0 and free.attempts == 50 + free.lost
    assert set(free.ended) <= {"done", "failed"} and free.ended["done"] >= 45
    assert short.ended["stopped"] > 0 and short.spent > 0.9 * short.limit
    assert short.overspent <= 1.0
    assert "50 workers" in line(point) and table([point]).count("\n") == 2


@pytest.mark.parametrize("most", [1, 4, 20])
def test_budget_invariant_applies_to_any_number_of_workers(most: int) -> None:
    run = simulate(20, seed=most, most=most, budget=0.5)
    assert run.most <= most and run.overspent <= 1.0 and run.ends == {"1": 20}


def test_violated_invariant_is_reported() -> None:
    fine = simulate(3)
    broken = _changed(fine, ends={"1": 2, "2": 1}, finished={"2": 1}, spent=fine.limit + 100)
    assert len(problems(Point(fine, broken))) == 3


def _changed(run: Outcome, **changes: object) -> Outcome:
    import msgspec

    return msgspec.structs.replace(run, **changes)


def test_message_to_starting_worker_does_not_requeue_it(tmp_path: Path) -> None:
    chance = random.Random(1)
    engine = FakeEngine(FakeProvider(Terms(), chance), {"task-00000": script_for(chance, 0.0)}, start_s=10.0)

    async def tell() -> tuple[str, str]:
        async with asyncio.TaskGroup() as group:
            supervisor = SimulatedSupervisor(SupervisorConfig(home=str(tmp_path)), group, engine)
            supervisor.expected = 1
            started = await supervisor.dispatch(Nobody(), order_for(tmp_path, "task-00000"))
            await asyncio.sleep(5.0)
            await supervisor.dispatch(Nobody(), SwarmSend(worker=started.worker.id, text="also this"))
            (now,) = (await supervisor.dispatch(Nobody(), SwarmList())).workers
            await supervisor.all_ended.wait()
        return now.status, now.activity

    assert virtual_clock.run(tell()) == ("running", "starting")
    (inbox,) = tmp_path.glob("swarm/agents/*/inbox.jsonl")
    assert inbox.read_text().rstrip().endswith('{"type":"mark","taken":2,"finished":2}')


def test_some_runs_merge_real_trees() -> None:
    merged = merge_share(4, seed=2)
    assert merged.kept and merged.complete
    assert sum(merged.outcomes.values()) == 4 and set(merged.outcomes) <= {"merged", "conflict"}
