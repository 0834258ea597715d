"""Adjacent read-only calls overlap; events stay in call order."""

from __future__ import annotations

import asyncio

from tests.fakes.client import calls, says
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, make_agent, results, roles, running
from zot.core.interceptors import ToolVerdict
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.provider.messages import ToolCallBlock


async def test_adjacent_read_only_calls_run_concurrently_in_order() -> None:
    """engine-142: the first call can only finish once the second has."""
    second_ran = asyncio.Event()

    async def read(args: dict[str, object], context: ToolContext) -> ToolResult:
        if args["n"] == 1:
            async with asyncio.timeout(5):
                await second_ran.wait()
        second_ran.set()
        return text_result(f"read {args['n']}")

    agent, _ = make_agent(
        calls(("read", {"n": 1}), ("read", {"n": 2})), says("ok"), tools=[FakeTool("read", read, read_only=True)]
    )
    _, said = await heard(agent)
    assert results(said) == [("t1", False, "read 1"), ("t2", False, "read 2")]


async def test_a_writing_call_waits_for_the_reads_before_it() -> None:
    order: list[str] = []

    def noting(name: str, *, read_only: bool) -> FakeTool:
        async def behave(args: dict[str, object], context: ToolContext) -> ToolResult:
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")
            return text_result(name)

        return FakeTool(name, behave, read_only=read_only)

    agent, _ = make_agent(
        calls(("read", {}), ("write", {}), ("bash", {})),
        says("ok"),
        tools=[noting("read", read_only=True), noting("write", read_only=False), noting("bash", read_only=False)],
    )
    await heard(agent)
    assert order == [f"{name} {what}" for name in ("read", "write", "bash") for what in ("begins", "ends")]


async def test_interception_is_sequential_and_denied_call_keeps_order() -> None:
    def refuse_second(call: ToolCallBlock) -> ToolVerdict:
        return ToolVerdict(call.id != "t2", "not that one")

    guard = FakeInterceptor(tool=refuse_second)
    tool = FakeTool("read", read_only=True)
    agent, _ = make_agent(
        calls(("read", {"n": 1}), ("read", {"n": 2}), ("read", {"n": 3})),
        says("ok"),
        tools=[tool],
        interceptors=[guard],
    )
    _, said = await heard(agent)
    assert [asked[1].id for asked in guard.asked if asked[0] == "tool"] == ["t1", "t2", "t3"]
    assert results(said) == [("t1", False, "read ok"), ("t2", True, "not that one"), ("t3", False, "read ok")]
    assert tool.ran == [{"n": 1}, {"n": 3}]


async def test_aborting_side_by_side_reads_keeps_finished_results() -> None:
    stuck = asyncio.Event()

    async def read(args: dict[str, object], context: ToolContext) -> ToolResult:
        if args["n"] == 1:
            return text_result("done")
        stuck.set()
        return await asyncio.Future()

    agent, _ = make_agent(
        calls(("read", {"n": 1}), ("read", {"n": 2}), ("read", {"n": 3})),
        tools=[FakeTool("read", read, read_only=True)],
    )
    async with running(agent) as background:
        await stuck.wait()
        agent.abort()
        outcome = await background.outcome()
    assert outcome.stop == "aborted"
    texts = [text for _, _, text in results(background.said)]
    assert texts[0] == "done"
    assert all(text.startswith("aborted: ") for text in texts[1:]) and len(texts) == 3
    assert roles(agent) == ["user", "assistant", "tool"]
