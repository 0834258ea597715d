"""A fallback model takes over a failed turn if nothing of the failed answer was stored; the run ends once."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes.client import FakeClient, answer, calls, falls_silent, says
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import MODEL, heard, make_agent, of, roles, running, words
from zot.core import events
from zot.core.agent import Agent
from zot.core.interceptors import TurnVerdict
from zot.errors import Overloaded
from zot.provider.messages import TextBlock, ToolCallBlock
from zot.provider.model_call import Started

SECOND = msgspec.structs.replace(MODEL, id="fake-2")
DOWN = Overloaded("fake: http 529: overloaded")


def with_fallback(agent: Agent, *answers: Any, once: bool = True) -> tuple[FakeClient, list[Exception]]:
    """A client that takes over, and the failures it received."""
    client, asked = FakeClient(*answers), list[Exception]()

    async def take_over(error: Exception) -> bool:
        asked.append(error)
        if once and len(asked) > 1:
            return False
        agent.replace_model(client, SECOND)
        return True

    agent.fallback = take_over
    return client, asked


async def test_fallback_continues_prompt_in_same_run() -> None:
    agent, first = make_agent([DOWN])
    second, asked = with_fallback(agent, says("hello"))
    outcome, said = await heard(agent)
    assert (outcome.stop, outcome.error) == ("end", None)
    assert asked == [DOWN] and len(first.requests) == len(second.requests) == 1
    assert second.requests[0].messages == first.requests[0].messages and second.requests[0].model is SECOND
    assert words(said) == [
        *("user_message", "turn_start", "turn_end", "turn_start", "assistant_start", "text_delta", "usage"),
        *("assistant_message", "turn_end", "done"),
    ]
    assert [event.step for event in of(said, events.TurnStart)] == [1, 1]
    assert roles(agent) == ["user", "assistant"]


async def test_fallback_uses_no_step_and_stays_active() -> None:
    agent, first = make_agent([DOWN], tools=[FakeTool()], max_steps=2)
    second, _ = with_fallback(agent, calls(("bash", {})), says("done"), says("more"))
    outcome, _ = await heard(agent)
    assert outcome.stop == "end"
    await heard(agent, "again")
    assert len(first.requests) == 1 and len(second.requests) == 3


async def test_failure_in_mid_run_keeps_earlier_work() -> None:
    agent, first = make_agent(calls(("bash", {})), [DOWN], tools=[FakeTool()])
    second, _ = with_fallback(agent, says("done"))
    outcome, said = await heard(agent)
    assert outcome.stop == "end" and [event.step for event in of(said, events.TurnStart)] == [1, 2, 2]
    assert [message.role for message in second.requests[0].messages] == ["user", "assistant", "tool"]
    assert len(first.requests) == 2


async def test_partially_kept_answer_is_not_repeated() -> None:
    agent, _ = make_agent(answer((TextBlock("half an"),), ["half an"], stop="error", error=DOWN))
    _, asked = with_fallback(agent, says("never"))
    outcome, said = await heard(agent)
    assert outcome.error is DOWN and asked == [] and words(said)[-2:] == ["error", "done"]


async def test_cut_off_call_is_dropped_and_allows_fallback() -> None:
    agent, _ = make_agent(answer((ToolCallBlock("t1", "bash", '{"com'),), stop="error", error=DOWN), tools=[FakeTool()])
    _, asked = with_fallback(agent, says("instead"))
    outcome, said = await heard(agent)
    assert outcome.error is None and asked == [DOWN]
    assert words(said).count("tool_call") == 0 and roles(agent) == ["user", "assistant"]


async def test_failing_fallback_ends_the_run_once() -> None:
    agent, _ = make_agent([DOWN])
    again = Overloaded("down as well")
    _, asked = with_fallback(agent, [Started("fake-2", "fake"), again])
    outcome, said = await heard(agent)
    assert outcome.error is again and asked == [DOWN, again]
    assert words(said).count("done") == 1 and words(said)[-2:] == ["error", "done"]


async def test_denied_turn_does_not_trigger_fallback() -> None:
    agent, _ = make_agent(interceptors=[FakeInterceptor(turn=TurnVerdict(False, "not today"))])
    _, asked = with_fallback(agent, says("never"))
    outcome, _ = await heard(agent)
    assert outcome.refused and asked == []


async def test_abort_does_not_trigger_fallback() -> None:
    pause, silence = falls_silent()
    agent, _ = make_agent(silence)
    _, asked = with_fallback(agent, says("never"))
    async with running(agent) as background:
        await pause.reached.wait()
        agent.abort()
        assert (await background.outcome()).stop == "aborted"
    assert asked == []


async def test_the_system_prompt_is_edited_again_for_the_second_model() -> None:
    agent, first = make_agent([DOWN])
    second, _ = with_fallback(agent, says("hello"))

    async def edit(text: str) -> str:
        return f"{text} for {agent.model.id}"

    agent.system_editor = edit
    await heard(agent)
    assert (first.requests[0].system, second.requests[0].system) == ("system for fake-1", "system for fake-2")
