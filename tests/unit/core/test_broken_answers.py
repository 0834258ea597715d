"""An interrupted answer without a user is continued once: from the partial text, or from the start."""

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


async def test_model_continues_from_partial_answer_with_a_notice() -> None:
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


async def test_second_break_is_an_error() -> None:
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


async def test_cut_off_call_alone_is_requested_again() -> None:
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
async def test_permanent_error_is_not_continued(error: ProviderError) -> None:
    agent, client = make_agent([*HALF[:2], *answer([TextBlock("one ")], stop="error", error=error)[-2:]])
    agent.goes_on = True
    outcome, _ = await heard(agent)
    assert outcome.error is error and len(client.requests) == 1


async def test_request_that_never_started_is_not_retried_here() -> None:
    """The client has tried it often enough."""
    agent, client = make_agent([Overloaded("fake: http 529: no", retryable=True)])
    agent.goes_on = True
    outcome, _ = await heard(agent)
    assert isinstance(outcome.error, Overloaded) and len(client.requests) == 1


async def test_continuation_is_not_automatic_with_a_user() -> None:
    agent, client = make_agent(HALF, says("two"))
    outcome, _ = await heard(agent)
    assert outcome.error is CUT and len(client.requests) == 1
    outcome = await agent.continue_answer()
    assert outcome.stop == "end"
    assert [message.text() for message in agent.messages] == ["go", "one ", GO_ON, "two"]


async def test_text_suppressed_by_guard_stays_suppressed() -> None:
    watcher = FakeInterceptor(text=lambda text: TextVerdict(allowed="one" not in text))
    agent, _ = make_agent(HALF, says("two"), interceptors=[watcher])
    agent.goes_on = True
    _, said = await heard(agent)
    assert [event.message.text() for event in of(said, events.AssistantMessage)] == ["two"]
