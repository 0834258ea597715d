"""What a recording costs the run it is of, and how quickly a recorded run is shown and verified.

The difference between a plain and a recorded run is smaller than what two runs of the same kind differ by, on any
machine that others use too: between pairs it was seen at -9 and at +19 %. So what holds the budget is the time that the
recorder itself takes, told by a clock around each of its doors; the difference is shown beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.measure import best, run, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import CallTools, FakeModelServer, Say, Slow

ZOT = [f"{sys.prefix}/bin/zot"]
STEPS = 100
EVENTS = 1_000
PAIRS = 10
STREAMED_S = 0.0005  # between two events of an answer: no model is as fast

# zot with a clock around every door of the recorder that the agent passes between an answer and its next request.
# What is written is counted too, wherever it happens.
_CLOCKED = """
import os, sys
from time import perf_counter
from zot.features.recording.journal_file import RecordingWriter
from zot.features.recording.recording_boundary import RecordingBoundary
from zot.features.recording.recorder import Recorder

spent = {"step": 0.0, "written": 0.0}
inside = False

def clocked(owner, name, account):
    door = getattr(owner, name)
    def timed(*args, **named):
        global inside
        if inside:
            return door(*args, **named)
        inside, began = True, perf_counter()
        try:
            return door(*args, **named)
        finally:
            spent[account] += perf_counter() - began
            inside = False
    setattr(owner, name, timed)

for name in ("request", "of", "tool", "progress", "result", "failed"):
    clocked(Recorder, name, "step")
clocked(RecordingBoundary, "_on_event", "step")
clocked(RecordingWriter, "flush", "written")

def leave(code, leave=os._exit):
    with open(sys.argv[-1] + ".spent", "w") as file:
        file.write(f"{spent['step']} {spent['written']}")
    leave(code)

os._exit = leave
from zot.__main__ import main
sys.exit(main())
"""


def rows() -> Iterator[Row]:
    with scratch_home() as (env, cwd):
        record = cwd / "run.zotrec"
        pairs: list[tuple[Run, Run]] = []
        for _ in range(PAIRS):  # in turn: a machine is not equally fast all the time
            pairs.append((run_of(ZOT, env, cwd), run_of(ZOT, env, cwd, "--record", str(record))))
        step = median(median(plain.steps) for plain, _ in pairs)
        spent, written = min(clocked(env, cwd, record) for _ in range(PAIRS))
        note = f"{spent * 1e6:.0f} µs of {step * 1000:.2f} ms; {written * 1e6:.0f} µs more while the model is awaited"
        yield Row("--record: of a tool step, on its way to the next request", spent / step * 100, 2, "%", note=note)
        for what, ratios in (
            ("a tool step", sorted(median(after.steps) / median(before.steps) for before, after in pairs)),
            ("processor time", sorted(after.cpu / before.cpu for before, after in pairs)),
        ):
            note = f"pairs of runs from {(ratios[0] - 1) * 100:+.0f} to {(ratios[-1] - 1) * 100:+.0f} %"
            yield Row(f"--record: {what} of recorded over plain runs", (median(ratios) - 1) * 100, None, "%", note=note)
        yield from replayed(env, cwd, record)


class Run(NamedTuple):
    """What each tool step took, from the last byte of an answer to the first of the next request; the whole's CPU."""

    steps: list[float]
    cpu: float


def run_of(zot: list[str], env: dict[str, str], cwd: Path, *more: str) -> Run:
    turn = Slow(CallTools([("bash", {"command": "true"})], text="One step more."), STREAMED_S)
    with FakeModelServer([*[turn] * STEPS, Say("done")]) as server:
        done = run([*zot, "-p", "go", "--base-url", server.url, *more], env, cwd)
    return Run([after.first_byte - before.last_byte for before, after in pairwise(server.timings)], done.cpu)


def clocked(env: dict[str, str], cwd: Path, record: Path) -> tuple[float, float]:
    """Seconds of a step in the recorder, and those it writes for."""
    run_of([sys.executable, "-c", _CLOCKED], env, cwd, "--record", str(record))
    spent, written = Path(f"{record}.spent").read_text().split()
    return float(spent) / STEPS, float(written) / STEPS


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
