"""Workers on a real Ray cluster of three nodes, some of which are killed. Run with ``make swarm-ray``; set
``ZOT_SWARM_WORKERS`` to change the number of workers.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.nodes import FakeNodes, parent_of, processes_with, seen
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.unit.swarm.repositories import git, repository
from zot.agent.config import RunConfig
from zot.errors import ZotError
from zot.swarm.client import SupervisorClient, connect_or_start
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.supervisor.runtime_dir import SupervisorRuntimeDir
from zot.swarm.worker_config import worker_spec
from zot.swarm.worker_records import WorkerSpec
from zot.swarm.worker_store import WorkerStore
from zot.wire.swarm_frames import SwarmBudget, SwarmStart, WorkerInfo

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1800)]

COUNT = int(os.environ.get("ZOT_SWARM_WORKERS", "6"))
KEY = "sk-never-to-be-seen-anywhere"
_TURNS = 3
_TURN_S = 0.3 + COUNT / 16  # long enough for several to be in the middle of one, however slowly they begin
_TASK = re.compile(r"task (\d+): write the file")
_USAGE = (10_000, 1_000)
_CALL_USD = 10_000 * 2e-06 + 1_000 * 8e-06
_BUDGET_USD = COUNT * 7 * _CALL_USD  # each calls five times; what was cut off is paid for as well


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeNodes]:
    pytest.importorskip("ray")
    made = FakeNodes(tmp_path_factory.mktemp("c"))
    try:
        yield made
    finally:
        made.close()


def scripted(request: Any) -> Any:
    """Three commands that each add a line to a file of the task's own, then the end; a message more is answered.
    A command that was interrupted is given again."""
    messages = json.loads(request.body)["messages"]
    said = [_text(message) for message in messages if message["role"] == "user"]
    task = _task(request)
    done = sum(message["role"] == "tool" and "[exit 0]" in _text(message) for message in messages)
    if done < _TURNS:
        command = f"echo {done + 1} >> task-{task}.txt; sleep {_TURN_S}"
        return CallTools([("bash", {"command": command})], usage=_USAGE)
    return Say(f"finished {task}: " + " | ".join(said[1:]), usage=_USAGE)


def _calls(server: FakeModelServer) -> Counter[str]:
    """Calls of the model, by the number of the task."""
    return Counter(_task(request) for request in list(server.requests) if request.body)


def _task(request: Any) -> str:
    return _TASK.findall(request.body.decode())[0]


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@pytest.fixture
def home(tmp_path: Path, nodes: FakeNodes, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in nodes.variables.items():
        monkeypatch.setenv(name, value)
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    (place / "config.json").write_text(json.dumps({"swarm_agents": 64}))
    monkeypatch.setenv("ZOT_HOME", str(place))
    return place


def use_server(home: Path, server: FakeModelServer) -> None:
    model = {"id": "scripted", "priceInput": 2, "priceOutput": 8, "contextWindow": 100_000, "maxTokens": 1_000}
    provider = {"baseUrl": f"{server.url}/v1", "api": "openai", "auth": "key", "models": [model]}
    (home / "models.json").write_text(json.dumps({"providers": {"here": provider}}))


def order(repo: Path, nodes: FakeNodes, number: int, **more: Any) -> WorkerSpec:
    same: dict[str, Any] = {"provider": "here", "model": "scripted", "restarts": 8, "once": True}
    engine = f"ray://{nodes.address}"
    request = SwarmStart(task=f"task {number}: write the file", cwd=str(repo), engine=engine, **(same | more))
    return worker_spec(RunConfig(), request)


async def ends(swarm: SupervisorClient, ids: set[str], seconds: float = 1600.0) -> dict[str, list[WorkerInfo]]:
    """Every reported end of these workers."""
    found: dict[str, list[WorkerInfo]] = {}
    for info in await swarm.list(all=True):
        if info.id in ids and info.status in ("done", "failed", "stopped", "lost"):
            found.setdefault(info.id, []).append(info)
    async with asyncio.timeout(seconds):
        async for event in swarm.events():
            ended = event.worker if hasattr(event, "worker") else None  # type: ignore[union-attr]
            if ended is not None and ended.id in ids and ended.status in ("done", "failed", "stopped", "lost"):
                found.setdefault(ended.id, []).append(ended)
            if len(found) == len(ids):
                return found
    return found


async def test_every_task_ends_once_whatever_is_killed(home: Path, nodes: FakeNodes, tmp_path: Path) -> None:
    """10 % of the workers and one node are killed while they work."""
    repo = repository(tmp_path / "repo")
    began = time.monotonic()
    with FakeModelServer([scripted], repeat=True) as server:
        use_server(home, server)
        async with connect_or_start(home) as swarm:
            await swarm.subscribe()
            await swarm.request(SwarmBudget(swarm="all", max_cost=_BUDGET_USD, max_agents=COUNT))
            credential = WorkerKey(provider="here", value=KEY)
            infos = [await swarm.start(order(repo, nodes, n, swarm="all"), credential) for n in range(COUNT)]
            numbers = {info.id: number for number, info in enumerate(infos)}
            told = await _send_to_all(swarm, numbers)
            killing = asyncio.create_task(_kill_some(home, nodes, lambda: _calls(server), max(1, COUNT // 10)))
            found = await ends(swarm, set(numbers))
            assert killing.done(), "what was to be killed was killed while they worked"
            killed, at_work = await killing
            everyone = {info.id: info for info in await swarm.list(all=True)}
        took = time.monotonic() - began
        calls = _calls(server)
    assert {id: [info.status for info in infos] for id, infos in found.items()} == {id: ["done"] for id in numbers}, [
        (info.status, info.reason) for infos in found.values() for info in infos if info.status != "done"
    ]
    for id, number in numbers.items():
        _check_worker(home, id, number, told)
    attempts = Counter(info.attempt for info in everyone.values())
    assert calls.total() * _CALL_USD <= _BUDGET_USD
    _check_nothing_is_left(home, nodes)
    print(
        f"\n{COUNT} workers, 3 nodes: {took:.0f} s, {killed} processes and a node (with {at_work} in mid-turn) killed, "
        f"{calls.total()} model calls (of each: {sorted(Counter(calls.values()).items())}), attempts {dict(attempts)}, "
        f"{len(told)} further messages acknowledged"
    )


async def _send_to_all(swarm: SupervisorClient, numbers: dict[str, int]) -> set[int]:
    told: set[int] = set()
    for id, number in numbers.items():
        with suppress(ZotError):  # it has ended already: nothing was acknowledged
            await swarm.send(id, f"also {number}")
            told.add(number)
    return told


async def _kill_some(home: Path, nodes: FakeNodes, calls: Callable[[], Counter[str]], count: int) -> tuple[int, int]:
    """Processes and hosts of workers that are in the middle of their task, in turn, one after another while more and
    more have begun; and halfway a node. How many were killed by themselves, and how many were there when the node was.
    """
    killed, at_work, chosen = 0, 0, random.Random(7)
    while killed < count or not at_work:
        called = calls()
        busy = [
            worker
            for worker in WorkerStore(home).all()
            if worker.status == "running" and worker.pid and 1 <= called[_TASK.findall(worker.spec.task)[0]] <= _TURNS
        ]
        if not at_work and len(called) >= COUNT // 2 and len(busy) >= max(1, COUNT // 16):
            at_work = len(busy)
            await asyncio.to_thread(nodes.kill_node)
        elif busy and killed < count and len(called) > killed * COUNT // count:
            worker = chosen.choice(busy)
            with suppress(OSError, IndexError):
                os.kill(worker.pid if killed % 2 else parent_of(worker.pid), signal.SIGKILL)
                killed += 1
        await asyncio.sleep(0.5)
    return killed, at_work


def _check_worker(home: Path, id: str, number: int, told: set[int]) -> None:
    place = WorkerStore(home).of(id)
    session = place.session.read_text()
    said = [json.loads(line) for line in session.splitlines()]
    texts = ["".join(block.get("text", "") for block in row["message"]["content"]) for row in said if "message" in row]
    assert sum(f"task {number}:" in text for text in texts) == 1, "the task is said once"
    if number in told:
        assert sum(text == f"also {number}" for text in texts) == 1, "an acknowledged message is said once"
    assert place.load().status == "done"
    events = [json.loads(line) for line in (place.directory / "events.jsonl").read_text().splitlines()]
    endings = [event["status"] for event in events if event["type"] == "agent_stopped"]
    assert [status for status in endings if status in ("done", "failed", "stopped")] == ["done"], endings
    file = place.tree / f"task-{number}.txt"
    lines = file.read_text().split()
    assert set(lines) == {"1", "2", "3"} and sorted(lines) == lines, lines
    assert git(place.tree, "status", "--porcelain") == f"?? task-{number}.txt"
    for path in place.directory.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert KEY.encode() not in path.read_bytes(), path


def _check_nothing_is_left(home: Path, nodes: FakeNodes) -> None:
    ids = WorkerStore(home).ids()
    assert seen(lambda: not any(processes_with(f"ZOT_SWARM_AGENT_ID={id}") for id in ids))
    assert seen(lambda: not list(nodes.temporary.glob("zot-swarm-*"))), list(nodes.temporary.rglob("*"))
    assert stat.S_IMODE(nodes.token.stat().st_mode) == 0o600
    latest = Path("/tmp/ray/session_latest/logs")
    for path in latest.rglob("*") if latest.is_dir() else ():
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


async def test_budget_too_small_for_all_workers_is_not_exceeded(home: Path, nodes: FakeNodes, tmp_path: Path) -> None:
    """Workers are stopped, and spending exceeds the budget only by their calls in progress."""
    repo, count, limit = repository(tmp_path / "repo"), 6, 12 * _CALL_USD
    with FakeModelServer([scripted], repeat=True) as server:
        use_server(home, server)
        credential = WorkerKey(provider="here", value=KEY)
        async with connect_or_start(home) as swarm:
            await swarm.subscribe()
            await swarm.request(SwarmBudget(swarm="small", max_cost=limit, max_agents=count))
            orders = [order(repo, nodes, n, swarm="small") for n in range(count)]
            ids = {(await swarm.start(one, credential)).id for one in orders}
            found = await ends(swarm, ids, 600)
        spent = _calls(server).total() * _CALL_USD
    statuses = [[info.status for info in infos] for infos in found.values()]
    assert all(one in (["done"], ["stopped"]) for one in statuses) and ["stopped"] in statuses, statuses
    reasons = [info.reason for infos in found.values() for info in infos if info.status == "stopped"]
    assert all("the cost limit of the swarm small" in reason for reason in reasons), reasons
    assert limit - _CALL_USD < spent <= limit + count * _CALL_USD, (spent, limit)
    _check_nothing_is_left(home, nodes)


async def test_workers_go_on_while_the_supervisor_is_away(home: Path, nodes: FakeNodes, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    with FakeModelServer([scripted], repeat=True) as server:
        use_server(home, server)
        credential = WorkerKey(provider="here", value=KEY)
        async with connect_or_start(home) as swarm:
            ids = {(await swarm.start(order(repo, nodes, n, restarts=0), credential)).id for n in range(2)}
            await _all_at_work(home, ids)
        supervisor = SupervisorRuntimeDir(home).running()
        assert supervisor is not None
        os.kill(supervisor.pid, signal.SIGKILL)
        before = len(server.requests)
        assert seen(lambda: not SupervisorRuntimeDir(home).is_alive())
        assert await asyncio.to_thread(seen, lambda: len(server.requests) > before, 90.0), "nobody permitted a call"
        async with connect_or_start(home) as swarm:
            await swarm.subscribe()
            found = await ends(swarm, ids, 120)
    assert {info.status for infos in found.values() for info in infos} == {"done"}
    assert {WorkerStore(home).of(id).load().attempt for id in ids} == {1}
    _check_nothing_is_left(home, nodes)


async def _all_at_work(home: Path, ids: set[str]) -> None:
    sessions = [WorkerStore(home).of(id).session for id in ids]
    assert await asyncio.to_thread(seen, lambda: all(session.exists() for session in sessions), 120.0)
