"""Every model call checks the budget, including sub-agents, side chats and compactions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, Slow
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.agent.conversation import Conversation
from zot.core.events import Diagnostic
from zot.errors import CompactionFailed, CostLimitReached

MODEL = "claude-sonnet-4-6"  # $3 and $15 for a million tokens
DEAR = (100_000, 10_000)  # $0.45
Open = Callable[..., AbstractAsyncContextManager[tuple[Conversation, FakeModelServer]]]


@pytest.fixture
def talk(tmp_path: Path) -> Open:
    @asynccontextmanager
    async def start(*turns: Any, **options: Any) -> AsyncIterator[tuple[Conversation, FakeModelServer]]:
        with FakeModelServer(turns) as server:
            base = {"provider": "anthropic", "model": MODEL, "api_key": "k", "base_url": server.url, "retries": 0}
            config = RunConfig(**{**base, "home": tmp_path / "home", "cwd": str(tmp_path), **options})
            async with build(config) as conversation:
                yield conversation, server

    return start


async def test_a_child_spends_the_same_money(talk: Open) -> None:
    async with talk(Say("one", usage=DEAR), max_cost=0.4) as (conversation, server):
        child = conversation.child()
        assert (await child.prompt("hi")).error is None
        for one in (child, conversation, conversation.child()):
            outcome = await one.prompt("again")
            assert isinstance(outcome.error, CostLimitReached)
        assert len(server.requests) == 1


async def test_concurrent_children_reserve_their_next_cost(talk: Open) -> None:
    """Each sends thirty cents' worth; a dollar is enough for three of five."""
    slow = Slow(Say("one", usage=(100_000, 10)), 0.2)
    async with talk(*[slow] * 5, max_cost=1.0) as (conversation, server):
        ended = await asyncio.gather(*(conversation.child().prompt("word " * 80_000) for _ in range(5)))
        assert sum(isinstance(outcome.error, CostLimitReached) for outcome in ended) == 2
        assert len(server.requests) == 3


async def test_a_compaction_is_a_request_like_any_other(talk: Open) -> None:
    async with talk(Say("one", usage=DEAR), max_cost=0.4) as (conversation, server):
        await conversation.prompt("hi")
        with pytest.raises(CompactionFailed, match="cost limit"):
            await conversation.compact()
        assert len(server.requests) == 1


async def test_cached_input_counts_at_its_cached_price(talk: Open) -> None:
    """A long conversation may continue while its prompt is cached: 100,000 tokens cost three cents, not thirty."""
    first = CallTools([("bash", {"command": "true"})], usage=(10, 10), written=100_000)  # $0.375
    async with talk(first, Say("done"), max_cost=0.5) as (conversation, _):
        assert (await conversation.prompt("word " * 80_000)).error is None


async def test_model_without_price_is_an_error_with_a_fix(talk: Open, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    models = {"far": {"baseUrl": "http://model.invalid/v1", "auth": "none", "models": [{"id": "m"}]}}
    (tmp_path / "home" / "models.json").write_text(json.dumps({"providers": models}))
    far = {"provider": "far", "model": "m", "base_url": "", "api_key": ""}
    async with talk(max_cost=1.0, **far) as (conversation, _):
        outcome = await conversation.prompt("hi")
    assert isinstance(outcome.error, CostLimitReached)
    assert "unknown price of far/m" in str(outcome.error)
    assert "`zot models price far/m INPUT OUTPUT`" in str(outcome.error)
    models["far"]["models"] = [{"id": "m", "priceInput": 0, "priceOutput": 0}]
    (tmp_path / "home" / "models.json").write_text(json.dumps({"providers": models}))
    async with talk(max_cost=1.0, **far) as (conversation, _):
        outcome = await conversation.prompt("hi")
    assert not isinstance(outcome.error, CostLimitReached)  # nobody answers there


async def test_loopback_address_of_a_vendor_is_not_free(talk: Open) -> None:
    """A proxy on this machine may bill for what it passes on."""
    async with talk(Say("hi"), max_cost=1.0, model="claude-opus-9") as (conversation, server):
        outcome = await conversation.prompt("hi")
        assert "unknown price of anthropic/claude-opus-9" in str(outcome.error)
        assert server.requests == []


async def test_unknown_price_can_be_allowed(talk: Open) -> None:
    options = {"model": "claude-opus-9", "price_unknown": "allow"}
    async with talk(Say("hi", usage=DEAR), max_cost=1.0, **options) as (conversation, _):
        assert (await conversation.prompt("hi")).error is None
        assert conversation.total_usage.cost_usd == 0


async def test_a_server_on_this_machine_costs_nothing(talk: Open, tmp_path: Path) -> None:
    async with talk(Say("hi"), max_cost=1.0, provider="ollama", model="any") as (conversation, _):
        assert (await conversation.prompt("hi")).error is None
        assert conversation.total_usage.cost_usd == 0


async def test_the_second_model_is_refused_by_the_same_limit(talk: Open) -> None:
    failing = Refuse(401, {"type": "error", "error": {"type": "authentication_error", "message": "no"}})
    second = CallTools([("bash", {"command": "true"})], usage=(600_000, 0))  # $0.60 with claude-haiku-4-5
    said: list[str] = []
    async with talk(failing, second, max_cost=0.5, fallback_model="claude-haiku-4-5") as (conversation, server):
        conversation.subscribe(lambda event: said.append(getattr(event, "text", "")), Diagnostic)
        outcome = await conversation.prompt("hi")
    assert isinstance(outcome.error, CostLimitReached) and len(server.requests) == 2
    assert any("continuing with anthropic/claude-haiku-4-5" in text for text in said)


async def test_limit_of_settings_applies_at_once(talk: Open) -> None:
    async with talk(Say("one", usage=DEAR)) as (conversation, server):
        await conversation.prompt("hi")
        conversation.settings.save(max_cost_session=0.4)
        conversation.apply_settings()
        assert isinstance((await conversation.prompt("again")).error, CostLimitReached)
        conversation.settings.save(max_cost_session=0, max_cost_day=0.4)
        conversation.apply_settings()
        assert isinstance((await conversation.prompt("again")).error, CostLimitReached)
        assert len(server.requests) == 1
