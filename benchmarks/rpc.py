"""``zot rpc``: how soon it answers, how fast it answers, and that pipelined commands are each answered once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.measure import best, scratch_home
from benchmarks.row import Row
from tests.fakes.model_server import CallTools, FakeModelServer, Say, Slow, Turn

ZOT = f"{sys.prefix}/bin/zot"
PING = b'{"id":"1","type":"ping"}\n'
PIPELINES, COMMANDS = 32, 1_000
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def rows(p: float, s: float) -> Iterator[Row]:
    spawn = best(15, first_ping)
    yield Row("zot rpc: spawn → answer to the first ping", spawn / p, 4, "P", note=f"{spawn * 1000:.0f} ms")
    yield sequential_pings()
    rate = max(pipelined(60_000) for _ in range(3))
    yield Row("zot rpc: pings pipelined", rate, 60_000, "per s", at_least=True)
    yield Row(
        "zot rpc: abort → done, while streaming", abort(Slow(Say("word " * 1000), 0.01), b"text_delta"), 100, "ms"
    )
    sleep = CallTools([("bash", {"command": "echo begun; sleep 60"})])
    yield Row("zot rpc: abort → done, in a tool", abort(sleep, b"tool_progress"), 100, "ms")
    missing = unanswered()
    yield Row(
        f"zot rpc: {PIPELINES} × {COMMANDS:,} pipelined commands, ids not answered exactly once", missing, 0, "ids"
    )


@contextmanager
def server(*flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """A running server; leaving the block closes its input and waits for it."""
    with scratch_home() as (env, cwd):
        child = subprocess.Popen(
            [ZOT, "rpc", *flags], env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert child.stdin is not None and child.stdout is not None
        try:
            yield child
        finally:
            child.stdin.close()
            child.wait(10)
            child.stdout.close()


def first_ping() -> float:
    started = time.monotonic()
    with server() as child:
        ask(child, PING)
        return time.monotonic() - started


def ask(child: subprocess.Popen[bytes], line: bytes) -> bytes:
    """One command and its answer, with nothing else on the way."""
    assert child.stdin is not None and child.stdout is not None
    os.write(child.stdin.fileno(), line)
    return os.read(child.stdout.fileno(), 65536)


def wake(child: subprocess.Popen[bytes]) -> None:
    """Past the early pings: the server proper answers from here on."""
    ask(child, b'{"type":"get_state"}\n')


def sequential_pings() -> Row:
    """On one core. Between two the figure is how fast an idle one wakes: here even ``cat`` takes longer than 50 µs."""
    p50, p99 = min(sequential(5_000, 0) for _ in range(3))
    note = f"p99 {p99 * 1e6:.0f} µs; a bare `cat` {echo(0) * 1e6:.0f} µs"
    if CORES > 1:
        note += f"; on two cores {sequential(5_000, 1)[0] * 1e6:.0f} µs, a bare `cat` {echo(1) * 1e6:.0f} µs"
    return Row("zot rpc: ping, one after another, on one core, p50", p50 * 1e6, 50, "µs", note=note)


@contextmanager
def on_cores(child: int, core: int) -> Iterator[None]:
    """This process on the first core, every thread of the child on another; where that cannot be had, as it comes."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, before[:1])
    for thread in os.listdir(f"/proc/{child}/task"):
        os.sched_setaffinity(int(thread), before[core : core + 1])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def echo(core: int) -> float:
    """The median round trip to ``cat``: what any child costs on this machine."""
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert child.stdin is not None
    with on_cores(child.pid, core):
        times = round_trips(child, 2_000)
    child.stdin.close()
    child.wait(10)
    return times[len(times) // 2]


def sequential(count: int, core: int) -> tuple[float, float]:
    with server() as child:
        wake(child)
        with on_cores(child.pid, core):
            times = round_trips(child, count)
    return times[count // 2], times[count * 99 // 100]


def round_trips(child: subprocess.Popen[bytes], count: int) -> list[float]:
    """Sorted."""
    times: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        ask(child, PING)
        times.append(time.perf_counter() - started)
    return sorted(times)


def pipelined(count: int) -> float:
    with server() as child:
        wake(child)
        assert child.stdin is not None and child.stdout is not None
        feeder = threading.Thread(target=child.stdin.write, args=(PING * count,))
        started = time.perf_counter()
        feeder.start()
        answers = 0
        while answers < count:
            answers += os.read(child.stdout.fileno(), 1 << 20).count(b"\n")
        elapsed = time.perf_counter() - started
        feeder.join()
    return count / elapsed


def abort(turn: Turn, sign: bytes) -> float:
    """Milliseconds from the command to the last event, once ``sign`` was seen; the median of seven."""
    times: list[float] = []
    with FakeModelServer([turn], repeat=True) as model, server("--base-url", model.url) as child:
        for _ in range(7):
            ask_for(child, b'{"type":"prompt","message":"go"}\n', sign)
            started = time.perf_counter()
            ask_for(child, b'{"type":"abort"}\n', b'{"type":"done"}')
            times.append(time.perf_counter() - started)
    return sorted(times)[3] * 1000


def ask_for(child: subprocess.Popen[bytes], line: bytes, sign: bytes) -> None:
    heard = ask(child, line)
    while sign not in heard:
        assert child.stdout is not None
        heard += os.read(child.stdout.fileno(), 65536)


def unanswered() -> int:
    """How many ids of all pipelines were not answered exactly once; each pipeline is a client of its own process."""
    wrong = [0] * PIPELINES
    threads = [threading.Thread(target=_pipeline, args=(number, wrong)) for number in range(PIPELINES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(wrong)


def _pipeline(number: int, wrong: list[int]) -> None:
    kinds = ("ping", "get_state", "get_messages", "abort")
    ids = [f"{number}-{n}" for n in range(COMMANDS)]
    lines = [json.dumps({"id": id, "type": kinds[n % len(kinds)]}) for n, id in enumerate(ids)]
    with server() as child:
        assert child.stdin is not None and child.stdout is not None
        feeder = threading.Thread(target=_feed, args=(child, "\n".join(lines).encode() + b"\n"))
        feeder.start()
        answered = [json.loads(line)["id"] for line in iter(child.stdout.readline, b"")]
        feeder.join()
    wrong[number] = sum(answered.count(id) != 1 for id in set(ids) | set(answered))


def _feed(child: subprocess.Popen[bytes], data: bytes) -> None:
    assert child.stdin is not None
    child.stdin.write(data)
    child.stdin.close()
