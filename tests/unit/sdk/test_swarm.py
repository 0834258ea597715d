"""``Swarm`` in a program: real workers under a real supervisor, started from inside this process."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_swarm import answer
from tests.fakes.model_server import FakeModelServer
from tests.fakes.swarm_home import KEY, SwarmHome
from zot.sdk import AssistantMessage, RuntimeClosed, Swarm, ZotError, text_of


@pytest.fixture
def home(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SwarmHome]:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("FAKE_API_KEY", KEY)
    with FakeModelServer([answer], repeat=True) as server:
        found = SwarmHome(Zot(tmp_path / "home", tmp_path / "project"), server.url)
        yield found
        found.close()


def swarm(home: SwarmHome, **options: float) -> Swarm:
    return Swarm(home=home.home, cwd=home.zot.project, **options)  # pyright: ignore[reportArgumentType]


async def test_workers_start_receive_messages_and_answer(home: SwarmHome) -> None:
    async with swarm(home) as many:
        one, two = [await many.start(f"say {name}") for name in ("one", "two")]
        assert [(await worker.result()).text for worker in (one, two)] == ["heard: say one", "heard: say two"]
        await one.send("and more")
        result = await one.result()
        assert result.ok and result.cost_usd > 0
        said = [text_of(event) async for event in two.events() if isinstance(event, AssistantMessage)]
        assert said == ["heard: say two"]
        assert [agent.id for agent in many.agents] == [one.id, two.id]
    home.until_nothing_runs()
    with pytest.raises(RuntimeClosed):
        await many.start("x")


async def test_exit_stops_running_workers_unless_detached(home: SwarmHome) -> None:
    async with swarm(home) as many:
        gone = await many.start("hang on")
        home.until(gone.id, "running")
    assert home.status(gone.id) == "stopped"
    async with Swarm(home=home.home, cwd=home.zot.project, keep=True) as kept:
        left = await kept.start("hang on")
        home.until(left.id, "running")
    assert home.status(left.id) == "running"


async def test_one_budget_applies_to_all_workers(home: SwarmHome) -> None:
    """Each call costs $0.45: the second worker is refused its first, or the first its second."""
    async with swarm(home, max_cost=0.5) as many:
        workers = [await many.start(f"dear {number}", once=True) for number in range(3)]
        results = [await worker.result() for worker in workers]
        assert not all(result.ok for result in results)
        assert sum(result.cost_usd for result in results) <= 0.5 + 3 * 0.45
        assert any("0.5" in result.reason for result in results)


async def test_worker_that_cannot_start_raises_with_reason(home: SwarmHome) -> None:
    async with swarm(home) as many:
        with pytest.raises(ZotError, match="directory"):
            await many.start("x", cwd="not/there")
        with pytest.raises(ZotError, match="nowhere"):
            await many.start("x", provider="nowhere")


async def test_scripted_model_answers_as_file_or_content(home: SwarmHome) -> None:
    """issue 29.22: ``Swarm(script=…)`` runs workers without a key."""
    content = {"turns": [{"text": "as written"}]}
    path = home.zot.project / "script.json"
    path.write_text(json.dumps(content))
    for script in (path, content):
        async with Swarm(home=home.home, cwd=home.zot.project, script=script) as many:
            worker = await many.start("say it", once=True)
            assert (await worker.result()).text == "as written"
