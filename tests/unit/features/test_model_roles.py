"""Models for roles: plan mode and compaction use those of the settings, and their cost is attributed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer, Say
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.agent.conversation import Conversation
from zot.core.session.turn_history import cost_of

MAIN, SMALL = "claude-sonnet-4-6", "claude-haiku-4-5"
USED = (100_000, 10_000)  # $0.45 with the main model, $0.15 with the small one
Open = Callable[..., AbstractAsyncContextManager[tuple[Conversation, FakeModelServer]]]


@pytest.fixture
def talk(tmp_path: Path) -> Open:
    @asynccontextmanager
    async def start(models: dict[str, str], *turns: Any, **options: Any) -> AsyncIterator[Any]:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "config.json").write_text(json.dumps({"models": models}))
        with FakeModelServer(turns) as server:
            base = {"provider": "anthropic", "model": MAIN, "api_key": "k", "base_url": server.url, "retries": 0}
            config = RunConfig(**{**base, "home": home, "cwd": str(tmp_path), "keep_session": True, **options})
            async with build(config) as conversation:
                yield conversation, server

    return start


def asked(server: FakeModelServer) -> list[str]:
    return [request.json["model"] for request in server.requests if request.method == "POST"]


@pytest.mark.parametrize("role", ["compact", "small"])
async def test_compaction_uses_the_model_of_its_role(talk: Open, role: str) -> None:
    async with talk({role: SMALL}, Say("one", usage=USED), Say("sum", usage=USED), Say("two")) as (
        conversation,
        server,
    ):
        await conversation.prompt("hi")
        assert await conversation.compact() == "sum"
        await conversation.prompt("more")
        assert asked(server) == [MAIN, SMALL, MAIN]
        assert conversation.total_usage.cost_usd == pytest.approx(0.60, abs=0.001)


async def test_cost_of_a_role_has_a_line_of_its_own(talk: Open, tmp_path: Path) -> None:
    async with talk({"compact": SMALL}, Say("one", usage=USED), Say("sum", usage=USED)) as (conversation, _):
        await conversation.prompt("hi")
        await conversation.compact()
        assert conversation.session is not None
        path = conversation.session.path
    spent = {row.label: round(row.usage.cost_usd, 2) for row in cost_of(path).models}
    assert spent == {f"anthropic/{MAIN}": 0.45, f"anthropic/{SMALL} (compact)": 0.15}
    (day,) = (tmp_path / "home" / "spend").glob("*.jsonl")
    rows = [json.loads(line) for line in day.read_text().splitlines()]
    assert [(row["model"], row.get("role", "")) for row in rows] == [(MAIN, ""), (SMALL, "compact")]


async def test_failing_role_model_is_replaced_by_the_main_one(talk: Open) -> None:
    turns = (Say("one"), Say(""), Say("sum"))
    async with talk({"compact": SMALL}, *turns) as (conversation, server):
        await conversation.prompt("hi")
        assert await conversation.compact() == "sum"
        assert asked(server) == [MAIN, SMALL, MAIN]


async def test_unknown_role_model_is_one_notice(talk: Open) -> None:
    said: list[str] = []
    async with talk({"compact": "no-such-model"}, Say("one"), Say("sum")) as (conversation, server):
        conversation.subscribe(lambda event: said.append(str(event)))
        await conversation.prompt("hi")
        assert await conversation.compact() == "sum"
        assert asked(server) == [MAIN, MAIN]
    assert sum("models.compact in the settings" in text for text in said) == 1


async def test_plan_mode_uses_the_plan_model_and_returns(talk: Open) -> None:
    turns = [Say("plan"), Say("plan"), Say("done")]
    async with talk({"plan": SMALL}, *turns, permission_mode="plan") as (conversation, server):
        await conversation.prompt("think")
        await conversation.prompt("again")
        conversation.set_permission_mode("everything")
        await conversation.prompt("do it")
        assert asked(server) == [SMALL, SMALL, MAIN]


async def test_model_chosen_in_plan_mode_stays(talk: Open) -> None:
    turns = [Say("plan"), Say("plan"), Say("done")]
    async with talk({"plan": SMALL}, *turns, permission_mode="plan") as (conversation, server):
        await conversation.prompt("think")
        await conversation.set_model("claude-opus-5")
        await conversation.prompt("again")
        conversation.set_permission_mode("everything")
        await conversation.prompt("do it")
        assert asked(server) == [SMALL, "claude-opus-5", "claude-opus-5"]


async def test_newer_model_can_be_chosen_while_it_runs(talk: Open) -> None:
    async with talk({}, Say("hi")) as (conversation, server):
        await conversation.set_model("claude-opus-9")
        await conversation.prompt("hi")
        assert asked(server) == ["claude-opus-9"]
        assert conversation.model.guessed == "claude-opus-5-5"
