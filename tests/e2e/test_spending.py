"""Spending limits: a request that would go beyond is not made, in any mode, whatever other processes do meanwhile."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say, Silent, Slow
from tests.fakes.rpc_client import FakeRpcClient
from tests.terminal.scripts import configure

# With claude-sonnet-4-5: 3 dollars a million tokens in, 15 out.
DEAR = (100_000, 10_000)  # $0.45
STEP = CallTools([("bash", {"command": "true"})], usage=DEAR)
HUGE = "word " * 80_000  # about 100,000 tokens: $0.30


@pytest.fixture
def zot(zot: Zot) -> Zot:
    """With a model whose price the figures below assume: 3 dollars a million tokens in, 15 out."""
    zot.model_id = "claude-sonnet-4-5"
    return zot


def asked(server: FakeModelServer) -> int:
    return sum(request.method == "POST" for request in server.requests)


def ledger(zot: Zot, kind: str = "spent") -> list[dict[str, Any]]:
    rows = [
        json.loads(line)
        for path in (zot.home / "zot" / "spend").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    return [row for row in rows if row["type"] == kind]


def test_run_limit_ends_run_before_exceeding_request(zot: Zot, serve: Any) -> None:
    server = serve([STEP], repeat=True)
    ran = zot("-p", "--max-cost", "1", "work")
    assert (ran.code, ran.out, asked(server)) == (1, "", 3)
    assert ran.err == (
        "zot: cost limit of $1 reached ($1.3500 spent); raise it with --max-cost, or max_cost_session in /settings\n"
    )


def test_input_exceeding_the_limit_is_not_sent(zot: Zot, serve: Any) -> None:
    server = serve([Say("hi")])
    ran = zot("--json", "--max-cost", "0.1", stdin=HUGE)
    assert ran.code == 1 and asked(server) == 0
    assert ran.events[-1] == {"type": "done", "reason": "cost_limit", "exit_code": 1}
    (error,) = [event for event in ran.events if event["type"] == "error"]
    assert error["message"].startswith("cost limit of $0.1: $0.0000 spent, and the next request costs at least $0.3")
    assert "--max-cost" in error["message"]


def test_resumed_session_counts_earlier_spending(zot: Zot, serve: Any) -> None:
    server = serve([Say("one", usage=DEAR), Say("never")])
    configure(zot, max_cost_session=0.4)
    assert zot("-p", "hi").code == 0
    ran = zot("-p", "-c", "again")
    assert ran.code == 1 and asked(server) == 1 and "cost limit of $0.4 reached ($0.4500 spent)" in ran.err
    assert zot("-p", "-c", "--max-cost", "2", "again").code == 0  # the flag comes before the setting


def test_daily_limit_counts_other_runs(zot: Zot, serve: Any) -> None:
    server = serve([Say("fine", usage=DEAR)], repeat=True)
    configure(zot, max_cost_day=0.8)
    assert [zot("-p", *more, "hi").code for more in ((), ("--no-session",), ())] == [0, 0, 1]
    assert asked(server) == 2
    rows = ledger(zot)
    assert [round(row["usd"], 4) for row in rows] == [0.45, 0.45]
    assert [row.get("cwd", "") for row in rows] == [str(zot.project), ""]  # no trace of where without a session
    ran = zot("-p", "hi")
    assert ran.err == "zot: cost limit for today of $0.8 reached ($0.9000 spent); raise max_cost_day in /settings\n"
    assert zot.home.joinpath("zot", "spend").stat().st_mode & 0o777 == 0o700


def test_rpc_client_is_notified_of_limit(zot: Zot, serve: Any) -> None:
    server = serve([STEP], repeat=True)
    client = FakeRpcClient(zot.argv(["rpc", "--max-cost", "0.5", *zot.endpoint(True)]), zot.env(), zot.project)
    events = client.prompt("work")
    (error,) = [event for event in events if event["type"] == "error"]
    assert "cost limit of $0.5 reached ($0.9000 spent)" in error["message"] and asked(server) == 2
    assert client.close() == 0


def test_concurrent_runs_share_the_remaining_budget(zot: Zot, serve: Any) -> None:
    """Eight ask at once, each for 30 cents of a dollar: three are let through."""
    server = serve([Slow(Say("fine", usage=(100_000, 10)), 0.3)], repeat=True)
    configure(zot, max_cost_day=1)
    with ThreadPoolExecutor(8) as pool:
        ran = list(pool.map(lambda _: zot("-p", "--no-session", stdin=HUGE), range(8)))
    assert sorted(run.code for run in ran) == [0, 0, 0, 1, 1, 1, 1, 1]
    assert asked(server) == 3
    assert all("cost limit for today of $1" in run.err for run in ran if run.code)
    assert len(ledger(zot)) == 3
    assert {row["id"] for row in ledger(zot, "hold")} == {row["id"] for row in ledger(zot, "release")}


def test_reservation_of_killed_run_is_released(zot: Zot, serve: Any) -> None:
    server = serve([Silent(Say("never"))])
    configure(zot, max_cost_day=0.5)
    prompt = zot.home / "prompt"
    prompt.write_text(HUGE)
    with prompt.open() as stdin:
        first = zot.start("-p", stdin=stdin)
    server.wait_for_requests(1)
    assert zot("-p", stdin=HUGE).code == 1  # the first one still asks
    first.send_signal(signal.SIGKILL)
    first.wait(20)
    server.add(Say("fine", usage=(100_000, 10)))
    assert zot("-p", stdin=HUGE).code == 0
    (row,) = ledger(zot)
    assert round(row["usd"], 2) == 0.3


@pytest.mark.parametrize("written", ['{"max_cost_day": "five"}', '{"max_cost_day": 5,'], ids=["no number", "no json"])
def test_unreadable_limit_denies_every_request(zot: Zot, serve: Any, written: str) -> None:
    server = serve([Say("hi")])
    configure(zot)
    (zot.home / "zot" / "config.json").write_text(written)
    ran = zot("-p", "hi")
    assert ran.code == 1 and asked(server) == 0 and "max_cost_day: expected an amount" in ran.err


def test_unusable_ledger_denies_every_request(zot: Zot, serve: Any) -> None:
    server = serve([Say("hi"), Say("hi")])
    configure(zot, max_cost_day=5)
    (zot.home / "zot" / "spend").write_text("in the way")
    ran = zot("-p", "hi")
    assert (
        ran.code == 1
        and asked(server) == 0
        and "cannot enforce the cost limit" in ran.err
        and "max_cost_day to 0" in ran.err
    )
    configure(zot)
    ran = zot("-p", "hi")  # without a limit it is only told
    assert (ran.code, ran.out) == (0, "hi\n") and "cannot write the cost ledger" in ran.err


def test_torn_row_and_old_day_are_harmless(zot: Zot, serve: Any) -> None:
    serve([Say("fine", usage=DEAR)], repeat=True)
    configure(zot, max_cost_day=0.5)
    spend = zot.home / "zot" / "spend"
    spend.mkdir()
    (spend / "2020-01-01.jsonl").write_text("{}\n")
    (spend / f"{time.strftime('%Y-%m-%d')}.jsonl").write_bytes(b'{"type":"spent","usd":0.1}\n{"type":"spe')
    assert zot("-p", "hi").code == 0
    assert zot("-p", "hi").code == 1
    assert [path.name for path in spend.iterdir()] == [f"{time.strftime('%Y-%m-%d')}.jsonl"]


def test_a_step_costs_little_more_with_a_limit(tmp_path: Path) -> None:
    """A reservation, a row and a release among 5,000 others take less than a millisecond."""
    import asyncio

    from zot.features.budget.ledger import Ledger, spent_row
    from zot.features.budget.output_limit import CostRange
    from zot.features.budget.reservations import Reservations
    from zot.provider.messages import Usage

    book = Ledger(tmp_path)
    claims = Reservations(book)
    row = spent_row(Usage(10, 10, cost_usd=0.0001), "anthropic", "claude", "session", "/tmp")
    for _ in range(5000):
        book.append(row)

    async def step() -> None:
        hold = (await claims.reserve(CostRange(0.01, 0.01, 0.01, 0.01, 0.01), 1000)).id
        book.append(row)
        claims.release(hold)

    async def steps() -> list[float]:
        await step()
        took: list[float] = []
        for _ in range(50):
            before = time.perf_counter()
            await step()
            took.append(time.perf_counter() - before)
        return sorted(took)

    assert asyncio.run(steps())[10] < 0.001  # of a loaded machine, too, a fifth of the steps is undisturbed
    assert os.listdir(tmp_path / "spend")
