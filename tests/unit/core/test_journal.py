"""The journal records each step before subscribers receive its event."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.journal import FakeJournal
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import make_agent, running
from zot.core.events import REPLACES, AgentEvent
from zot.core.interceptors import ToolVerdict
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ProviderError
from zot.provider.messages import Message


async def test_journal_is_written_before_events() -> None:
    order: list[Any] = []

    async def at_work(args: dict[str, object], context: ToolContext) -> ToolResult:
        await asyncio.sleep(0)
        return text_result("ok")

    tool = FakeTool("bash", at_work)
    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[tool], journal=FakeJournal(order))

    def emit(event: AgentEvent) -> None:
        order.append((str(type(event).__struct_config__.tag),))

    await agent.prompt("go", emit=emit)
    names = [entry[0] for entry in order if not entry[0].startswith("tool_use") and entry[0] != "text_delta"]
    assert names == [
        *("appended", "user_message", "turn_start", "assistant_start", "used", "usage"),
        *("appended", "assistant_message", "tool_call", "turn_end"),
        *("tool_intent", "turn_ended", "tool_outcome", "tool_result", "appended"),
        *("turn_start", "assistant_start", "used", "usage", "appended", "assistant_message"),
        *("turn_ended", "turn_end", "turn_ended", "done"),
    ]


async def test_a_call_that_does_not_run_has_no_intent() -> None:
    journal = FakeJournal()
    agent, _ = make_agent(
        calls(("bash", {}), ("nonesuch", {}), ("bash", "{")),
        says("ok"),
        tools=[FakeTool()],
        journal=journal,
        interceptors=[FakeInterceptor(tool=ToolVerdict(False, "no"))],
    )
    await agent.prompt("go")
    assert "tool_intent" not in journal.names() and "tool_outcome" not in journal.names()


async def test_aborted_tool_has_outcome_and_next_has_no_intent() -> None:
    started = asyncio.Event()

    async def stuck(args: dict[str, object], context: ToolContext) -> ToolResult:
        started.set()
        return await asyncio.Future()

    journal = FakeJournal()
    agent, _ = make_agent(calls(("bash", {}), ("bash", {})), tools=[FakeTool("bash", stuck)], journal=journal)
    async with running(agent) as background:
        await started.wait()
        agent.abort()
        await background.outcome()
    assert [call.id for (call,) in journal.of("tool_intent")] == ["t1"]
    [(call_id, result)] = journal.of("tool_outcome")
    assert call_id == "t1" and result.is_error
    assert journal.names()[-4:] == ["tool_outcome", "appended", "answer_end", "turn_ended"]
    assert journal.of("answer_end") == [("cancelled",)]


async def test_raising_session_ends_run_with_its_exception() -> None:
    class Full(FakeJournal):
        def appended(self, message: Message) -> None:
            if message.role == "assistant":
                raise OSError("no space left on device")

    said: list[AgentEvent] = []
    agent, _ = make_agent(says("ok"), journal=Full())
    with pytest.raises(OSError, match="no space left"):
        await agent.prompt("go", emit=said.append)
    assert [str(type(e).__struct_config__.tag) for e in said][-1] == "done"
    assert not agent.busy


async def test_prompt_replacing_unanswered_one_is_one_row() -> None:
    journal = FakeJournal()
    agent, client = make_agent([ProviderError("no")], says("ok"), journal=journal)
    await agent.prompt("failed")
    await agent.prompt("mended", instead=True)
    assert [message.text() for message in client.requests[-1].messages] == ["mended"]
    assert [message.text() for (message,) in journal.of("appended")] == ["failed", "mended", "ok"]
    assert journal.of("appended")[1][0].meta == {REPLACES: "true"}


async def test_answered_prompt_is_never_replaced() -> None:
    agent, client = make_agent(says("ok"), says("ok"))
    await agent.prompt("one")
    await agent.prompt("two", instead=True)
    assert [message.text() for message in client.requests[-1].messages] == ["one", "ok", "two"]
