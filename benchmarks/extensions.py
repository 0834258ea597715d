"""The extension host under load: what an interception costs, what a flood does, what each costs at the start.

The first three are measured in a process of their own (``python -m benchmarks.extensions``), so that its memory is
the host's alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import own_peak_mb, run, scratch_home
from benchmarks.row import Row
from tests.fakes.extension_host import Kit, hosting
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import FakeModelServer, Say
from zot.provider.messages import ToolCallBlock

ZOT = f"{sys.prefix}/bin/zot"
ROOT = Path(__file__).parent.parent
ANSWERING = 'hello(); subscribe(intercept=["tool_call"]); ready(); serve(event_intercept=answer)'
FLOODING = """
hello(); ready()
frame = b'{"type":"panel_render","panel_id":"p","title":"t","lines":["' + b"x" * 130 + b'"],"footer":"f"}\\n'
while not os.path.exists(HERE + "/../go"): time.sleep(0.01)
try:
    while True: raw(frame * 20)
except BrokenPipeError: pass
"""
FLOODERS, SECONDS = 50, 3.0


def rows() -> Iterator[Row]:
    child = subprocess.run([sys.executable, "-m", __name__], cwd=ROOT, capture_output=True, check=True)
    found = json.loads(child.stdout)
    yield Row("extension: round trip of one interception, p50", found["intercept_ms"], 0.5, "ms")
    per_s = f"{FLOODERS} extensions, frames of 200 bytes"
    yield Row(f"{per_s}: accepted", found["frames_per_s"], 20_000, "per s", at_least=True)
    yield Row(f"{per_s}: loop lag, p99", found["lag_ms"], 50, "ms")
    yield Row(f"{per_s}: RSS", found["rss_mb"], 150, "MB")
    yield start_up()


def start_up() -> Row:
    """What nine more add to the first byte of ``zot -p``'s request; with one and with ten in turn, so that a slow
    minute is both's. The note has what the same programs take when nothing but a loop starts them."""
    first: dict[int, list[float]] = {1: [], 10: []}
    alone: dict[int, list[float]] = {1: [], 10: []}
    with scratch_home() as (one_env, one), scratch_home() as (ten_env, ten):
        homes = {1: (one_env, one), 10: (ten_env, ten)}
        for _ in range(12):
            for count, (env, cwd) in homes.items():
                install(count, Path(env["ZOT_HOME"]) / "extensions")
                with FakeModelServer([Say("ok")]) as server:
                    process = run([ZOT, "-p", "go", "--base-url", server.url], env, cwd)
                first[count].append(server.timings[0].first_byte - process.started)
                alone[count].append(started_alone(Path(env["ZOT_HOME"]) / "extensions"))
    one_ms, ten_ms = min(first[1]) * 1000, min(first[10]) * 1000
    interpreters = (min(alone[10]) - min(alone[1])) / 9 * 1000
    note = f"{one_ms:.0f} ms with one, {ten_ms:.0f} with ten; the interpreters alone: {interpreters:.1f} ms each"
    return Row("each further Python extension: added to the first request", (ten_ms - one_ms) / 9, 10, "ms", note=note)


def started_alone(place: Path) -> float:
    """Seconds until every extension in ``place`` has said that it is ready, to nobody."""
    began = time.perf_counter()
    children = [
        subprocess.Popen(
            [sys.executable, "-S", "main.py"], cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for directory in place.iterdir()
    ]
    for child in children:
        assert child.stdout
        while b"ready" not in child.stdout.readline():
            assert child.poll() is None
    took = time.perf_counter() - began
    for child in children:
        child.communicate()
    return took


def install(count: int, place: Path) -> None:
    if not place.exists():
        for number in range(count):
            write_extension(place, f"e{number}", "hello(); tool(NAME); ready(); serve()")


async def intercept_ms(root: Path) -> float:
    async with hosting(root) as kit:
        kit.add("guard", ANSWERING)
        host = await kit.start()
        call = ToolCallBlock("t1", "bash", '{"command":"ls -l"}')
        times: list[float] = []
        for _ in range(2000):
            began = time.perf_counter()
            await host.interceptor.before_tool(call)
            times.append(time.perf_counter() - began)
        return sorted(times)[1000] * 1000


async def flood(root: Path) -> tuple[float, float]:
    """Frames per second, and the 99th percentile of how late a timer of 1 ms is, in ms."""
    async with hosting(root) as kit:
        for number in range(FLOODERS):
            kit.add(f"e{number:02}", FLOODING)
        await kit.start()
        taken = _counted(kit)
        (root / "extensions" / "go").touch()
        await asyncio.sleep(0.5)
        before, began, lags = taken[0], time.perf_counter(), list[float]()
        while time.perf_counter() - began < SECONDS:
            slept = time.perf_counter()
            await asyncio.sleep(0.001)
            lags.append((time.perf_counter() - slept) * 1000 - 1)
        rate = (taken[0] - before) / (time.perf_counter() - began)
        return rate, sorted(lags)[int(len(lags) * 0.99)]


def _counted(kit: Kit) -> list[int]:
    taken = [0]

    def count(name: str, direction: str, line: bytes) -> None:
        taken[0] += 1

    kit.host.traces.append(count)
    return taken


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory:
        quiet, loud = Path(directory, "quiet"), Path(directory, "loud")
        quiet.mkdir()
        loud.mkdir()
        milliseconds = await intercept_ms(quiet)
        rate, lag = await flood(loud)
    memory = own_peak_mb()
    found = {"intercept_ms": milliseconds, "frames_per_s": rate, "lag_ms": lag, "rss_mb": memory}
    os.write(1, json.dumps(found).encode())


if __name__ == "__main__":
    asyncio.run(main())
