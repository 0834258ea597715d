"""Several tries at one task, side by side: those whose check passes are kept in view, the cheapest first.

None of them is merged, and none is thrown away: a try that failed is for its owner to remove.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from zot.agent.swarm import connecting
from zot.agent.swarm.engine import Credential
from zot.agent.swarm.merging import Check
from zot.agent.swarm.records import Tree
from zot.agent.swarm.safe_git import desk, find_repository
from zot.agent.swarm.three_way import checked_out
from zot.agent.swarm.worktrees import Diffstat, diffstat, look
from zot.errors import EngineFault, ZotError
from zot.wire.swarm_frames import SwarmBudget, SwarmStart, SwarmUpdate, WorkerInfo


class Try(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``why`` says what is wrong with one that has not ``passed``; ``said`` is by the check."""

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
    order: SwarmStart,
    *,
    max_cost: float = 0.0,
    check: Check | None = None,
    credential: Credential | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> list[Try]:
    """All tries, those that passed first, each kind from the cheapest to the dearest."""
    swarm_name = order.swarm
    async with connecting.connected(home) as swarm:
        await swarm.subscribe()
        await swarm.request(SwarmBudget(swarm=swarm_name, max_cost=max_cost))
        running: dict[str, WorkerInfo] = {}
        for number in range(1, count + 1):
            one = msgspec.structs.replace(order, key=str(number), once=True, name=_name(order.name, number))
            info = await swarm.start(one, credential)
            running[info.id] = info
            told(f"{info.name}: {info.id}")
        ended = await _ended(swarm, running, told)
    tries = [await _judged(home, info, check) for info in ended]
    return sorted(tries, key=lambda one: (not one.passed, one.cost, one.seconds))


def _name(name: str, number: int) -> str:
    return f"{name}-{number}" if name else ""


async def _ended(
    swarm: connecting.Swarm, running: dict[str, WorkerInfo], told: Callable[[str], None]
) -> list[WorkerInfo]:
    ended: list[WorkerInfo] = []
    async for event in swarm.events():
        if isinstance(event, SwarmUpdate) and event.id in running and connecting.is_over(event.worker):
            del running[event.id]
            ended.append(event.worker)
            told(f"{event.worker.name}: {event.worker.status}, ${event.worker.usage.cost_usd:.2f}")
            if not running:
                return ended
    raise EngineFault("the swarm's supervisor has ended; `zot swarm list --all` says what became of the tries")


async def _judged(home: Path, info: WorkerInfo, check: Check | None) -> Try:
    tree = connecting.named(home, info.id).tree
    changed, said, why = Diffstat(), "", ""
    if info.status != "done":
        why = f"{info.status}: {info.reason}"
    elif tree is not None:
        try:
            changed = await diffstat(tree)
            passed, said = await _checked(tree, check)
            why = "" if passed else "the check failed"
        except ZotError as error:
            why = str(error)
    return Try(
        worker=info.id,
        name=info.name,
        passed=not why,
        cost=info.usage.cost_usd,
        seconds=round(info.ended - (info.started or info.created), 2),
        changed=changed,
        why=why,
        said=said,
    )


async def _checked(tree: Tree, check: Check | None) -> tuple[bool, str]:
    """In a copy of its files, as git would have them."""
    if check is None:
        return True, ""
    async with desk(await find_repository(tree.repository), Path(tree.path).parent, looks=True) as work:
        now = await look(work, tree)
        async with checked_out(work, now.tree) as place:
            return await check(place)
