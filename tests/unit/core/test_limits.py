"""Step and cost limits end a prompt with an error and leave a transcript that can continue."""

from __future__ import annotations

from tests.fakes.client import calls, says
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, is_valid, make_agent, of, words
from zot.core import events
from zot.errors import CostLimitReached, StepLimitReached
from zot.provider.messages import Usage


async def test_max_steps_allows_exactly_so_many_model_calls() -> None:
    """engine-151: `max_steps` of 2 allows two model calls and then ends in an error."""
    agent, client = make_agent(calls(("bash", {})), calls(("bash", {})), tools=[FakeTool()], max_steps=2)
    outcome, said = await heard(agent)
    assert len(client.requests) == 2
    assert isinstance(outcome.error, StepLimitReached)
    assert of(said, events.Error) == [events.Error("max steps (2) exceeded")]
    assert words(said)[-3:] == ["tool_result", "error", "done"]
    assert agent.messages[-1].role == "tool" and is_valid(agent.messages)


async def test_prompt_after_step_limit_continues() -> None:
    agent, client = make_agent(calls(("bash", {})), says("ok"), tools=[FakeTool()], max_steps=1)
    await heard(agent)
    outcome, _ = await heard(agent, "go on")
    assert outcome.stop == "end"
    assert [m.role for m in client.requests[1].messages] == ["user", "assistant", "tool", "user"]


async def test_end_at_the_last_step_is_not_an_error() -> None:
    agent, _ = make_agent(says("ok"), max_steps=1)
    outcome, _ = await heard(agent)
    assert outcome.error is None


async def test_no_model_call_once_the_cost_limit_is_reached() -> None:
    """A call of 1,000,000 input tokens costs 3 dollars here."""
    agent, client = make_agent(
        calls(("bash", {}), usage=Usage(input_tokens=1_000_000)),
        tools=[FakeTool()],
        max_cost_usd=3.0,
        compact_at=0,
    )
    outcome, said = await heard(agent)
    assert len(client.requests) == 1
    assert isinstance(outcome.error, CostLimitReached)
    assert "--max-cost" in of(said, events.Error)[0].message
    assert words(said)[-2:] == ["error", "done"]


async def test_the_cost_of_a_resumed_session_counts_towards_the_limit() -> None:
    agent, client = make_agent(max_cost_usd=1.0, cumulative=Usage(cost_usd=1.5))
    outcome, _ = await heard(agent)
    assert isinstance(outcome.error, CostLimitReached) and client.requests == []
