"""The keeper on a cluster: one driver counts, nothing unacknowledged is lost, and a budget holds without a driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from zot.agent.config import RunConfig
from zot.errors import EngineFault
from zot.swarm.engines.ray import coordinator
from zot.swarm.engines.ray.coordinator import ClusterCoordinator, HostGone
from zot.swarm.engines.ray.frames import AttemptEnded, Batch, Begin, Begun, decode_batch, decode_taken, encode
from zot.swarm.git.bundle import TreeBundle
from zot.swarm.supervisor.budget import RemainingBudget


class FakeHost:
    """Plays scripted frames in order; ``heard`` are the frames it received."""

    def __init__(self, worker: str) -> None:
        self.worker, self.attempt = worker, 0
        self.lines: list[bytes] = []
        self.heard: list[Any] = []
        self.over: AttemptEnded | None = None
        self.fault: HostGone | None = None
        self.ended = False
        self.bundle = b""
        self.news = asyncio.Event()

    def say(self, *events: dict[str, Any]) -> None:
        self.lines += [msgspec.json.encode(event) for event in events]
        self.news.set()

    async def begin(self, data: bytes, bundle: bytes, secret: bytes) -> bytes:
        self._fail()
        self.bundle = bundle
        self.attempt = msgspec.msgpack.decode(data, type=Begin).attempt
        return encode(Begun(pid=self.attempt, started=1, node="n"))

    async def poll(self, attempt: int, taken: bytes) -> bytes:
        done = decode_taken(taken).line
        while not self.fault and len(self.lines) <= done and self.over is None and attempt == self.attempt:
            self.news.clear()
            await self.news.wait()
        self._fail()
        if attempt != self.attempt:
            return b""
        batch = Batch(
            worker=self.worker, attempt=attempt, first=done + 1, lines=tuple(self.lines[done:]), over=self.over
        )
        return encode(batch)

    async def send(self, attempt: int, number: int, line: bytes) -> bool:
        self._fail()
        self.heard.append(msgspec.json.decode(line))
        return True

    async def stop(self, attempt: int, grace: float) -> None:
        self.over = AttemptEnded(code=0)
        self.news.set()

    async def release(self, attempt: int) -> None:
        pass

    def end(self) -> None:
        self.ended = True

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault


class Cluster:
    def __init__(self) -> None:
        self.hosts: list[FakeHost] = []
        self.left = False
        self.keeper = ClusterCoordinator(self._make, self._leave)

    def _make(self, worker: str) -> FakeHost:
        self.hosts.append(FakeHost(worker))
        return self.hosts[-1]

    def _leave(self) -> None:
        self.left = True


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(coordinator, "POLL_S", 0.2)
    monkeypatch.setattr(coordinator, "_TRY_AGAIN_S", 0.01)
    made = Cluster()
    await made.keeper.hello("one")
    await made.keeper.keep("one", TREE.key, b"a tree")
    return made


TREE = TreeBundle(branch="b", head="h", whole="h")


def order(attempt: int = 1, **more: Any) -> bytes:
    return encode(Begin(worker="w", attempt=attempt, config=RunConfig(), tree=TREE, swarm="s", **more))


async def lines(cluster: Cluster, count: int, driver: str = "one") -> list[Any]:
    found: list[Any] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            for data in await cluster.keeper.poll(driver, {}):
                found += [msgspec.json.decode(line) for line in decode_batch(data).lines]
    return found


async def seen(host: FakeHost, count: int) -> list[Any]:
    await _until(lambda: len(host.heard) >= count)
    return host.heard


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def asks(number: int, usd: float) -> dict[str, Any]:
    return {"type": "permit_request", "request_id": f"permit-{number}", "provider": "p", "model": "m", "usd": usd}


def came_to(number: int, usd: float) -> dict[str, Any]:
    return {"type": "permit_settled", "request_id": f"permit-{number}", "usd": usd}


async def test_unacknowledged_messages_go_to_next_driver(cluster: Cluster) -> None:
    await cluster.keeper.begin("one", order(), b"")
    (host,) = cluster.hosts
    host.say({"type": "a"}, {"type": "b"})
    assert await lines(cluster, 2) == [{"type": "a"}, {"type": "b"}]
    await cluster.keeper.hello("two")
    with pytest.raises(EngineFault, match="another zot"):
        await cluster.keeper.poll("one", {})
    assert await cluster.keeper.adopt("two", "w", 1) and not await cluster.keeper.adopt("two", "w", 2)
    assert await lines(cluster, 2, "two") == [{"type": "a"}, {"type": "b"}]
    await cluster.keeper.poll("two", {"w": (1, 1)})
    await cluster.keeper.hello("three")
    host.say({"type": "c"})
    assert await lines(cluster, 1, "three") == [{"type": "c"}]


async def test_an_attempt_is_begun_once_and_none_before_it(cluster: Cluster) -> None:
    begun = await cluster.keeper.begin("one", order(2), b"")
    assert await cluster.keeper.begin("one", order(2), b"") == begun, "asked again, because the answer was lost"
    with pytest.raises(EngineFault, match="over"):
        await cluster.keeper.begin("one", order(1), b"")
    assert len(cluster.hosts) == 1


async def test_host_that_returns_empty_has_lost_its_attempt(cluster: Cluster) -> None:
    await cluster.keeper.begin("one", order(), b"")
    (host,) = cluster.hosts
    host.fault = HostGone(for_good=False)
    host.news.set()
    await asyncio.sleep(0.05)
    assert not await cluster.keeper.poll("one", {}), "it may come back"
    host.attempt, host.fault = 0, None
    (data,) = await cluster.keeper.poll("one", {})
    assert decode_batch(data).over == AttemptEnded(code=-9, reason=coordinator._LOST, lost=True)  # type: ignore[attr-defined]
    assert not await cluster.keeper.send("one", "w", 1, 1, b"{}")
    await cluster.keeper.begin("one", order(2), b"")
    assert len(cluster.hosts) == 1, "the same host, begun anew"


async def test_calls_without_driver_use_remaining_budget(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    await cluster.keeper.begin("one", order(steps_left=5), b"")
    (host,) = cluster.hosts
    await cluster.keeper.allow("one", msgspec.msgpack.encode({"s": RemainingBudget(usd=0.5)}))
    host.say(asks(1, 0.1))
    await lines(cluster, 1)
    permit = b'{"type":"permit","request_id":"permit-1","decision":"go"}'
    assert await cluster.keeper.send("one", "w", 1, 1, permit)
    monkeypatch.setattr(coordinator, "AWAY_S", -1.0)
    host.say(came_to(1, 0.2), asks(2, 0.1))
    assert [one["decision"] for one in await seen(host, 2)] == ["go", "go"]
    host.say(came_to(2, 0.25), asks(3, 0.1))  # 0.05 is left
    assert (await seen(host, 3))[2]["decision"] == "refuse"
    await cluster.keeper.hello("two")
    assert await cluster.keeper.send("two", "w", 1, 9, b'{"type":"permit","request_id":"permit-2","decision":"refuse"}')
    assert len(host.heard) == 3, "what was answered is not answered again"


async def test_without_driver_model_without_price_spends_no_dollars(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.keeper.begin("one", order(), b"")
    (host,) = cluster.hosts
    await cluster.keeper.allow("one", msgspec.msgpack.encode({"s": RemainingBudget(usd=0.5)}))
    monkeypatch.setattr(coordinator, "AWAY_S", -1.0)
    host.say({**asks(1, 0.0), "unpriced": True}, asks(2, 0.0))
    assert [one["decision"] for one in await seen(host, 2)] == ["refuse", "go"]


async def test_coordinator_exits_when_nothing_is_stored(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    await cluster.keeper.begin("one", order(), b"")
    (host,) = cluster.hosts
    await cluster.keeper.stop("one", "w", 1, 0.1)
    (data,) = await cluster.keeper.poll("one", {})
    assert decode_batch(data).over == AttemptEnded(code=0)
    await cluster.keeper.release("one", "w", 1)
    assert host.ended
    monkeypatch.setattr(coordinator, "LINGER_S", 0.0)
    await _until(lambda: cluster.left)


async def test_trees_to_begin_from_do_not_add_up(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A keeper lives for as long as its driver, and a tree may be a large repository."""
    keeper = cluster.keeper
    monkeypatch.setattr(coordinator, "MOST_BUNDLES", 100)
    for number in range(9):
        await keeper.keep("one", f"tree {number}", b"x" * 40)
        assert await keeper.has("one", "tree 0"), "what is asked for is about to be used"
    assert [await keeper.has("one", f"tree {number}") for number in range(9)] == [True] + [False] * 7 + [True]
    assert await keeper.begin("one", order(), b"") == b""
    assert not cluster.hosts and not await keeper.adopt("one", "w", 1)
    await keeper.keep("one", TREE.key, b"y" * 400)
    assert await keeper.begin("one", order(), b""), "one that is larger than the limit is kept alone"
    assert cluster.hosts[0].bundle == b"y" * 400
    assert not await keeper.has("one", "tree 0")


def test_coordinator_module_does_not_import_ray() -> None:
    source = Path(coordinator.__file__).read_text()
    assert "import ray\n" not in source and 'import_module("ray")' not in source
