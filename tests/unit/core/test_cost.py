"""Usage is priced, summed, and sent to the journal and the subscribers."""

from __future__ import annotations

import pytest

from tests.fakes.client import calls, says
from tests.fakes.journal import FakeJournal
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, make_agent, of
from zot.core import events
from zot.provider.messages import Usage

THOUSAND = Usage(input_tokens=1000, output_tokens=100)


async def test_usage_accumulates_across_steps_from_the_seed_on() -> None:
    """engine-156: usage adds up over the steps of a run, on top of the seeded cost."""
    agent, _ = make_agent(calls(("bash", {}), usage=THOUSAND), says("ok", usage=THOUSAND), tools=[FakeTool()])
    agent.set_usage_baseline(Usage(input_tokens=5, cost_usd=1.0))
    _, said = await heard(agent)
    usages = of(said, events.UsageEvent)
    assert [u.usage.input_tokens for u in usages] == [1000, 1000]
    assert [u.cumulative.input_tokens for u in usages] == [1005, 2005]
    assert agent.cost.input_tokens == 2005 and agent.cost.output_tokens == 200
    assert agent.cost.cost_usd == pytest.approx(1.0 + 2 * 0.0045)


async def test_the_journal_gets_the_call_and_the_total() -> None:
    journal = FakeJournal()
    agent, _ = make_agent(says("ok", usage=THOUSAND), journal=journal, cumulative=Usage(input_tokens=1))
    await heard(agent)
    [(usage, cumulative)] = journal.of("used")
    assert (usage.input_tokens, cumulative.input_tokens) == (1000, 1001)
    assert usage.cost_usd == pytest.approx(0.0045)


async def test_cost_of_provider_is_used() -> None:
    agent, _ = make_agent(says("ok", usage=Usage(input_tokens=1000, cost_usd=0.5)))
    await heard(agent)
    assert agent.cost.cost_usd == 0.5


async def test_meter_counts_cached_tokens_and_ignores_empty_usage() -> None:
    agent, _ = make_agent(
        says("a", usage=Usage(input_tokens=1, cache_read_tokens=20, cache_write_tokens=300)),
        says("b", usage=Usage()),
    )
    await heard(agent)
    assert agent.last_context_tokens == 321
    await heard(agent)
    assert agent.last_context_tokens == 321


async def test_the_revision_grows_with_every_append_and_replacement() -> None:
    agent, _ = make_agent(says("ok"))
    before = agent.revision
    await heard(agent)
    assert agent.revision == before + 2
    agent.set_messages([])
    assert agent.revision == before + 3
