"""Abort ends whatever runs and returns; a cancellation from outside does the same and passes on."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from tests.fakes.client import Pause, calls, falls_silent, says
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, is_valid, make_agent, of, results, roles, running, words
from zot.core import events
from zot.core.agent import Agent
from zot.core.events import AgentEvent
from zot.core.interceptors import Interceptor, TurnVerdict
from zot.core.permission_gate import GateVerdict
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.provider.messages import ToolCallBlock
from zot.provider.model_call import TextDelta


def stuck_tool(name: str = "bash") -> tuple[asyncio.Event, FakeTool]:
    started = asyncio.Event()

    async def behave(args: dict[str, object], context: ToolContext) -> ToolResult:
        started.set()
        return await asyncio.Future()

    return started, FakeTool(name, behave)


async def test_cancelling_the_first_tool_prevents_the_second() -> None:
    """engine-155: every call of the message has a result, and only done follows."""
    started, first = stuck_tool("bash")
    second = FakeTool("write")
    agent, _ = make_agent(calls(("bash", {}), ("write", {})), tools=[first, second])
    async with running(agent) as background:
        await started.wait()
        agent.abort()
        outcome = await background.outcome()
    assert outcome.stop == "aborted"
    assert second.ran == []
    assert [(i, e, t.startswith("aborted: ")) for i, e, t in results(background.said)] == [
        ("t1", True, True),
        ("t2", True, True),
    ]
    assert words(background.said)[-3:] == ["tool_result", "tool_result", "done"]
    assert roles(agent) == ["user", "assistant", "tool"] and is_valid(agent.messages)


async def test_abort_emits_no_error_and_one_done() -> None:
    """engine-140: aborting emits no `error` and exactly one `done`, also when repeated."""
    pause, silent = falls_silent(TextDelta("x"))
    agent, _ = make_agent(silent)
    async with running(agent) as background:
        await pause.reached.wait()
        agent.abort()
        agent.abort()
        await background.outcome()
    assert words(background.said).count("done") == 1 and words(background.said)[-1] == "done"
    assert "error" not in words(background.said)
    assert not agent.busy


async def test_abort_while_connecting_ends_the_turn_as_aborted() -> None:
    pause = Pause()
    agent, _ = make_agent([pause])
    async with running(agent) as background:
        await pause.reached.wait()
        agent.abort()
        await background.outcome()
    assert words(background.said) == ["user_message", "turn_start", "turn_end", "done"]
    assert of(background.said, events.TurnEnd)[0].stop == "aborted"


async def test_abort_returns_within_a_tenth_of_a_second() -> None:
    started, tool = stuck_tool()
    agent, _ = make_agent(calls(("bash", {})), tools=[tool])
    async with running(agent) as background:
        await started.wait()
        begun = time.monotonic()
        agent.abort()
        await background.outcome()
        assert time.monotonic() - begun < 0.1


async def test_abort_when_idle_does_nothing() -> None:
    agent, _ = make_agent(says("ok"))
    agent.abort()
    outcome, _ = await heard(agent)
    assert outcome.stop == "end"


async def test_the_task_can_go_on_after_an_abort() -> None:
    """The cancellation is consumed: the task's next await is not cancelled."""
    pause, silent = falls_silent()
    agent, _ = make_agent(silent, says("ok"))

    async def two_prompts() -> list[str]:
        first = await agent.prompt("one")
        await asyncio.sleep(0)
        second = await agent.prompt("two")
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0
        return [first.stop, second.stop]

    async with asyncio.TaskGroup() as group:
        task = group.create_task(two_prompts())
        await pause.reached.wait()
        agent.abort()
    assert task.result() == ["aborted", "end"]


@pytest.mark.parametrize("kind", [events.UserMessage, events.TextDelta, events.ToolResultEvent, events.Done])
async def test_subscriber_may_abort_its_run(kind: type[AgentEvent]) -> None:
    agent, client = make_agent(
        calls(("bash", {}), ("bash", {}), text="x"), says("never"), says("fine"), tools=[FakeTool()]
    )

    def emit(event: AgentEvent) -> None:
        if isinstance(event, kind):
            agent.abort()

    await agent.prompt("go", emit=emit)
    await asyncio.sleep(0)
    assert is_valid(agent.messages)
    client.requests.clear()
    outcome, _ = await heard(agent, "next")
    assert outcome.stop == "end"


async def test_outside_cancellation_is_recorded_and_propagates() -> None:
    started, tool = stuck_tool()
    agent, _ = make_agent(calls(("bash", {})), tools=[tool])
    said: list[AgentEvent] = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(agent.prompt("go", emit=said.append))
        await started.wait()
        task.cancel()
    assert task.cancelled()
    assert words(said)[-2:] == ["tool_result", "done"]
    assert is_valid(agent.messages) and not agent.busy


