"""A long tool loop pays for each byte once: measured on requests as a provider with prompt caching receives them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.fakes.caching_provider import Counted, FakeCachingProvider
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.core.events import Notice, ToolCall
from zot.sdk import Runtime

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
STEPS = 50


def script() -> list[Say | CallTools]:
    """Fifty steps: most with one call, every tenth with 25 at once, one with a picture."""
    steps: list[Say | CallTools] = []
    for step in range(STEPS):
        count = 25 if step % 10 == 5 else 1
        calls: list[tuple[str, Any]] = [("bash", {"command": f"seq {step} {step + 300}"})] * count
        if step == 30:
            calls = [("read", {"path": "pixel.png"})]
        steps.append(CallTools(calls, text=f"Step {step} of the work."))
    return [*steps, Say("done")]


async def test_fifty_steps_take_at_least_95_percent_from_the_cache(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    provider = FakeCachingProvider()
    runtime = embed(serve(*provider.answering(script())), max_steps=STEPS + 1)
    (tmp_path / "project" / "pixel.png").write_bytes(PIXEL)
    async with runtime as zot:
        await zot.ask("work")
    assert len(provider.counted) == STEPS + 1
    assert provider.share_read >= 0.95
    pays_once(provider.counted)


def pays_once(counted: list[Counted]) -> None:
    """Content of a request is read from the cache by the next one and never paid in full again."""
    for before, after in pairwise(counted):
        assert after.read == before.read + before.written, "a part of the last request was not found again"
        assert after.plain == 0


async def test_steering_after_many_parallel_calls_keeps_cache(serve: Serve, tmp_path: Path) -> None:
    """The user steers while 25 calls run: the marker of the last request is 51 blocks away."""
    provider = FakeCachingProvider()
    many = [("bash", {"command": f"seq {n} {n + 200}"}) for n in range(25)]
    turns = [CallTools([("bash", {"command": "seq 1 3000"})]), CallTools(many), Say("done"), Say("well")]
    server = serve(*provider.answering(turns))
    config = RunConfig(provider="anthropic", api_key="k", base_url=server.url, home=tmp_path, cwd=str(tmp_path))
    async with build(config) as conversation:
        conversation.subscribe(lambda event: conversation.steer("and hurry"), ToolCall)
        await conversation.prompt("work")
        await conversation.prompt("and now?")
    assert "and hurry" in str(server.requests[2].json["messages"][-1])
    assert len(provider.counted) == 4
    pays_once(provider.counted)


async def test_compaction_keeps_tools_and_system_prompt_in_the_cache(serve: Serve, embed: Embed) -> None:
    provider = FakeCachingProvider()
    turns = [CallTools([("bash", {"command": "seq 1 3000"})]), Say("done"), Say("a summary"), Say("on it")]
    system = "Be brief. " * 400  # above the least size that the provider keeps
    async with embed(serve(*provider.answering(turns)), append_system_prompt=[system]) as zot:
        await zot.ask("work")
        first = provider.counted[0]
        await zot.compact()
        await zot.ask("go on")
    assert provider.counted[-1].read >= first.read + first.written - 100  # all but the first prompt


async def test_cache_expires_after_five_minutes(serve: Serve, embed: Embed) -> None:
    """The fake follows the provider's rules, which the figures above depend on."""
    provider = FakeCachingProvider()
    async with embed(serve(*provider.answering([Say("a"), Say("b"), Say("c")]))) as zot:
        await zot.ask("x" * 8000)
        provider.clock += 299
        await zot.ask("y")
        assert provider.counted[-1].read
        provider.clock += 301
        await zot.ask("z")
    assert not provider.counted[-1].read


async def test_tool_change_in_mid_conversation_is_reported(serve: Serve, tmp_path: Path) -> None:
    provider = FakeCachingProvider()
    turns = [CallTools([("bash", {"command": "seq 1 8000"})]), Say("done"), Say("well"), Say("well")]
    server = serve(*provider.answering(turns))
    config = RunConfig(provider="anthropic", api_key="k", base_url=server.url, home=tmp_path, cwd=str(tmp_path))
    said: list[str] = []
    async with build(config) as conversation:
        conversation.subscribe(lambda event: said.append(getattr(event, "text", "")), Notice)
        await conversation.prompt("work " * 8000)
        conversation.toolset.own = [tool for tool in conversation.toolset.own if tool.name != "grep"]
        conversation.refresh_tools()
        await conversation.prompt("and now?")
        await conversation.prompt("and now?")
    before, after, again = provider.counted[1:]
    assert not after.read and again.read  # it is lost once, and then it is there again
    (told,) = said
    assert (
        told.startswith("prompt prefix changed (the system prompt and the tools): ")
        and f"{before.all:,} cached" in told
    )
