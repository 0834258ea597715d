"""How soon a delegated agent asks its model, from the call that starts it; the first call loads its code."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.command_line import ZOT
from benchmarks.measure import run, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import CallTools, FakeModelServer, Say

RUNS = 7
_CALL = CallTools([("agent", {"agent": "explore", "task": "look"})])


def rows() -> Iterator[Row]:
    first: list[float] = []
    later: list[float] = []
    for _ in range(RUNS):
        turns = [CallTools([("more_tools", {"names": ["agent"]})]), _CALL, Say("a"), _CALL, Say("b"), Say("done")]
        with scratch_home() as (env, cwd), FakeModelServer(turns) as server:
            run([*ZOT, "-p", "go", "--base-url", server.url], env, cwd)
            timings = server.timings
        first.append(timings[2].first_byte - timings[1].last_byte)
        later.append(timings[4].first_byte - timings[3].last_byte)
    note = f"best of {RUNS}; a later call {min(later) * 1000:.1f} ms"
    yield Row("a delegated agent: its call → its first request", min(first) * 1000, 25, "ms", note=note)
