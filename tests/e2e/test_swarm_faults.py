"""What a swarm withstands: its supervisor killed at any moment, a full disk, floods, a clock that jumps, no money.

The long runs are under the marker ``torture``; a short slice of each is in every test run.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.full_disk import confined
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, SeenRequest, Slow, Turn
from tests.fakes.swarm_home import SwarmHome, wait_for
from zot.agent.swarm import connecting
from zot.agent.swarm.connecting import Swarm
from zot.agent.swarm.credentials import lent
from zot.errors import ZotError
from zot.wire.swarm_frames import SwarmBudget, SwarmStart

PRICE = 0.0045  # of 1,000 tokens in and 100 out
ENDED = {"done", "failed", "stopped"}


def users(request: SeenRequest) -> list[str]:
    found = [message["content"] for message in request.json["messages"] if message["role"] == "user"]
    return [text if isinstance(text, str) else "".join(part.get("text", "") for part in text) for text in found]


def answer(request: SeenRequest) -> Turn:
    """One look around for each task, then a word; the answers take their time."""
    if request.json["messages"][-1]["role"] == "user":
        return Slow(CallTools([("read", {"path": "x"})], usage=(1000, 100)), 0.02)
    return Slow(Say(f"did: {users(request)[-1][:20]}", usage=(1000, 100)), 0.02)


@pytest.fixture
def model() -> Iterator[FakeModelServer]:
    with FakeModelServer([answer], repeat=True) as server:
        yield server


@pytest.fixture
def swarm(zot: Zot, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[SwarmHome]:
    (zot.project / "x").write_text("x")
    home = SwarmHome(zot, model.url)
    for name, value in zot.env().items():
        monkeypatch.setenv(name, value)
    yield home
    home.close()


async def begin(swarm: Swarm, home: SwarmHome, number: int) -> str:
    command = SwarmStart(
        task=f"task {number}",
        cwd=str(home.zot.project),
        mode="shared",
        provider="fake",
        model="m",
        once=True,
        restarts=99,
        swarm="s",
    )
    return (await swarm.start(command, lent(home.home, "fake", "m", "").credential)).id


async def tell(home: SwarmHome, id: str, text: str) -> bool:
    """Whether it was acknowledged."""
    try:
        async with connecting.connected(home.home) as swarm:
            await swarm.send(id, text)
    except ZotError:
        return False
    return True


async def until_all_ended(home: SwarmHome, ids: list[str]) -> None:
    async with asyncio.timeout(300):
        while {home.status(id) for id in ids} - ENDED:
            async with connecting.connected_if_alive(home.home):
                pass  # one that was killed is followed by another
            await asyncio.sleep(0.1)


def said_in_session(home: SwarmHome, id: str) -> Counter[str]:
    rows = [json.loads(line) for line in (home.place(id) / "session.json").read_text().splitlines()]
    messages = [row["message"] for row in rows if row["type"] == "message" and row["message"]["role"] == "user"]
    return Counter(message["content"][0]["text"] for message in messages)


def wait_until_somebody_asks(home: SwarmHome, model: FakeModelServer) -> None:
    before = len(model.requests)
    wait_for(lambda: len(model.requests) > before or not home.processes(), lambda: "silence")


def kill_supervisor(home: SwarmHome) -> None:
    if (pid := home.supervisor) and pid in home.processes():
        os.kill(pid, signal.SIGKILL)


async def survive(
    home: SwarmHome, model: FakeModelServer, workers: int, kills: int, max_cost: float, seed: int = 0
) -> list[str]:
    """Workers at work, told more meanwhile, their supervisor killed again and again; checked when all have ended."""
    chance = random.Random(seed)
    acknowledged: list[tuple[str, str]] = []
    async with connecting.connected(home.home) as swarm:
        await swarm.request(SwarmBudget(swarm="s", max_agents=workers, max_cost=max_cost))
        ids = [await begin(swarm, home, number) for number in range(workers)]
    for kill in range(kills):
        for id in chance.sample(ids, min(4, workers)):
            text = f"message {kill} for {id}"
            if await tell(home, id, text):
                acknowledged.append((id, text))
        wait_until_somebody_asks(home, model)
        await asyncio.sleep(chance.random() * 0.3)  # at any moment
        kill_supervisor(home)
    await until_all_ended(home, ids)
    for id in ids:
        endings = [event for event in home.events(id) if event["type"] == "agent_stopped"]
        assert len([event for event in endings if event["status"] in ENDED]) == 1, endings
        assert said_in_session(home, id)[home.record(id)["order"]["task"]] == 1
    for id, text in acknowledged:
        waiting = [json.loads(line).get("text") for line in (home.place(id) / "inbox.jsonl").read_text().splitlines()]
        assert text in waiting
        if home.status(id) == "done":
            assert said_in_session(home, id)[text] == 1, (id, text)
    home.until_nothing_runs()
    return ids


def spent(model: FakeModelServer) -> float:
    return PRICE * sum(request.method == "POST" for request in model.requests)


async def test_the_supervisor_is_killed_and_every_task_ends_once(swarm: SwarmHome, model: FakeModelServer) -> None:
    ids = await survive(swarm, model, workers=4, kills=1, max_cost=5.0)
    assert {swarm.status(id) for id in ids} == {"done"}


async def test_a_budget_holds_for_all_workers_together(swarm: SwarmHome, model: FakeModelServer) -> None:
    async with connecting.connected(swarm.home) as connection:
        await connection.request(SwarmBudget(swarm="s", max_cost=5 * PRICE, max_agents=4))
        ids = [await begin(connection, swarm, number) for number in range(4)]
    await until_all_ended(swarm, ids)
    assert spent(model) <= (5 + 4) * PRICE
    stopped = [swarm.record(id) for id in ids if swarm.status(id) == "stopped"]
    assert stopped and all("cost limit of the swarm s" in record["reason"] for record in stopped)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(int(os.environ.get("ZOT_TORTURE", "1000")) // 100))
async def test_sixteen_workers_and_three_kills(swarm: SwarmHome, model: FakeModelServer, seed: int) -> None:
    ids = await survive(swarm, model, workers=16, kills=3, max_cost=50.0, seed=seed)
    assert {swarm.status(id) for id in ids} == {"done"}


@pytest.mark.torture
@pytest.mark.timeout(900)
async def test_eight_workers_three_kills_and_little_money(swarm: SwarmHome, model: FakeModelServer) -> None:
    await survive(swarm, model, workers=8, kills=3, max_cost=20 * PRICE)
    assert spent(model) <= (20 + 8) * PRICE + 3 * 8 * PRICE  # what a kill cut off was asked, and counts at its least


async def test_one_rate_limit_is_everybodys(swarm: SwarmHome) -> None:
    """The first is refused for two seconds; nobody asks meanwhile, and nobody fails."""
    seen: list[float] = []
    loop = asyncio.get_running_loop()

    def turn(request: SeenRequest) -> Turn:
        if request.method == "POST":
            seen.append(loop.time())
        if len(seen) == 1:
            return Refuse(429, {"error": {"message": "slow down"}}, {"retry-after": "2"})
        return Say("done", usage=(1000, 100))

    with FakeModelServer([turn], repeat=True) as busy:
        SwarmHome(swarm.zot, busy.url)
        async with connecting.connected(swarm.home) as connection:
            first = await begin(connection, swarm, 0)
            wait_for(lambda: bool(seen), lambda: "nobody asks")
            wait_for(lambda: any("rate" in event.get("reason", "") for event in swarm.events(first)), lambda: "no 429")
            ids = [first, *[await begin(connection, swarm, number) for number in range(1, 4)]]
        await until_all_ended(swarm, ids)
        assert {swarm.status(id) for id in ids} == {"done"}
        assert len(seen) == 5 and all(later - seen[0] >= 1.9 for later in seen[1:])


def test_what_cannot_be_recorded_fails_the_worker(swarm: SwarmHome, zot: Zot) -> None:
    """A disk without room: the worker fails with the reason, and what was recorded stays whole."""
    (zot.project / "x").write_text("a line of a file that is read\n" * 500)
    argv = zot.argv(["swarm", "start", "--shared", "task"])
    zot.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(confined(argv, 12_000), env=zot.env(), cwd=zot.project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = swarm.until(done.stdout.strip(), "failed")
    assert "too large" in record["reason"].lower() or "cannot" in record["reason"]


def test_a_flood_drowns_nobody(swarm: SwarmHome, zot: Zot) -> None:
    """Tens of megabytes of output: the supervisor stays small and answers others."""

    def flood(request: SeenRequest) -> Turn:
        if request.method == "POST" and request.json["messages"][-1]["role"] == "user":
            return CallTools([("bash", {"command": "yes a line of a flood | head -c 60000000"})])
        return Say("done")

    with FakeModelServer([flood], repeat=True) as server:
        SwarmHome(zot, server.url)
        id = swarm.start("flood", "--shared", "--write", "--once")
        swarm.seen_at(id, "tool_call")
        assert swarm("list").code == 0
        size = resident_mb(swarm.supervisor)
        assert swarm.until(id, "done")["answer"] == "done"
        assert size < 60, size
        assert (swarm.place(id) / "events.jsonl").stat().st_size < 1_000_000


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def test_a_killed_supervisor_leaves_nothing_running(swarm: SwarmHome, zot: Zot) -> None:
    """Neither workers nor what they started; whoever looks next finds them lost."""

    def busy(request: SeenRequest) -> Turn:
        return CallTools([("bash", {"command": "setsid sleep 300 & sleep 301"})])

    with FakeModelServer([busy], repeat=True) as server:
        SwarmHome(zot, server.url)
        id = swarm.start("work", "--shared", "--write")
        wait_for(lambda: sum("sleep 30" in line for line in swarm.processes().values()) >= 2, lambda: "no sleeps")
        kill_supervisor(swarm)
        swarm.until_nothing_runs()
        assert "lost" in swarm("list", "--all").out
        assert "supervisor was killed" in swarm.record(id)["reason"]


def test_not_even_its_watcher_has_to_survive_for_workers_to_end(swarm: SwarmHome, zot: Zot) -> None:
    """The supervisor and the shell that watches over it are killed at once: workers end with their input."""

    def busy(request: SeenRequest) -> Turn:
        return CallTools([("bash", {"command": "sleep 301"})])

    with FakeModelServer([busy], repeat=True) as server:
        SwarmHome(zot, server.url)
        swarm.start("work", "--shared", "--write")
        wait_for(lambda: any("sleep 30" in line for line in swarm.processes().values()), lambda: "no sleep")
        supervisor = swarm.supervisor
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        watchers = [pid for pid in children if b"zot-watch" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert len(watchers) == 1
        os.kill(supervisor, signal.SIGSTOP)
        os.kill(int(watchers[0]), signal.SIGKILL)
        os.kill(supervisor, signal.SIGKILL)
        swarm.until_nothing_runs()


def test_a_clock_that_jumps_harms_nobody(swarm: SwarmHome) -> None:
    """Records from the future and the past are listed, and ages are never negative."""
    assert swarm("start", "--shared", "--wait", "one").code == 0
    (id,) = [path.name for path in (swarm.home / "swarm" / "agents").iterdir()]
    meta = swarm.place(id) / "meta.json"
    record = json.loads(meta.read_text())
    meta.write_text(json.dumps({**record, "created": 4e9, "started": 4e9, "ended": 1.0}))
    assert " 0s " in swarm("list", "--all").out
    assert swarm("show", id).code == 0
