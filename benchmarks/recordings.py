"""What a recording costs the run it is of, and how quickly a recorded run is shown and verified."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.measure import best, run, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import CallTools, FakeModelServer, Say

ZOT = [f"{sys.prefix}/bin/zot"]
STEPS = 100
EVENTS = 1_000
PAIRS = 10


def rows() -> Iterator[Row]:
    with scratch_home() as (env, cwd):
        record = cwd / "run.zotrec"
        steps: dict[str, list[float]] = {"plain": [], "recorded": []}
        for _ in range(PAIRS):  # in turn: a machine is not equally fast all the time
            steps["plain"] += steps_of(env, cwd)
            steps["recorded"] += steps_of(env, cwd, "--record", str(record))
        plain, recorded = (quick(steps[name]) for name in ("plain", "recorded"))
        note = f"{plain * 1000:.2f} ms → {recorded * 1000:.2f} ms a step, {lines_of(record) / STEPS:.0f} lines"
        yield Row(f"--record: over a run of {STEPS} tool steps", (recorded / plain - 1) * 100, 2, "%", note=note)
        yield from replayed(env, cwd, record)


def steps_of(env: dict[str, str], cwd: Path, *more: str) -> list[float]:
    """What each tool step of one run took, from the last byte of an answer to the first of the next request."""
    turns = [*[CallTools([("bash", {"command": "true"})], text="One step more.")] * STEPS, Say("done")]
    with FakeModelServer(turns) as server:
        run([*ZOT, "-p", "go", "--base-url", server.url, *more], env, cwd)
    return [after.first_byte - before.last_byte for before, after in pairwise(server.timings)]


def quick(steps: list[float]) -> float:
    """One of the quickest in fifty: noise only ever adds, and others have the machine, too."""
    return sorted(steps)[len(steps) // 50]


def replayed(env: dict[str, str], cwd: Path, record: Path) -> Iterator[Row]:
    """Of a run with as many events as the budget says, at least."""
    script = cwd / "script.json"
    count = int(EVENTS / lines_of(record) * STEPS) + 1
    one = {"text": "One step more.", "tool_calls": [{"name": "bash", "args": {"command": "true"}}]}
    script.write_text(json.dumps({"turns": [*[one] * count, {"text": "done"}]}))
    run([*ZOT, "-p", "--provider", "script", "--script", str(script), "--record", str(record), "go"], env, cwd)
    note = f"{lines_of(record):,} lines"
    for how in ("--fast", "--verify"):
        wall = best(5, lambda how=how: run([*ZOT, "replay", how, str(record)], env, cwd).wall)
        yield Row(f"zot replay {how}: a run of {EVENTS:,} events", wall, 2, "s", note=note)


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n")
