"""A hundred runtimes in one process, each hearing 50 events a second: nothing lost, nothing reordered, flat memory.

Three processes: this one, a model server that keeps the pace by the clock, and the program with the runtimes. A whole
minute; ``ZOT_BENCH_EMBEDDING_S=10`` makes it shorter. Each answer is a conversation of its own: a transcript is meant
to be remembered, so what grows besides would be a leak.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import scratch_home
from benchmarks.row import Row

if TYPE_CHECKING:
    from zot.sdk import Runtime, TextDelta

ROOT = Path(__file__).parent.parent
RUNTIMES, RATE = 100, 50
SECONDS = float(os.environ.get("ZOT_BENCH_EMBEDDING_S", "60"))
ANSWER = 2 * RATE  # events of one answer; then the next prompt


def rows() -> Iterator[Row]:
    seen = measure()
    what = f"{RUNTIMES} runtimes × {RATE} events/s for {SECONDS:g} s"
    yield Row(f"{what}: events lost or out of order", seen["wrong"], 0, "events", note=f"{seen['events']:,} events")
    pace = f"loop lag p50 {seen['lag_ms']} ms, {seen['cpu']:.0%} of a core"
    yield Row(f"{what}: events read", seen["rate"], RUNTIMES * RATE * 0.9, "per s", at_least=True, note=pace)
    yield Row(f"{what}: memory grown, first to last quarter", seen["grown_mb"], 5, "MB", note=f"{seen['rss_mb']} MB")


def measure() -> dict[str, float]:
    with scratch_home() as (env, cwd):
        server = subprocess.Popen(
            [sys.executable, "-m", __name__, "serve"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        try:
            argv = [sys.executable, "-m", __name__, "run", server.stdout.readline().strip(), str(cwd)]
            done = subprocess.run(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, check=True)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
    return json.loads(done.stdout)


# --- the program with the runtimes


async def embed(url: str, cwd: str) -> dict[str, float]:
    heard = [0] * RUNTIMES
    spans = [0.0] * RUNTIMES  # from the first event to the last
    lags: list[float] = []
    memory: list[float] = []

    async def one(number: int) -> int:
        from zot.sdk import Runtime

        mistakes = 0
        async with Runtime(provider="anthropic", base_url=url, cwd=cwd, skills=False, context_files=False) as zot:
            began = time.monotonic()
            while time.monotonic() - began < SECONDS - 1:
                words = [event.delta async for event in listen(zot, number)]
                mistakes += sum(word != f"{position} " for position, word in enumerate(words))
                mistakes += abs(ANSWER - len(words))
                await zot.set_messages()
            spans[number] = time.monotonic() - began
        return mistakes

    async def listen(zot: Runtime, number: int) -> AsyncIterator[TextDelta]:
        from zot.sdk import Error, TextDelta

        async for event in zot.prompt("go"):
            if isinstance(event, TextDelta):
                heard[number] += 1
                yield event
            elif isinstance(event, Error):
                raise SystemExit(f"bench: {event.message}")

    async def watch() -> None:
        """While all of them are listening."""
        while not all(spans):
            before = time.monotonic()
            await asyncio.sleep(0.01)
            if all(heard):
                lags.append(time.monotonic() - before - 0.01)
                memory.append(resident_mb())

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(RUNTIMES)]
        group.create_task(watch())
    quarter = len(memory) // 4
    return {
        "wrong": sum(task.result() for task in tasks),
        "events": sum(heard),
        "rate": sum(count / span for count, span in zip(heard, spans, strict=True)),
        "grown_mb": round(max(0.0, max(memory[-quarter:]) - max(memory[:quarter])), 2),
        "rss_mb": round(max(memory)),
        "lag_ms": round(sorted(lags)[len(lags) // 2] * 1000, 2),
        "cpu": sum(os.times()[:2]) / SECONDS,
    }


def resident_mb() -> float:
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    listed = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, text=True)
    return int(listed.stdout) / 1000


# --- the model server


async def serve() -> None:
    from tests.fakes.model_turns import Say
    from tests.fakes.model_wire import events

    words = tuple(f"{number} " for number in range(ANSWER))
    chunks = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in events("anthropic", Say(deltas=words), "m")]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await read_head(reader):
            await respond(head, reader, writer)
        writer.close()

    async def respond(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l"))
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        began = time.monotonic()
        for number, chunk in enumerate(chunks):
            due = began + min(number, ANSWER) / RATE  # by the clock, not by the pause
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            writer.write(chunk)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def read_head(reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=RUNTIMES * 2)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve())
    else:
        print(json.dumps(asyncio.run(embed(*sys.argv[2:4]))))
