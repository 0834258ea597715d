"""A swarm on this machine: how soon a worker asks its model, and what all of them take while they wait.

A worker is compared with ``zot -p`` of the same minute: from the command on the supervisor's socket, and from the start
of the process, to the first byte of the request.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.measure import run, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import FakeModelServer, Say, SeenRequest, Silent, Turn
from zot.agent.config import RunConfig
from zot.frontends.terminal.swarm.dashboard import SwarmDashboard
from zot.swarm.client import SupervisorClient, connect_or_start
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.git.worktrees import create
from zot.swarm.worker_config import worker_spec
from zot.tui.live_region import LiveRegion
from zot.tui.theme import built_in
from zot.wire.rpc_frames import UsageTotals
from zot.wire.swarm_frames import SwarmBudget, SwarmStart, WorkerInfo

ZOT = [sys.executable, "-m", "zot"]
WORKERS, TIMES, WATCHED_S, DASHBOARD = 16, 8, 5.0, 64
TREES, FILES = 64, 5_000
_TICKS = os.sysconf("SC_CLK_TCK")


def answer(request: SeenRequest) -> Turn:
    return Silent(Say("never"), 0) if b"wait for it" in request.body else Say("done")


def rows() -> Iterator[Row]:
    yield asyncio.run(dashboard())
    with scratch_home() as (_, cwd):
        yield asyncio.run(trees(many_files(cwd / "repository"), cwd / "agents"))
    with scratch_home() as (env, cwd), FakeModelServer([answer], repeat=True) as server:
        home = Path(env["ZOT_HOME"])
        home.mkdir()
        provider = {"anthropic": {"baseUrl": server.url}}
        (home / "models.json").write_text(json.dumps({"providers": provider}))
        begin = [*ZOT, "swarm", "start", "--shared", "the first, which keeps the supervisor alive"]
        subprocess.run(begin, env=env, cwd=cwd, check=True, capture_output=True)
        try:
            yield from asyncio.run(measure(home, cwd, env, server))
        finally:
            subprocess.run([*ZOT, "swarm", "stop", "--all"], env=env, cwd=cwd, check=True, capture_output=True)


def many_files(repository: Path) -> Path:
    for number in range(FILES):
        place = repository / f"d{number % 100}" / f"s{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        lines = "x = 1  # an ordinary line of code\n" * (20 + number % 60)
        (place / f"f{number}.py").write_text(f"# {number}\n{lines}")
    me = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "files"), ("repack", "-adq")):
        subprocess.run(["git", *me, *words], cwd=repository, check=True)
    return repository


async def trees(repository: Path, agents: Path) -> Row:
    """Two at a time."""
    slots = asyncio.Semaphore(2)

    async def one(number: int) -> None:
        async with slots:
            await create(repository, agents / f"w-{number}", "w", f"w-{number}")

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(TREES):
            group.create_task(one(number))
    return Row(f"swarm: {TREES} worktrees of a repository with {FILES} files", time.monotonic() - began, 15, "s")


async def dashboard() -> Row:
    """A frame of the list as it is written to a terminal of 120×40, all workers at work and changing."""
    workers = SimpleNamespace(
        known={}, stats={}, rested={}, everyone=False, listed=lambda: list(workers.known.values())
    )
    status = SimpleNamespace(text="", failed=False, clear=lambda: None)
    theme, region, taken = built_in(), LiveRegion(reflows=True), []
    shown = SwarmDashboard(cast("Any", workers), cast("Any", status))
    for frame in range(100):
        usage = UsageTotals(
            input=9_000 + frame, output=frame, reasoning=None, cache_read=0, cache_write=0, cost_usd=frame / 9
        )
        for number in range(DASHBOARD):
            workers.known[str(number)] = WorkerInfo(
                id=str(number),
                name=f"rename-the-flag-in-part-{number}",
                status="running",
                task="rename the flag in this part of the sources, and see that the tests of it pass",
                mode="worktree",
                cwd="/work",
                created=1.0,
                started=time.time() - frame,
                usage=usage,
                activity=f"tool: bash {frame}",
            )
        began = time.perf_counter()
        lines = [theme.grounded(row, 120) for row in shown.lines(theme, 120, 36)]
        region.frame([], lines, None, 120, 40)
        taken.append(time.perf_counter() - began)
    return Row(f"dashboard: a frame with {DASHBOARD} workers", sorted(taken)[len(taken) // 2] * 1000, 10, "ms")


async def measure(home: Path, cwd: Path, env: dict[str, str], server: FakeModelServer) -> list[Row]:
    async with connect_or_start(home) as swarm:
        alone, worker = [], []
        for _ in range(TIMES):
            before = len(server.timings)
            ran = run([*ZOT, "-p", "hi"], env, cwd)
            alone.append(server.timings[before].first_byte - ran.started)
            before, started = len(server.timings), time.monotonic()
            id = await start(swarm, cwd, "hi")
            await asked(server, before + 1)
            worker.append(server.timings[before].first_byte - started)
            await swarm.wait(id)  # two at once would be measured together
        later = (min(worker) - min(alone)) * 1000
        note = f"{min(worker) * 1000:.0f} ms, zot -p {min(alone) * 1000:.0f} ms"
        found = [Row("swarm: start → first byte of a worker's request, after zot -p", later, 20, "ms", note=note)]
        return [*found, *await waiting(swarm, home, cwd, server)]


async def waiting(swarm: SupervisorClient, home: Path, cwd: Path, server: FakeModelServer) -> list[Row]:
    await swarm.request(SwarmBudget(swarm="bench", max_agents=WORKERS))
    before = len(server.timings)
    ids = [await start(swarm, cwd, "wait for it", "bench") for _ in range(WORKERS)]
    await asked(server, before + WORKERS)
    supervisor = int(json.loads((home / "swarm" / "supervisor.json").read_text())["pid"])
    await asyncio.sleep(1)  # what a start leaves to be done
    used, since = cpu_s(supervisor), time.monotonic()
    await asyncio.sleep(WATCHED_S)
    share = (cpu_s(supervisor) - used) / (time.monotonic() - since) * 100
    pids = [info.pid for info in await swarm.list() if info.id in ids]
    sizes = sorted(rss_mb(pid) for pid in pids)
    rows = [
        Row(f"swarm: {WORKERS} idle workers, RSS of each", sum(sizes) / len(sizes), 45, "MB"),
        Row(f"swarm: the supervisor of {WORKERS} workers, RSS", rss_mb(supervisor), 60, "MB"),
        Row(f"swarm: the supervisor of {WORKERS} idle workers, CPU", share, 3, "%"),
    ]
    started = time.monotonic()
    await swarm.stop(all=True)
    stopped = time.monotonic() - started
    return [*rows, Row(f"swarm: stop --all, {WORKERS} workers during an answer", stopped, 10, "s")]


async def start(swarm: SupervisorClient, cwd: Path, task: str, name: str = "") -> str:
    command = SwarmStart(
        task=task, cwd=str(cwd), mode="shared", provider="anthropic", model="claude-sonnet-5-5", once=True, swarm=name
    )
    return (await swarm.start(worker_spec(RunConfig(), command), WorkerKey(provider="anthropic", value="bench"))).id


async def asked(server: FakeModelServer, count: int) -> None:
    async with asyncio.timeout(120):
        while len(server.timings) < count:  # noqa: ASYNC110  the server is in a thread of its own
            await asyncio.sleep(0.002)


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
