"""What a recording costs the run it is of, and how quickly a recorded run is shown and verified."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

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
        runs: dict[str, list[Run]] = {"plain": [], "recorded": []}
        for _ in range(PAIRS):  # in turn: a machine is not equally fast all the time
            runs["plain"].append(run_of(env, cwd))
            runs["recorded"].append(run_of(env, cwd, "--record", str(record)))
        plain, recorded = (quick([step for one in runs[name] for step in one.steps]) for name in ("plain", "recorded"))
        note = f"{plain * 1000:.2f} ms → {recorded * 1000:.2f} ms a step, {lines_of(record) / STEPS:.0f} lines"
        yield Row(f"--record: over a run of {STEPS} tool steps", (recorded / plain - 1) * 100, 2, "%", note=note)
        # Lines are written where nobody waits for them, in no step that is among the quickest: here they count.
        before, after = (min(one.cpu for one in runs[name]) for name in ("plain", "recorded"))
        note = f"{before * 1000:.0f} ms → {after * 1000:.0f} ms, with the start and all commands"
        yield Row("--record: over the processor time of that run", (after / before - 1) * 100, None, "%", note=note)
        yield from replayed(env, cwd, record)


class Run(NamedTuple):
    """What each tool step took, from the last byte of an answer to the first of the next request; the whole's CPU."""

    steps: list[float]
    cpu: float


def run_of(env: dict[str, str], cwd: Path, *more: str) -> Run:
    turns = [*[CallTools([("bash", {"command": "true"})], text="One step more.")] * STEPS, Say("done")]
    with FakeModelServer(turns) as server:
        done = run([*ZOT, "-p", "go", "--base-url", server.url, *more], env, cwd)
    return Run([after.first_byte - before.last_byte for before, after in pairwise(server.timings)], done.cpu)


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
