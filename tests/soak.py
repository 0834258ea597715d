"""``python -m tests.soak [--minutes N]``: zot rpc with tools and extensions at work for minutes, and what it leaves.

Every prompt runs a command, a file tool and a tool of an extension, past a guard that hears each call. Watched are
memory, open files, children and threads of the process, and whether an event is missing or out of order. The first
tenth is warm-up; what grows after it is a leak.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.fakes.rpc_client import FakeRpcClient

ECHO = """
hello()
tool("echo")
ready()
for line in sys.stdin.buffer:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        text(frame["id"], "echoed")
    elif frame["type"] == "shutdown":
        break
"""
GUARD = """
hello()
subscribe(intercept=["tool_call"])
ready()
for line in sys.stdin.buffer:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        answer(frame)
    elif frame["type"] == "shutdown":
        break
"""
CALLS = [("bash", {"command": "seq 500"}), ("write", {"path": "w.txt", "content": "x" * 5000}), ("echo", {})]
ANSWER = " ".join(["a word and another"] * 100)
CLEAR_EVERY = 20
MOST_GROWTH = 0.10  # of memory, from the end of the warm-up to the end


class Sample(NamedTuple):
    memory_kib: int
    files: int
    children: int
    threads: int


def sample(pid: int) -> Sample:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    tasks = os.listdir(f"/proc/{pid}/task")
    children = sum(len(Path(f"/proc/{pid}/task/{task}/children").read_text().split()) for task in tasks)
    return Sample(int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), children, len(tasks))


def soak(seconds: float, scratch: Path) -> list[str]:
    """What went wrong; the figures are printed."""
    zot = Zot(scratch / "home", scratch / "project")
    for directory in (zot.home, zot.project):
        directory.mkdir()
    extensions = zot.home / "zot" / "extensions"
    write_extension(extensions, "echo", ECHO)
    write_extension(extensions, "watch", GUARD, guard=True)
    faults: list[str] = []
    samples: list[Sample] = []
    prompts = 0
    turns = itertools.cycle((CallTools(CALLS), Say(ANSWER)))
    with FakeModelServer([lambda request: next(turns)], repeat=True) as server:
        argv = zot.argv(["rpc", "--base-url", server.url, "--api-key", "k"])
        client = FakeRpcClient(argv, zot.env(), zot.project)
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(faults) < 10:
            client.seen.clear()
            client.raw.clear()
            try:
                faults += _judge(client.prompt("go"), prompts)
            except AssertionError as error:
                faults.append(f"prompt {prompts}: {error}; exit code {client.process.wait(10)}")
                break
            prompts += 1
            if prompts % CLEAR_EVERY == 0:
                if not client.ask("clear")["success"]:
                    faults.append("clear failed")
                samples.append(sample(client.process.pid))
        code = client.process.poll() or client.close()
    if code:
        faults.append(f"zot rpc ended with {code}: {client.stderr}")
    return faults + _grown(samples, prompts, seconds)


def _judge(events: list[dict[str, object]], prompt: int) -> list[str]:
    """Every event of the turn is there, once."""
    kinds = [str(event["type"]) for event in events]
    said = "".join(str(event["delta"]) for event in events if event["type"] == "text_delta")
    wanted = {"tool_call": 3, "tool_result": 3, "done": 1, "response": 1}
    faults = [f"prompt {prompt}: {kinds.count(kind)} {kind}" for kind, n in wanted.items() if kinds.count(kind) != n]
    faults += [f"prompt {prompt}: {event}" for event in events if event.get("is_error")]
    if said != ANSWER:
        faults.append(f"prompt {prompt}: {len(said)} characters of {len(ANSWER)} arrived")
    return faults


def _grown(samples: list[Sample], prompts: int, seconds: float) -> list[str]:
    warm = samples[len(samples) // 10 :]
    if len(warm) < 10:
        return ["too few samples to judge"]
    tenth = max(len(warm) // 10, 1)
    first = [statistics.median(column) for column in zip(*warm[:tenth], strict=True)]
    last = [statistics.median(column) for column in zip(*warm[-tenth:], strict=True)]
    figures = ", ".join(
        f"{name} {one:.0f} to {other:.0f}" for name, one, other in zip(Sample._fields, first, last, strict=True)
    )
    print(f"{prompts} prompts, {3 * prompts} tool calls in {seconds:.0f} s: {figures}")
    faults = (
        [] if last[0] <= first[0] * (1 + MOST_GROWTH) else [f"memory grew from {first[0]:.0f} to {last[0]:.0f} KiB"]
    )
    names = zip(Sample._fields[1:], first[1:], last[1:], strict=True)
    return faults + [f"{name} grew from {one:.0f} to {other:.0f}" for name, one, other in names if other > one]


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory() as scratch:
        faults = soak(minutes * 60, Path(scratch))
    for fault in faults:
        print(fault)
    print("nothing leaked, no event lost" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
