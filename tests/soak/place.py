"""The shared setup of both soaks: extensions, hooks, an MCP server and a model; a prompt is ``N kind`` and its answer
contains ``N``.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.conformance.fault_stage import left_behind, orphans
from tests.e2e.conftest import Zot
from tests.e2e.test_hooks import entry, own
from tests.e2e.test_mcp import mine
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Slow, Turn
from tests.soak import counted

ECHO = """
hello("commands")
tool("echo")
send(type="register_command", name="hail", description="answers")
ready()
serve(
    tool_call=lambda frame: text(frame["id"], "echoed"),
    command_invoked=lambda frame: send(type="command_response", id=frame["id"], action="display", display="hailed"),
)
"""
GUARD = """
def decide(frame):
    answer(frame, **({"block": True, "reason": "no"} if "forbidden" in json.dumps(frame) else {}))

hello()
subscribe(intercept=["tool_call"])
ready()
serve(event_intercept=decide)
"""
# ``serve`` keeps each line it reads, which would be what grows.
KEPT_LINES = 'with open(os.path.join(HERE, "seen.jsonl"), "ab") as file:\n            file.write(line)'
MOST_GROWTH = 0.10  # of memory, from the end of the warm-up to the end
MOST_THREADS = (os.cpu_count() or 1) + 4 + 2  # the event loop's pool is filled as needed; two are made for themselves
PATIENCE_S = 60.0
WORDS = " ".join(["a word and another"] * 60)
TOOLS = {
    "tools": [("bash", {"command": "seq 500"}), ("write", {"path": "w.txt", "content": "x" * 5000}), ("echo", {})],
    "spool": [("bash", {"command": "seq 40000"})],
    "refused": [("bash", {"command": "touch forbidden"})],
    "left": [("bash", {"command": "sleep 0.5 >/dev/null 2>&1 & echo left"})],
    "find": [("mcp_search", {"query": "echo"})],
    "mcp": [("mcp__fake__echo", {"text": "hello"})],
}


def answer_to(number: str) -> str:
    return f"answer {number}. {WORDS} end {number}."


def model(request: SeenRequest) -> Turn:
    """Answers by the last user message; a compaction gets a summary."""
    last = request.json["messages"][-1]["content"]
    said = [text for message in request.json["messages"] if message["role"] == "user" for text in _texts(message)]
    number, _, kind = (said[-1] if said else "").strip().rpartition("\n")[2].partition(" ")
    if not number.isdigit():
        return Say("a summary")
    if kind in TOOLS and not any(block["type"] == "tool_result" for block in last if isinstance(block, dict)):
        return CallTools(TOOLS[kind])
    if kind == "slow":
        return Slow(Say(f"begun {number}. {WORDS}"), 0.05)
    return Say(answer_to(number))


def _texts(message: dict[str, object]) -> Iterator[str]:
    content = message["content"]
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (block["text"] for block in content if block["type"] == "text")


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


class Place:
    """A scratch home and project; the soak fills ``samples``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.zot = Zot(root / "home", root / "project")
        self.tmp = root / "tmp"
        self.counts = root / "counts.json"
        for directory in (self.zot.home, self.zot.project, self.tmp):
            directory.mkdir(parents=True)
        self.zot.environment["TMPDIR"] = str(self.tmp)
        extensions = self.zot.home / "zot" / "extensions"
        write_extension(extensions, "echo", ECHO)
        write_extension(extensions, "watch", GUARD, guard=True)
        for main in extensions.glob("*/main.py"):
            main.write_text(main.read_text().replace(KEPT_LINES, "pass"))
        mine(self.zot)
        own(self.zot, PreToolUse=[entry("true", "mcp__.*")], UserPromptSubmit=[entry("true")], Stop=[entry("true")])
        self.server = FakeModelServer([model], repeat=True)
        self.samples: list[Sample] = []
        self.faults: list[str] = []
        self.counted: dict[str, int] = {}

    def count(self, what: str, number: int = 1) -> None:
        self.counted[what] = self.counted.get(what, 0) + number

    def watch(self, pid: int) -> None:
        self.samples.append(sample(pid))
        self.server.requests.clear()

    def argv(self, args: Sequence[str]) -> list[str]:
        """Arguments to start zot, with object counts on a signal."""
        argv = self.zot.argv([*args, "--base-url", self.server.url, "--api-key", "k"])
        return [argv[0], counted.__file__, str(self.counts), *argv[argv.index("zot") + 1 :]]

    def held(self, pid: int) -> Counter[str]:
        """How many objects of each type zot holds now."""
        self.counts.unlink(missing_ok=True)
        os.kill(pid, signal.SIGUSR1)
        end = time.monotonic() + PATIENCE_S
        while not self.counts.exists():
            assert time.monotonic() < end, "zot does not say what it holds"
            time.sleep(0.01)
        return Counter(json.loads(self.counts.read_bytes()))

    def kept(self, pid: int, rounds: Sequence[Callable[[], object]]) -> dict[str, int]:
        """Of which types of zot's own each of these rounds left one or more behind, and how many in all."""
        before = self.held(pid)
        for work in rounds:
            work()
        grown = self.held(pid) - before
        return {kind: number for kind, number in grown.items() if kind.startswith("zot.") and number >= len(rounds)}

    def verdict(self, name: str) -> list[str]:
        """Leaks and leftovers after the exit; prints the figures."""
        faults = [*self.faults, *self._grown(name)]
        if running := orphans(self.root):
            faults.append(f"still running: {running}")
        if (self.zot.project / "forbidden").exists():
            faults.append("the guard was passed over")
        left = left_behind(self.root)
        print(f"{name}: {len([*self.tmp.glob('*/*')])} outputs kept for the model, {len(left)} temporary files left")
        return [*faults, *(f"left behind: {path}" for path in left)]

    def _grown(self, name: str) -> list[str]:
        warm = self.samples[len(self.samples) // 10 :]
        if len(warm) < 5:
            return [f"{name}: too few samples to judge"]
        tenth = max(len(warm) // 10, 1)
        first = Sample(*(round(statistics.median(column)) for column in zip(*warm[:tenth], strict=True)))
        last = Sample(*(round(statistics.median(column)) for column in zip(*warm[-tenth:], strict=True)))
        figures = [f"{field} {one} to {two}" for field, one, two in zip(Sample._fields, first, last, strict=True)]
        counted = ", ".join(f"{number} {what}" for what, number in self.counted.items())
        print(f"{name}: {counted}; {', '.join(figures)}")
        allowed = first._replace(memory_kib=round(first.memory_kib * (1 + MOST_GROWTH)), threads=MOST_THREADS)
        return [
            f"{name}: {field} grew from {one} to {two}"
            for field, one, two, most in zip(Sample._fields, first, last, allowed, strict=True)
            if two > most
        ]
