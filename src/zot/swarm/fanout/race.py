"""``race``: several attempts at one task, checked and sorted by cost. It merges and deletes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from zot.errors import EngineFault, ZotError
from zot.swarm import client
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.fanout.map import KILLED, RECONNECTIONS, RESTARTS
from zot.swarm.git.merge import Check
from zot.swarm.git.safe_git import find_repository, scratch_repository
from zot.swarm.git.three_way import export_tree
from zot.swarm.git.worktrees import Diffstat, diffstat, snapshot_worktree
from zot.swarm.worker_records import WorkerSpec
from zot.wire.swarm_frames import SwarmBudget, SwarmUpdate, WorkerInfo


class RaceAttempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``why`` is the reason of a failed attempt; ``said`` is the check's output."""

    worker: str
    name: str
    passed: bool
    cost: float
    seconds: float
    changed: Diffstat
    why: str = ""
    said: str = ""


async def race(
    home: Path,
    count: int,
    order: WorkerSpec,
    *,
    max_cost: float = 0.0,
    check: Check | None = None,
    credential: WorkerKey | None = None,
    on_line: Callable[[str], None] = lambda line: None,
) -> list[RaceAttempt]:
    """All attempts, passed ones first, each group by cost. A killed supervisor is replaced; no attempt starts twice."""
    running = _Race(count, msgspec.structs.replace(order, once=True, restarts=order.restarts or RESTARTS), on_line)
    for _ in range(RECONNECTIONS):
        try:
            async with client.connect_or_start(home, credential) as swarm:
                await swarm.request(SwarmBudget(swarm=order.swarm, max_cost=max_cost))
                ended = await running.run(swarm, credential)
        except EngineFault:
            on_line(KILLED)
            continue
        tries = [await _judged(home, info, check) for info in ended]
        return sorted(tries, key=lambda one: (not one.passed, one.cost, one.seconds))
    raise ZotError(
        "the swarm's supervisor was killed again and again, and the race is given up; "
        "`zot swarm list --all` says what became of the tries"
    )


class _Race:
    """The attempts of a race, by number."""

    def __init__(self, count: int, order: WorkerSpec, on_line: Callable[[str], None]) -> None:
        self._count = count
        self._order = order
        self._told = on_line
        self._known: dict[str, WorkerInfo] = {}
        self._notes: set[str] = set()

    async def run(self, swarm: client.SupervisorClient, credential: WorkerKey | None) -> list[WorkerInfo]:
        """Waits until all have ended; EngineFault if the supervisor ends before."""
        await swarm.subscribe()
        there = {info.key: info for info in await swarm.list(all=True, swarm=self._order.swarm)}
        for number in range(1, self._count + 1):
            name = f"{self._order.name}-{number}" if self._order.name else ""
            spec = msgspec.structs.replace(self._order, key=str(number), name=name)
            self._take(there.get(str(number)) or await swarm.start(spec, credential))
        if not self._at_work:
            return list(self._known.values())
        async for event in swarm.events():
            if isinstance(event, SwarmUpdate) and event.id in self._known:
                self._take(event.worker)
                if not self._at_work:
                    return list(self._known.values())
        raise EngineFault("the swarm's supervisor has ended")

    @property
    def _at_work(self) -> bool:
        return any(not client.is_over(info) for info in self._known.values())

    def _take(self, info: WorkerInfo) -> None:
        """Reports a status change."""
        before = self._known.get(info.id)
        if before is not None and client.is_over(before):
            return  # a late update
        self._known[info.id] = info
        if before is None:
            self._told(f"{info.name}: {info.id}")
            for note in info.notes:
                if note not in self._notes:
                    self._notes.add(note)
                    self._told(f"note: {note}")
        if client.is_over(info):
            self._told(f"{info.name}: {info.status}, ${info.usage.cost_usd:.2f}")


async def _judged(home: Path, info: WorkerInfo, check: Check | None) -> RaceAttempt:
    tree = client.load_worker(home, info.id).tree
    changed, output, why = Diffstat(), "", ""
    if info.status != "done":
        why = f"{info.status}: {info.reason}"
    elif tree is not None:
        try:
            changed = await diffstat(tree)
            if check is None:
                passed, output = True, ""
            else:
                async with scratch_repository(
                    await find_repository(tree.repository), Path(tree.path).parent, looks=True
                ) as work:
                    now = await snapshot_worktree(work, tree)
                    async with export_tree(work, now.tree) as place:
                        passed, output = await check(place)
            why = "" if passed else "the check failed"
        except ZotError as error:
            why = str(error)
    return RaceAttempt(
        worker=info.id,
        name=info.name,
        passed=not why,
        cost=info.usage.cost_usd,
        seconds=round(info.ended - (info.started or info.created), 2),
        changed=changed,
        why=why,
        said=output,
    )
