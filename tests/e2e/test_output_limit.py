"""issue 28.1: the output of a request is limited to the money that is left; with a model that uses all it may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Slow, Stop, Turn
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.swarm_home import SwarmHome
from tests.terminal.scripts import configure

INPUT, OUTPUT = 3 / 1_000_000, 15 / 1_000_000  # claude-sonnet-4-5, and the model of SwarmHome

MODEL = ("--model", "claude-sonnet-4-5")
TOKENS_IN = 100  # below zot's estimate of its prompt: this is about the output


@pytest.fixture
def zot(zot: Zot) -> Zot:
    """With a model whose price the figures below assume: 3 dollars a million tokens in, 15 out."""
    zot.model_id = "claude-sonnet-4-5"
    return zot


def limit_of(request: SeenRequest) -> int:
    body = request.json
    return body.get("max_tokens") or body.get("max_completion_tokens") or body.get("max_output_tokens") or 10**9


def endless(request: SeenRequest) -> Turn:
    """An answer as long as the request permits, at most a million tokens."""
    return Stop(Say("much", usage=(TOKENS_IN, min(limit_of(request), 1_000_000))), "length")


def billed(server: FakeModelServer) -> float:
    asked = [request for request in server.requests if request.method == "POST"]
    return sum(TOKENS_IN * INPUT + limit_of(request) * OUTPUT for request in asked)


def test_long_answer_is_cut_at_the_limit_and_reported(zot: Zot, serve: Any) -> None:
    server = serve([endless])
    ran = zot("--json", *MODEL, "--no-tools", "--max-cost", "0.05", "write a book")
    assert limit_of(server.requests[0]) < 3_400 and billed(server) <= 0.05
    (notice,) = [e["message"] for e in ran.events if e["type"] == "diagnostic" and "answer cut" in e["message"]]
    assert "cost limit of $0.05" in notice and "--max-cost" in notice


def test_too_little_for_a_short_answer_is_refused(zot: Zot, serve: Any) -> None:
    server = serve([endless])
    ran = zot("-p", *MODEL, "--no-tools", "--max-cost", "0.003", "hi")
    assert ran.code == 1 and not server.requests and "the next request costs at least" in ran.err


def test_answer_below_1024_tokens_is_refused_with_figures(zot: Zot, serve: Any) -> None:
    """issue 30.7: the output is never limited below 1,024 tokens; the refusal names limit, spent and least cost."""
    server = serve([endless], repeat=True)
    refused = zot("-p", *MODEL, "--no-tools", "--max-cost", str(1_000 * OUTPUT), "hi")
    assert refused.code == 1 and not server.requests
    assert "cost limit of $0.015: $0.0000 spent, and the next request costs at least $0.01" in refused.err
    assert zot("--json", *MODEL, "--no-tools", "--max-cost", "0.03", "hi").events
    assert 1_024 <= limit_of(server.requests[0]) < 2_000


def test_dearest_claude_works_with_a_quarter_dollar(zot: Zot, serve: Any) -> None:
    """issue 30.7: with all tools, a limit of $0.25 and $75 per million tokens of output."""
    server = serve([endless])
    ran = zot("--json", "--model", "claude-opus-4-1", "--max-cost", "0.25", "hi")
    (request,) = server.requests
    assert limit_of(request) >= 1_024 and TOKENS_IN * 15e-6 + limit_of(request) * 75e-6 <= 0.25
    assert ran.events[-1]["type"] == "done"


def test_request_without_a_limit_is_unchanged(zot: Zot, serve: Any) -> None:
    server = serve([Say("fine")], repeat=True)
    zot("-p", *MODEL, "--no-session", "hi")
    zot("-p", *MODEL, "--no-session", "--max-cost", "50", "hi")
    one, other = (json.loads(request.body) for request in server.requests if request.method == "POST")
    assert one["max_tokens"] == other["max_tokens"] == 64_000
    assert {**one, "metadata": 0} == {**other, "metadata": 0}


def test_thinking_fits_into_the_limited_output(zot: Zot, serve: Any) -> None:
    server = serve([endless])
    zot("-p", *MODEL, "--no-tools", "--reasoning", "high", "--max-cost", "0.2", "hi")
    body = server.requests[0].json
    assert body["max_tokens"] * OUTPUT <= 0.2
    assert body.get("thinking", {}).get("budget_tokens", 0) < body["max_tokens"]


def test_daily_limit_limits_the_output(zot: Zot, serve: Any) -> None:
    server = serve([endless], repeat=True)
    configure(zot, max_cost_day=0.1)
    for _ in range(6):
        zot("-p", *MODEL, "--no-tools", "hi")
    assert 0.05 < billed(server) <= 0.1


@pytest.fixture
def model() -> Iterator[FakeModelServer]:
    def step(request: SeenRequest) -> Turn:
        call = CallTools([("bash", {"command": "true"})], usage=(TOKENS_IN, min(limit_of(request), 1_000_000)))
        return Slow(call, 0.05)

    with FakeModelServer([step], repeat=True) as server:
        yield server


def test_three_parallel_workers_never_exceed_one_limit(zot: Zot, model: FakeModelServer) -> None:
    home = SwarmHome(zot, model.url)
    client = FakeRpcClient(zot.argv(["rpc", "--max-cost", "0.5"]), zot.env(), zot.project)
    try:
        ids = [
            client.ask("swarm_start", task=f"agent {n}", mode="shared", once=True)["data"]["worker"]["id"]
            for n in range(3)
        ]
        for id in ids:
            assert "cost limit" in home.until(id, "stopped", "done", "failed")["reason"]
        assert len(model.requests) >= 3 and 0.1 < billed(model) <= 0.5
    finally:
        client.kill()
        home("stop", "--all")
        home.close()
