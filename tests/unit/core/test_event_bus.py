"""A reader that raises ends the run as an abort would; the transcript stays valid and the exception comes out."""

from __future__ import annotations

import pytest

from tests.fakes.client import calls, says
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, is_valid, make_agent, words
from zot.core import events
from zot.core.events import AgentEvent


class Broken(Exception):
    pass


@pytest.mark.parametrize(
    "kind",
    [
        events.UserMessage,
        events.TurnStart,
        events.AssistantStart,
        events.TextDelta,
        events.ToolUseStart,
        events.UsageEvent,
        events.AssistantMessage,
        events.ToolCall,
        events.TurnEnd,
        events.ToolResultEvent,
        events.Done,
    ],
)
async def test_a_failing_reader_leaves_a_valid_transcript(kind: type[AgentEvent]) -> None:
    others: list[AgentEvent] = []
    agent, client = make_agent(
        calls(("bash", {}), ("bash", {}), text="x"), says("ok"), tools=[FakeTool()], observers=[others.append]
    )

    def emit(event: AgentEvent) -> None:
        if isinstance(event, kind):
            raise Broken

    with pytest.raises(Broken):
        await agent.prompt("go", emit=emit)
    assert is_valid(agent.messages) and not agent.busy
    assert words(others)[-1] == "done" and words(others).count("done") == 1
    client.add(says("ok"), says("ok"))
    outcome, _ = await heard(agent, "again")
    assert outcome.stop == "end"


async def test_failing_subscriber_is_reported() -> None:
    def observer(event: AgentEvent) -> None:
        raise Broken

    agent, _ = make_agent(says("ok"), observers=[observer])
    said: list[AgentEvent] = []
    with pytest.raises(Broken):
        await agent.prompt("go", emit=said.append)
    assert words(said)[-1] == "done"


async def test_nothing_more_is_done_for_a_reader_that_is_gone() -> None:
    tool = FakeTool()
    agent, client = make_agent(calls(("bash", {})), says("never"), tools=[tool])

    def emit(event: AgentEvent) -> None:
        if isinstance(event, events.TurnEnd):
            raise Broken

    with pytest.raises(Broken):
        await agent.prompt("go", emit=emit)
    assert len(client.requests) == 1 and tool.ran == []
