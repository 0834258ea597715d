"""What telemetry adds to a run with many tool calls: the same run with and without a collector, in turn."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.command_line import ZOT
from benchmarks.measure import run, scratch_home
from benchmarks.row import Row
from tests.fakes.collector import FakeCollector
from tests.fakes.model_server import CallTools, FakeModelServer, Say

RUNS = 7
STEPS = 60
_STEP = CallTools([("read", {"path": "."}), ("bash", {"command": "true"})])


def rows() -> Iterator[Row]:
    plain: list[float] = []
    traced: list[float] = []
    with scratch_home() as (env, cwd), FakeCollector() as collector:
        for _ in range(RUNS):
            for times, more in ((plain, {}), (traced, {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})):
                with FakeModelServer([*[_STEP] * STEPS, Say("done")]) as server:
                    run([*ZOT, "-p", "go", "--base-url", server.url], env | more, cwd)
                times.append(server.timings[-1].first_byte - server.timings[0].last_byte)
    added = (min(traced) / min(plain) - 1) * 100
    note = f"{STEPS * 2} calls, {min(plain) * 1000:.0f} ms without; {len(collector.spans) // RUNS} spans a run"
    yield Row("telemetry: added to a run with many tools", added, 3, "%", note=note)
