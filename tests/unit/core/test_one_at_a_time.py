"""One operation runs at a time; conflicting operations are rejected."""

from __future__ import annotations

import pytest

from tests.fakes.client import FakeClient, falls_silent, says
from tests.unit.core.harness import MODEL, heard, make_agent, running
from zot.errors import AgentBusy


async def test_a_second_prompt_is_refused_and_leaves_no_trace() -> None:
    """engine-161: a second prompt during a run is refused and changes nothing."""
    pause, silent = falls_silent()
    agent, client = make_agent(silent)
    async with running(agent) as background:
        await pause.reached.wait()
        assert agent.busy
        before = agent.messages
        with pytest.raises(AgentBusy):
            await agent.prompt("me too")
        with pytest.raises(AgentBusy):
            await agent.continue_run()
        with pytest.raises(AgentBusy):
            await agent.compact()
        assert agent.messages == before and len(client.requests) == 1
        agent.abort()
        await background.outcome()


async def test_transcript_and_model_cannot_be_swapped_in_mid_run() -> None:
    pause, silent = falls_silent()
    agent, client = make_agent(silent)
    async with running(agent) as background:
        await pause.reached.wait()
        with pytest.raises(AgentBusy):
            agent.set_messages([])
        with pytest.raises(AgentBusy):
            agent.set_model(client, MODEL)
        agent.abort()
        await background.outcome()


async def test_the_agent_is_idle_again_after_a_failure() -> None:
    agent, _ = make_agent([RuntimeError("bug in a client")], says("ok"))
    outcome, _ = await heard(agent)
    assert outcome.stop == "error" and not agent.busy
    assert (await heard(agent))[0].stop == "end"


async def test_changed_model_answers_the_next_prompt() -> None:
    agent, _ = make_agent(says("one"))
    await heard(agent)
    other = FakeClient(says("two"))
    agent.set_model(other, MODEL)
    await heard(agent)
    assert [m.text() for m in other.requests[0].messages] == ["go", "one", "go"]


async def test_messages_are_a_copy() -> None:
    agent, _ = make_agent(says("one"))
    before = agent.messages
    await heard(agent)
    assert before == () and len(agent.messages) == 2
