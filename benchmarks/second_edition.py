"""The second edition of the extension protocol: what it costs an extension that uses nothing, and each interception.

Measured in a process of its own (``python -m benchmarks.second_edition``) with a real extension and a real
conversation; the model is not called.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.row import Row
from tests.fakes.client import FakeClient, says
from tests.fakes.extensions import write_extension
from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.conversation import Conversation
from zot.agent.feature import PromptDraft
from zot.core.events import TextDelta
from zot.core.tool import text_result
from zot.features.extensions.feature import ExtensionsFeature
from zot.features.extensions.host import ExtensionHost
from zot.provider.messages import Message, TextBlock, ToolCallBlock
from zot.wire.extension_codec import encode

ROOT = Path(__file__).parent.parent
TIMES = 1500
USES = ["input", "results", "context", "deltas"]
# Answers without keeping what it reads.
ANSWERING = """
hello({capabilities}); send(type="subscribe", intercept={intercept}, events={events}); ready()
for line in sys.stdin.buffer:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        answer(frame)
    if frame["type"] == "shutdown":
        break
"""
EVENTS = ("tool_call", "input", "tool_result", "model_request")


def rows() -> Iterator[Row]:
    child = subprocess.run([sys.executable, "-m", __name__], cwd=ROOT, capture_output=True, check=True)
    found = json.loads(child.stdout)
    yield Row("second edition, unused: added to a start (ext2-155)", found["start_ms"], 0.2, "ms", note=found["frames"])
    for event in EVENTS:
        yield Row(f"second edition: interception of {event}, p50 (ext2-156)", found[event], 0.12, "ms")
    kib = found["context_kib"]
    limit = 0.3 + 0.05 * kib / 16
    yield Row(f"second edition: context with new content, {kib:.0f} KiB, p50 (ext2-156)", found["context"], limit, "ms")
    yield Row("second edition: 5,000 observed deltas a second, of a core (ext2-157)", found["deltas"], 2, "%")


@asynccontextmanager
async def conversing(
    root: Path, capabilities: str, intercept: list[str], events: list[str]
) -> AsyncGenerator[Conversation]:
    body = ANSWERING.format(capabilities=capabilities, intercept=intercept, events=events)
    directory = write_extension(root, "x", body, uses=USES)
    (root / "project").mkdir(exist_ok=True)
    config = RunConfig(
        provider="script",
        home=root / "home",
        cwd=str(root / "project"),
        ext=(str(directory),),
        installed_extensions=False,
        context_files=False,
        patient_with_ext=True,
    )
    async with build(config, FrontEnd()) as conversation:
        conversation.agent.client = FakeClient(*(says("a") for _ in range(10)))
        host = host_of(conversation)
        for _ in range(500):
            if all(child.state == "ready" for child in host.children):
                break
            await asyncio.sleep(0.01)
        yield conversation


def host_of(conversation: Conversation) -> ExtensionHost:
    feature = conversation.feature(ExtensionsFeature)
    assert feature is not None
    return feature.host


async def median_ms(work: Callable[[], Awaitable[Any]], times: int = TIMES) -> float:
    taken: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return sorted(taken)[times // 2] * 1000


# --- an extension that uses nothing


async def acknowledged_ms(root: Path, capabilities: str) -> tuple[float, int]:
    """To make and encode its ack, and the frames that it got."""
    async with conversing(root, capabilities, [], []) as conversation:
        host = host_of(conversation)
        (child,) = host.children
        frames: list[bytes] = []
        host.traces.append(lambda name, direction, line: frames.append(line) if direction == "out" else None)
        await conversation.prompt("hi")
        taken: list[float] = []
        for _ in range(TIMES):
            began = time.perf_counter()
            encode(host.acknowledge(child))
            taken.append(time.perf_counter() - began)
        return sorted(taken)[TIMES // 2] * 1000, len(frames)


# --- interceptions


async def interceptions(root: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for event in EVENTS:
        place = root / event
        place.mkdir()
        async with conversing(place, '"edition2"', [event], []) as conversation:
            found[event] = await median_ms(_asking(conversation, event))
    return found


def _asking(conversation: Conversation, event: str) -> Callable[[], Awaitable[Any]]:
    interceptor, agent = host_of(conversation).interceptor, conversation.agent
    call = ToolCallBlock("t1", "bash", '{"command":"ls -l"}')
    match event:
        case "tool_call":
            return lambda: interceptor.before_tool(call)
        case "input":
            return lambda: interceptor.late.input(PromptDraft("what is new?"))
        case "tool_result":
            return lambda: interceptor.replace_result(call, text_result("a.txt"), "")
        case _:
            request = agent.request()
            return lambda: agent.reviewed_request(request, "step")


async def context(root: Path) -> tuple[float, float]:
    """Median, and the KiB that one question has: each step has one new message of 4 KiB among 200 known ones."""
    async with conversing(root, '"edition2"', ["context"], []) as conversation:
        agent, sent = conversation.agent, [0]
        host_of(conversation).traces.append(lambda name, direction, line: sent.__setitem__(0, len(line)))
        for number in range(200):
            agent.append(_message(number))
        await agent.reviewed_request(agent.request(), "step")
        taken: list[float] = []
        sizes: list[int] = []
        for number in range(200):
            agent.append(_message(number))
            await asyncio.sleep(0.005)  # it is stored
            request = agent.request()
            began = time.perf_counter()
            asked = asyncio.ensure_future(agent.reviewed_request(request, "step"))
            await asyncio.sleep(0)
            sizes.append(sent[0])
            await asked
            taken.append(time.perf_counter() - began)
        return sorted(taken)[100] * 1000, max(sizes) / 1024


def _message(number: int) -> Message:
    return Message("user" if number % 2 else "assistant", (TextBlock(f"{number} " + "word " * 800),))


# --- deltas


async def deltas(root: Path) -> float:
    """Percent of a core that 5,000 deltas a second cost for one that observes them, above those nobody observes."""
    cpu: list[float] = []
    for name, events in (("none", list[str]()), ("one", ["message_delta"])):
        place = root / name
        place.mkdir()
        async with conversing(place, '"edition2"', [], events) as conversation:
            event, seconds = TextDelta("word "), 2.0
            began, used, count = time.perf_counter(), time.process_time(), 0
            while (elapsed := time.perf_counter() - began) < seconds:
                for _ in range(int(elapsed * 5000) - count):
                    conversation.agent.emit(event)
                    count += 1
                await asyncio.sleep(0.005)
            cpu.append((time.process_time() - used) / seconds * 100)
    return max(cpu[1] - cpu[0], 0.0)


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as directory:
        places = {name: Path(directory, name) for name in ("first", "second", "each", "context", "deltas")}
        for place in places.values():
            place.mkdir()
        first, _ = await acknowledged_ms(places["first"], "")
        second, frames = await acknowledged_ms(places["second"], '"edition2"')
        found: dict[str, Any] = await interceptions(places["each"])
        found["context"], found["context_kib"] = await context(places["context"])
        found["deltas"] = await deltas(places["deltas"])
    found |= {"start_ms": second - first, "frames": f"{frames} frames during a prompt"}
    os.write(1, json.dumps(found).encode())


if __name__ == "__main__":
    asyncio.run(main())
