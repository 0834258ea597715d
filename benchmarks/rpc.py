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

ZOT = f"{sys.prefix}/bin/zot"
PING = b'{"id":"1","type":"ping"}\n'
PIPELINES, COMMANDS = 32, 1_000


def rows(p: float, s: float) -> Iterator[Row]:
    spawn = best(15, first_ping)
    yield Row("zot rpc: spawn → answer to the first ping", spawn / p, 4, "P", note=f"{spawn * 1000:.0f} ms")
    p50, p99 = sequential(5_000)
    yield Row("zot rpc: ping, one after another, p50", p50 * 1e6, 50, "µs", note=f"p99 {p99 * 1e6:.0f} µs")
    rate = max(pipelined(60_000) for _ in range(3))
    yield Row("zot rpc: pings pipelined", rate, 60_000, "per s", at_least=True)
    missing = unanswered()
    yield Row(
        f"zot rpc: {PIPELINES} × {COMMANDS:,} pipelined commands, ids not answered exactly once", missing, 0, "ids"
    )


@contextmanager
def server() -> Iterator[subprocess.Popen[bytes]]:
    """A server whose model is never asked; leaving the block closes its input and waits for it."""
    with scratch_home() as (env, cwd):
        child = subprocess.Popen(
            [ZOT, "rpc"], env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
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


def sequential(count: int) -> tuple[float, float]:
    times: list[float] = []
    with server() as child:
        wake(child)
        for _ in range(count):
            started = time.perf_counter()
            ask(child, PING)
            times.append(time.perf_counter() - started)
    times.sort()
    return times[count // 2], times[count * 99 // 100]


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
