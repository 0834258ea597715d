"""Start-up, one prompt, tool steps, streaming and memory of ``zot -p`` against the scripted server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.measure import best, peak_rss_mb, run, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import CallTools, FakeModelServer, Say

ZOT = [f"{sys.prefix}/bin/zot"]
WORD = "token "


def rows(p: float, s: float) -> Iterator[Row]:
    yield from start_up(p)
    yield from one_answer(p)
    yield tool_step(s)
    yield from streaming()


def start_up(p: float) -> Iterator[Row]:
    with scratch_home() as (env, cwd):
        for flag in ("--version", "--help"):
            wall = best(15, lambda flag=flag: run([*ZOT, flag], env, cwd).wall)
            yield Row(f"zot {flag}", wall / p, 3, "P", note=f"{wall * 1000:.0f} ms")


def one_answer(p: float) -> Iterator[Row]:
    first: list[float] = []
    gone: list[float] = []
    with scratch_home() as (env, cwd):
        for _ in range(12):
            with FakeModelServer([Say("a short answer")]) as server:
                process = run([*ZOT, "-p", "hi", "--base-url", server.url], env, cwd)
                timing = server.timings[0]
                first.append(timing.first_byte - process.started)
                gone.append(process.ended - timing.last_byte)
    yield Row("zot -p: spawn → first byte of the request", min(first) / p, 11, "P", note=f"{min(first) * 1000:.0f} ms")
    yield Row("zot -p: last byte of the answer → process gone", min(gone) * 1000, 30, "ms")
    yield Row("zot -p: peak RSS, one short answer", peak_rss(Say("a short answer")), 50, "MB")


def tool_step(s: float) -> Row:
    """The median step of a run of fifty, against the best S."""
    with (
        scratch_home() as (env, cwd),
        FakeModelServer([*[CallTools([("bash", {"command": "true"})])] * 50, Say("done")]) as server,
    ):
        run([*ZOT, "-p", "go", "--base-url", server.url], env, cwd)
    steps = sorted(after.first_byte - before.last_byte for before, after in pairwise(server.timings))
    step = steps[len(steps) // 2]
    note = f"S = {s * 1000:.2f} ms, step = {step * 1000:.1f} ms, the best {steps[0] * 1000:.1f}"
    return Row("one tool step (bash true): over S", (step - s) * 1000, 3, "ms", note=note)


def streaming() -> Iterator[Row]:
    base_cpu, base_wall = stream(1)
    for tokens in (1_000, 10_000, 20_000, 100_000):
        cpu, wall = stream(tokens)
        per_token = (cpu - base_cpu) / tokens * 1e6
        yield Row(f"streaming {tokens:,} tokens: CPU per token", per_token, 22, "µs")
        if tokens == 20_000:
            yield Row("streaming 20,000 tokens: rate", tokens / (wall - base_wall), 84_000, "tokens/s", at_least=True)
            yield Row("zot -p: peak RSS, 20,000 tokens", peak_rss(words(tokens)), 60, "MB")


def stream(tokens: int) -> tuple[float, float]:
    """CPU and wall time; short runs more often, because there the start's noise is larger than the stream."""
    with scratch_home() as (env, cwd):
        measured = []
        for _ in range(25 if tokens <= 1_000 else 5):
            with FakeModelServer([words(tokens)]) as server:
                measured.append(run([*ZOT, "-p", "go", "--base-url", server.url, "--no-session"], env, cwd))
    return min(m.cpu for m in measured), min(m.wall for m in measured)


def words(tokens: int) -> Say:
    return Say(WORD * tokens, deltas=(WORD,) * tokens)


def peak_rss(turn: Say) -> float:
    with scratch_home() as (env, cwd), FakeModelServer([turn], repeat=True) as server:
        return best(5, lambda: peak_rss_mb([*ZOT, "-p", "hi", "--base-url", server.url], env, cwd))
