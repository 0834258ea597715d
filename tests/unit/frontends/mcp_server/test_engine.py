"""The engine without a transport: questions of stateless clients, their limits, and cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from zot.features.mcp.protocol import META
from zot.frontends.json_rpc import RpcError
from zot.frontends.mcp_server import engine as engine_module
from zot.frontends.mcp_server.engine import Engine
from zot.frontends.mcp_server.exchange import Exchange
from zot.frontends.mcp_server.limits import MOST_WAITING, Limits, Place

FACTS = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {"elicitation": {}}}
CALL: dict[str, Any] = {"name": "ask", "_meta": FACTS}


class FakeOutlet:
    def notify(self, method: str, params: Any) -> None:
        pass

    async def request(self, method: str, params: Any) -> Any:
        raise AssertionError("a stateless client gets no requests")


class Asking:
    """A tool that asks twice at once; ``ended`` says how it ended."""

    def __init__(self) -> None:
        self.ended = ""
        self.engine = Engine({"tools/call": self.run, "tools/list": self.run}, {})

    async def run(self, exchange: Exchange, params: Any) -> Any:
        try:
            answers = await asyncio.gather(exchange.ask("elicitation/create", {}, "a"), exchange.ask("x", {}, "b"))
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        self.ended = "done"
        return {"answers": answers}

    async def serve(self, method: str = "tools/call", **more: Any) -> Any:
        params = {**CALL, **more}
        return await self.engine.serve(self.engine.modern_client(params), FakeOutlet(), method, params)


async def test_questions_asked_together_are_in_one_result() -> None:
    tool = Asking()
    first = await tool.serve()
    assert set(first["inputRequests"]) == {"a", "b"}
    again = await tool.serve(requestState=first["requestState"], inputResponses={"a": {"n": 1}, "b": "no object"})
    assert set(again["inputRequests"]) == {"b"} and again["requestState"] != first["requestState"]
    last = await tool.serve(requestState=again["requestState"], inputResponses={"b": {"n": 2}, "a": {"n": 3}})
    assert last["answers"] == [{"n": 1}, {"n": 2}] and last["resultType"] == "complete"


async def test_a_question_without_an_answer_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "ANSWER_WITHIN_S", 0.01)
    tool = Asking()
    first = await tool.serve()
    await asyncio.sleep(0.1)
    assert tool.ended == "cancelled"
    with pytest.raises(RpcError, match="expired"):
        await tool.serve(requestState=first["requestState"])


async def test_waiting_calls_are_limited_and_end_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "MOST_SUSPENDED", 1)
    tool, other = Asking(), Asking()
    await tool.serve()
    with pytest.raises(RpcError, match="too many calls"):
        await tool.serve()
    with pytest.raises(RpcError):  # a list may not ask
        await other.serve("tools/list")
    await tool.engine.aclose()
    assert tool.ended == "cancelled"


async def test_the_queue_of_work_is_limited() -> None:
    limits = Limits(0.0)
    client = Engine({}, {}).modern_client(CALL)
    exchange = Exchange(client, FakeOutlet(), {})

    async def work() -> None:
        async with limits.slot(exchange):
            await asyncio.sleep(30)

    tasks = [asyncio.create_task(work()) for _ in range(engine_module.MOST_SUSPENDED)]
    await asyncio.sleep(0.05)
    refused = [task for task in tasks if task.done() and task.exception() is not None]
    assert len(refused) == len(tasks) - MOST_WAITING - 4
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(1), limits.slot(exchange):
        pass  # cancelled calls have freed their places


def test_place_has_only_what_is_below(tmp_path: Any) -> None:
    from zot.agent.config import RunConfig

    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    place = Place(RunConfig(cwd=str(tmp_path / "a")))
    assert place.resolve("b") == str(tmp_path / "a" / "b") and place.has(str(tmp_path / "a"))
    assert not place.has(str(tmp_path / "ab")) and not place.has("b") and not place.has("")