async def test_a_timeout_around_a_prompt_works() -> None:
    _, silent = falls_silent(TextDelta("half"))
    agent, _ = make_agent(silent)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await agent.prompt("go")
    assert agent.messages[-1].text() == "half"


async def test_a_cancellation_that_meets_an_abort_still_passes_on() -> None:
    pause, silent = falls_silent()
    agent, _ = make_agent(silent)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(agent.prompt("go"))
        await pause.reached.wait()
        agent.abort()
        task.cancel()
    assert task.cancelled()


async def test_tool_swallowing_cancellation_does_not_block_run() -> None:
    started = asyncio.Event()

    async def stubborn(args: dict[str, object], context: ToolContext) -> ToolResult:
        started.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Future()
        return text_result("carried on")

    second = FakeTool("write")
    agent, _ = make_agent(calls(("bash", {}), ("write", {})), tools=[FakeTool("bash", stubborn), second])
    async with running(agent) as background:
        await started.wait()
        agent.abort()
        outcome = await background.outcome()
    assert outcome.stop == "aborted" and second.ran == []
    assert results(background.said)[0][2] == "carried on"


async def test_abort_while_an_interceptor_thinks_runs_nothing() -> None:
    asked = asyncio.Event()

    class Slow(Interceptor):
        async def before_turn(self, step: int) -> TurnVerdict:
            asked.set()
            return await asyncio.Future()

    agent, client = make_agent(interceptors=[Slow()])
    async with running(agent) as background:
        await asked.wait()
        agent.abort()
        outcome = await background.outcome()
    assert outcome.stop == "aborted" and client.requests == []
    assert of(background.said, events.TurnEnd)[0].stop == "aborted"


async def test_abort_while_the_gate_asks_refuses_the_call() -> None:
    asked = asyncio.Event()

    class Asking:
        def evaluate(self, call: ToolCallBlock) -> GateVerdict:
            return GateVerdict("ask", "user")

        def decided_by(self, call: ToolCallBlock) -> str:
            return ""

        async def authorize(self, call: ToolCallBlock, origin: str = "") -> str | None:
            asked.set()
            return await asyncio.Future()

    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", {})), tools=[tool], gate=Asking())
    async with running(agent) as background:
        await asked.wait()
        agent.abort()
        await background.outcome()
    assert tool.ran == []
    assert results(background.said)[0][1] and results(background.said)[0][2].startswith("aborted: ")


async def test_the_stream_is_closed_when_the_run_is_aborted() -> None:
    closed = asyncio.Event()
    reached = asyncio.Event()

    class Client:
        name = "fake"

        async def stream(self, request: object):
            try:
                reached.set()
                await asyncio.Future()
                yield TextDelta("never")
            finally:
                closed.set()

        async def aclose(self) -> None: ...

    template, _ = make_agent()
    agent = Agent(client=Client(), model=template.model, system=lambda specs: "")
    async with running(agent) as background:
        await reached.wait()
        agent.abort()
        await background.outcome()
    assert closed.is_set()


async def test_abort_at_last_step_is_not_a_step_limit() -> None:
    async def aborting(args: dict[str, object], context: ToolContext) -> ToolResult:
        agent.abort()
        return text_result("ok")

    agent, _ = make_agent(calls(("bash", {})), tools=[FakeTool("bash", aborting)], max_steps=1)
    outcome, said = await heard(agent)
    assert outcome.stop == "aborted" and "error" not in words(said)


@pytest.mark.parametrize("place", range(22))
@pytest.mark.parametrize("from_outside", [False, True])
async def test_ending_at_any_event_leaves_a_valid_transcript(place: int, from_outside: bool) -> None:
    said: list[AgentEvent] = []
    reads = FakeTool("read", read_only=True)
    agent, client = make_agent(
        calls(("read", {}), ("read", {}), ("bash", {}), text="x"), says("y"), tools=[reads, FakeTool()]
    )

    def emit(event: AgentEvent) -> None:
        said.append(event)
        if len(said) == place + 1:
            _ = task.cancel() if from_outside else agent.abort()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(agent.prompt("go", emit=emit))
    assert words(said).count("done") == 1 and words(said)[-1] == "done"
    assert words(said).count("turn_start") == words(said).count("turn_end")
    assert is_valid(agent.messages) and not agent.busy
    client.add(says("z"), says("z"))
    assert (await agent.prompt("again")).stop == "end"
