"""Swarm faults: killed supervisor, full disk, output floods, clock jumps, exhausted budget.

The long runs are under the marker ``torture``; a short slice of each is in every test run.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.full_disk import confined
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, SeenRequest, Slow, Turn
from tests.fakes.swarm_home import SwarmHome, wait_for
from tests.unit.swarm.repositories import git, repository
from zot.agent.config import RunConfig
from zot.errors import ZotError
from zot.swarm import client
from zot.swarm.client import SupervisorClient
from zot.swarm.worker_config import prepare_worker
from zot.wire.swarm_frames import SwarmBudget, SwarmStart

PRICE = 0.0045  # of 1,000 tokens in and 100 out
ENDED = {"done", "failed", "stopped"}
LINES = 5
ALL_STARTED = threading.Event()  # until then nobody is answered, so that all are at work together


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


async def begin(swarm: SupervisorClient, home: SwarmHome, number: int, cwd: str = "", mode: str = "shared") -> str:
    command = SwarmStart(
        task=f"task {number}",
        cwd=cwd or str(home.zot.project),
        mode=mode,
        provider="fake",
        model="m",
        once=True,
        restarts=99,
        swarm="s",
    )
    return (await swarm.start(*prepare_worker(RunConfig(home=home.home), command))).id


async def tell(home: SwarmHome, id: str, text: str) -> bool:
    """Whether it was acknowledged."""
    try:
        async with client.connect_or_start(home.home) as swarm:
            await swarm.send(id, text)
    except ZotError:
        return False
    return True


async def until_all_ended(home: SwarmHome, ids: list[str], seconds: float = 300.0) -> None:
    async with asyncio.timeout(seconds):
        while {home.status(id) for id in ids} - ENDED:
            async with client.connect_if_running(home.home):
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
    """Workers run and receive messages while their supervisor is killed repeatedly; checked at the end."""
    chance = random.Random(seed)
    acknowledged: list[tuple[str, str]] = []
    async with client.connect_or_start(home.home) as swarm:
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


async def test_budget_applies_to_all_workers_together(swarm: SwarmHome, model: FakeModelServer) -> None:
    async with client.connect_or_start(swarm.home) as connection:
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


def write_a_file(request: SeenRequest) -> Turn:
    """Commands that each add a line to the task's own file; one that was interrupted is given again."""
    assert ALL_STARTED.wait(600)
    messages = request.json["messages"]
    number = users(request)[0].split()[1]
    done = sum(message["role"] == "tool" and "[exit 0]" in str(message["content"]) for message in messages)
    if done < LINES:
        command = f"echo {done:02} >> {number}.txt; sleep 1"
        return CallTools([("bash", {"command": command})], usage=(1000, 100))
    return Say("written", usage=(1000, 100))


def kill_some_workers(home: SwarmHome, ids: list[str], count: int, chance: random.Random) -> int:
    running = [pid for id in ids if home.status(id) == "running" and (pid := home.record(id).get("pid"))]
    chosen = chance.sample(running, min(count, len(running)))
    for pid in chosen:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(chosen)


