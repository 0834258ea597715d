"""An answer that breaks off where nobody can be asked is gone on with, once: from what is kept, or from the start."""

from __future__ import annotations

import pytest

from tests.fakes.client import answer, calls, says
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, make_agent, of, roles, words
from zot.core import events
from zot.core.interceptors import TextVerdict
from zot.core.loop import GO_ON
from zot.errors import BadRequest, Overloaded, ProviderError, TransportFailed
from zot.provider.messages import TextBlock, ToolCallBlock
from zot.provider.model_call import Started, TextDelta, ToolStarted

CUT = TransportFailed("fake: the connection was cut", retryable=True)
HALF = [Started("m", "fake"), TextDelta("one "), *answer([TextBlock("one ")], stop="error", error=CUT)[-2:]]


async def test_the_model_goes_on_from_what_is_kept_and_it_is_told() -> None:
    agent, client = make_agent(HALF, says("two"))
    agent.goes_on = True
    outcome, said = await heard(agent)
    assert (outcome.stop, outcome.error) == ("end", None)
    assert [message.text() for message in client.requests[1].messages] == ["go", "one ", GO_ON]
    [notice] = of(said, events.Notice)
    assert "broke off (fake: the connection was cut)" in notice.text and "asked to continue it" in notice.text
    assert [event.message.text() for event in of(said, events.AssistantMessage)] == ["one ", "one two"]
    assert [message.text() for message in agent.messages] == ["go", "one ", GO_ON, "two"]
    assert agent.messages[2].meta == {"synthetic": "true"}
    assert [event.step for event in of(said, events.TurnStart)] == [1, 2] and words(said)[-1] == "done"


async def test_what_breaks_off_again_is_an_error() -> None:
    agent, client = make_agent(HALF, HALF, says("never"))
    agent.goes_on = True
    outcome, said = await heard(agent)
    assert outcome.error is CUT and len(client.requests) == 2 and words(said)[-2:] == ["error", "done"]
    assert of(said, events.AssistantMessage)[-1].message.text() == "one one "


async def test_each_answer_may_break_off_once() -> None:
    agent, client = make_agent(HALF, calls(("bash", {})), HALF, says("end"), tools=[FakeTool()])
    agent.goes_on = True
    outcome, _ = await heard(agent)
    assert outcome.stop == "end" and len(client.requests) == 4


async def test_a_call_that_was_cut_off_alone_is_asked_for_again() -> None:
    half = [
        Started("m", "fake"),
        ToolStarted("a", "bash"),
        *answer([ToolCallBlock("a", "bash", "{")], stop="error", error=CUT)[-2:],
    ]
    agent, client = make_agent(half, says("done"))
    agent.goes_on = True
    outcome, said = await heard(agent)
    assert outcome.stop == "end" and roles(agent) == ["user", "assistant"]
    assert client.requests[1].messages == client.requests[0].messages
    assert [event.step for event in of(said, events.TurnStart)] == [1, 1]


@pytest.mark.parametrize("error", [BadRequest("fake: no"), ProviderError("fake: refused")], ids=["bad", "other"])
async def test_what_would_fail_again_is_not_gone_on_with(error: ProviderError) -> None:
    agent, client = make_agent([*HALF[:2], *answer([TextBlock("one ")], stop="error", error=error)[-2:]])
    agent.goes_on = True
    outcome, _ = await heard(agent)
    assert outcome.error is error and len(client.requests) == 1


async def test_what_never_began_is_not_tried_again_here() -> None:
    """The client has tried it often enough."""
    agent, client = make_agent([Overloaded("fake: http 529: no", retryable=True)])
    agent.goes_on = True
    outcome, _ = await heard(agent)
    assert isinstance(outcome.error, Overloaded) and len(client.requests) == 1


async def test_where_somebody_can_be_asked_nothing_happens_by_itself() -> None:
    agent, client = make_agent(HALF, says("two"))
    outcome, _ = await heard(agent)
    assert outcome.error is CUT and len(client.requests) == 1
    outcome = await agent.continue_answer()
    assert outcome.stop == "end"
    assert [message.text() for message in agent.messages] == ["go", "one ", GO_ON, "two"]


async def test_what_a_guard_suppressed_does_not_come_back_with_the_rest() -> None:
    watcher = FakeInterceptor(text=lambda text: TextVerdict(allowed="one" not in text))
    agent, _ = make_agent(HALF, says("two"), interceptors=[watcher])
    agent.goes_on = True
    _, said = await heard(agent)
    assert [event.message.text() for event in of(said, events.AssistantMessage)] == ["two"]