@pytest.mark.torture
@pytest.mark.timeout(1800)
async def test_sixty_four_workers_survive_kills_of_workers_and_service(
    zot: Zot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every task ends once, no acknowledged message is lost, no process and no tree stays, and the budget holds."""
    count = 64
    chance, killed, began = random.Random(7), 0, time.monotonic()
    repo = repository(tmp_path / "repo")
    (repo / "a.txt").write_bytes(b"not committed yet\r\n\x00")
    with FakeModelServer([write_a_file], repeat=True) as server:
        home = SwarmHome(zot, server.url)
        for name, value in zot.env().items():
            monkeypatch.setenv(name, value)
        config = {"provider": "fake", "model": "m", "swarm_agents": count}
        (home.home / "config.json").write_text(json.dumps(config))
        async with client.connect_or_start(home.home) as swarm:
            await swarm.request(SwarmBudget(swarm="s", max_agents=count, max_cost=10.0))
            ids = [await begin(swarm, home, number, cwd=str(repo), mode="worktree") for number in range(count)]
        ALL_STARTED.set()
        told: list[tuple[str, str]] = []
        for kill in range(3):
            for id in chance.sample(ids, count // 4):
                if await tell(home, id, text := f"message {kill} for {id}"):
                    told.append((id, text))
            wait_until_somebody_asks(home, server)
            killed += kill_some_workers(home, ids, count // 30, chance)
            await asyncio.sleep(chance.random())
            kill_supervisor(home)
        while killed < count // 10:
            killed += kill_some_workers(home, ids, 1, chance)
            await asyncio.sleep(0.2)
        await until_all_ended(home, ids, 1500)
        home.until_nothing_runs()
        took, asked = time.monotonic() - began, spent(server)
        assert len(told) > count // 4 and killed >= count // 10
        check_each_worker(home, ids, told)
        assert asked <= 10.0
        assert git(repo, "worktree", "list").count("\n") == 0
        assert (repo / "a.txt").read_bytes() == b"not committed yet\r\n\x00"
        assert home("rm", "--force", *ids).code == 0
        assert not any((home.home / "swarm" / "agents").iterdir())
        assert git(repo, "branch", "--format", "%(refname:short)") == "main"
        home.close()
    print(
        f"\n{count} workers: {took:.0f} s, {killed} of them and 3 supervisors killed, ${asked:.2f} spent, "
        f"{len(told)} messages acknowledged"
    )


def check_each_worker(home: SwarmHome, ids: list[str], told: list[tuple[str, str]]) -> None:
    for number, id in enumerate(ids):
        ends = [event for event in home.events(id) if event["type"] == "agent_stopped" and event["status"] in ENDED]
        assert [event["status"] for event in ends] == ["done"], (id, ends)
        said = said_in_session(home, id)
        assert said[f"task {number}"] == 1
        assert all(said[text] == 1 for whom, text in told if whom == id), (id, said)
        lines = (home.place(id) / "tree" / f"{number}.txt").read_text().split()
        assert sorted(set(lines)) == [f"{line:02}" for line in range(LINES)] and sorted(lines) == lines, (id, lines)


async def test_rate_limit_applies_to_all_workers(swarm: SwarmHome) -> None:
    """The first request is rate-limited for two seconds; no worker sends a request meanwhile, and none fails."""
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
        async with client.connect_or_start(swarm.home) as connection:
            first = await begin(connection, swarm, 0)
            wait_for(lambda: bool(seen), lambda: "nobody asks")
            wait_for(lambda: any("rate" in event.get("reason", "") for event in swarm.events(first)), lambda: "no 429")
            ids = [first, *[await begin(connection, swarm, number) for number in range(1, 4)]]
        await until_all_ended(swarm, ids)
        assert {swarm.status(id) for id in ids} == {"done"}
        assert len(seen) == 5 and all(later - seen[0] >= 1.9 for later in seen[1:])


def test_unwritable_record_fails_the_worker(swarm: SwarmHome, zot: Zot) -> None:
    """On a full disk the worker fails with the reason, and existing records stay whole."""
    (zot.project / "x").write_text("a line of a file that is read\n" * 500)
    argv = zot.argv(["swarm", "start", "--shared", "task"])
    zot.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(confined(argv, 12_000), env=zot.env(), cwd=zot.project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = swarm.until(done.stdout.strip(), "failed")
    assert "too large" in record["reason"].lower() or "cannot" in record["reason"]


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs a small file system to fill")
def test_full_disk_leaves_no_record_at_running(zot: Zot) -> None:
    """issue 28: the supervisor lists the right state, stays, and saves it when there is space again."""
    home = zot.home / "zot"
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(home)], check=True)
    answer = threading.Event()

    def wait(request: SeenRequest) -> Turn:
        assert answer.wait(30)
        return Say("done")

    try:
        with FakeModelServer([wait], repeat=True) as server:
            swarm = SwarmHome(zot, server.url)
            id = swarm.start("task", "--shared", "--once")
            server.wait_for_requests(1)
            swarm.until(id, "running")
            filler = home / "filler"
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            answer.set()
            wait_for(lambda: id not in swarm("list").out, lambda: swarm("list").out)
            assert swarm.status(id) == "running"  # on the disk, which is full
            filler.unlink()
            assert swarm.until(id, "done", "failed")["status"]
            swarm.until_nothing_runs()
    finally:
        answer.set()
        subprocess.run(["umount", "-l", str(home)], check=True)


def test_output_flood_does_not_block_others(swarm: SwarmHome, zot: Zot) -> None:
    """Tens of megabytes of output: the supervisor stays small and answers others."""

    def flood(request: SeenRequest) -> Turn:
        if request.method == "POST" and request.json["messages"][-1]["role"] == "user":
            return CallTools([("bash", {"command": "yes a line of a flood | head -c 60000000"})])
        return Say("done")

    with FakeModelServer([flood], repeat=True) as server:
        SwarmHome(zot, server.url)
        id = swarm.start("flood", "--shared", "--write")
        swarm.seen_at(id, "tool_call")
        assert swarm("list").code == 0
        assert swarm.until(id, "idle")["answer"] == "done"
        size = most_resident_mb(swarm.supervisor)  # it lives as long as the worker waits for more
        assert size < 60, size
        assert (swarm.place(id) / "events.jsonl").stat().st_size < 1_000_000


def most_resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def test_a_killed_supervisor_leaves_nothing_running(swarm: SwarmHome, zot: Zot) -> None:
    """Neither workers nor their children run; the next query reports them as lost."""

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


def test_clock_jump_is_harmless(swarm: SwarmHome) -> None:
    """Records from the future and the past are listed, and ages are never negative."""
    assert swarm("start", "--shared", "--wait", "one").code == 0
    (id,) = [path.name for path in (swarm.home / "swarm" / "agents").iterdir()]
    meta = swarm.place(id) / "meta.json"
    record = json.loads(meta.read_text())
    meta.write_text(json.dumps({**record, "created": 4e9, "started": 4e9, "ended": 1.0}))
    assert " 0s " in swarm("list", "--all").out
    assert swarm("show", id).code == 0


LISTENS = """
import asyncio, sys
from pathlib import Path
from zot.swarm import client

async def listen():
    async with client.connect_or_start(Path(sys.argv[1])) as swarm:
        await swarm.subscribe()
        print("connected", flush=True)
        await asyncio.sleep(1000)

asyncio.run(listen())
"""


def test_killed_client_does_not_count_as_listener(swarm: SwarmHome) -> None:
    """The only client is idle: the supervisor is there for it when the last worker has ended, and no longer than it."""
    argv = [sys.executable, "-c", LISTENS, str(swarm.home)]
    listener = subprocess.Popen(argv, env={**os.environ, "ZOT_HOME": ""}, stdout=subprocess.PIPE)
    assert listener.stdout is not None and listener.stdout.readline() == b"connected\n"
    supervisor = swarm.supervisor
    assert swarm("start", "--shared", "--wait", "one").code == 0
    assert swarm.supervisor == supervisor and supervisor in swarm.processes()
    listener.send_signal(signal.SIGSTOP)
    listener.kill()
    listener.wait()
    swarm.until_nothing_runs()


def test_removed_home_ends_its_supervisor_not_the_next(swarm: SwarmHome, zot: Zot) -> None:
    zot.environment["ZOT_SWARM_PATIENCE_S"] = "4"
    swarm.until(swarm.start("one", "--shared"), "idle")
    old, place = swarm.supervisor, swarm.home / "swarm"
    place.rename(swarm.home / "removed")
    zot.environment["ZOT_SWARM_PATIENCE_S"] = "1000"
    id = swarm.start("two", "--shared")
    new = swarm.supervisor
    assert new != old
    wait_for(lambda: old not in swarm.processes(), lambda: "the first one is still there")
    swarm.until(id, "idle")
    assert swarm("list", "--all").out.count(" idle ") == 1 and swarm.supervisor == new
    assert swarm("stop", id).code == 0
