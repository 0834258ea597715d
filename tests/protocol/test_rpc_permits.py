"""Permits over RPC: no model call before the client permits it; each call is settled with its cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Refuse, Say, Slow
from tests.fakes.rpc_client import FakeRpcClient

Start = Callable[..., FakeRpcClient]
DEAR = (100_000, 10_000)  # $0.45 with claude-sonnet-4-5
BUSY = Refuse(429, {"error": {"message": "slow down"}}, {"retry-after": "1"})


@pytest.fixture
def zot(zot: Zot) -> Zot:
    """With a model of 200k tokens, for 3 dollars a million tokens in and 15 out, as the figures below assume."""
    zot.model_id = "claude-sonnet-4-5"
    return zot


def asked(client: FakeRpcClient) -> dict[str, Any]:
    return client.until("permit_request")


def begun(rpc: Start, *flags: str) -> FakeRpcClient:
    client = rpc(*flags)
    accepted = client.ask("hello", protocol_version=1, capabilities=["permits"])
    assert accepted["data"]["capabilities"] == ["permits"]
    client.send("prompt", message="hi")
    return client


def test_model_call_is_permitted_and_settled_with_its_cost(rpc: Start, serve: Any) -> None:
    server = serve([CallTools([("bash", {"command": "true"})], usage=DEAR), Say("done")])
    client = begun(rpc)
    first = asked(client)
    assert (first["provider"], first["model"]) == ("anthropic", "claude-sonnet-4-5") and first["usd"] > 0
    assert "unpriced" not in first
    assert client.is_silent() and not server.requests
    assert client.ask("permit", request_id=first["request_id"], decision="go")["success"]
    settled = client.until("permit_settled")
    assert settled["request_id"] == first["request_id"] and "outcome" not in settled
    assert round(settled["usd"], 2) == 0.45
    client.ask("permit", request_id=asked(client)["request_id"], decision="go")
    client.until("done")
    assert len(server.requests) == 2
    again = client.ask("permit", request_id=first["request_id"], decision="go")
    assert not again["success"] and "no permit request" in again["error"]


def test_model_without_price_is_marked_as_unknown(rpc: Start, serve: Any, zot: Zot) -> None:
    serve([Say("never")])
    far = {"baseUrl": "http://model.invalid/v1", "api": "openai", "auth": "none", "models": [{"id": "m"}]}
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "models.json").write_text(json.dumps({"providers": {"far": far}}))
    client = rpc("--provider", "far", "--model", "m", model=False)
    client.ask("hello", protocol_version=1, capabilities=["permits"])
    client.send("prompt", message="hi")
    request = asked(client)
    assert request["unpriced"] is True and not request.get("usd")
    client.ask("permit", request_id=request["request_id"], decision="refuse", reason="without a price, no")
    assert client.until("error")["message"] == "without a price, no"


def test_a_refusal_ends_the_turn_with_its_reason(rpc: Start, serve: Any) -> None:
    server = serve([Say("never")])
    client = begun(rpc)
    client.ask("permit", request_id=asked(client)["request_id"], decision="refuse", reason="the swarm has spent $5")
    assert client.until("error")["message"] == "the swarm has spent $5"
    client.until("done")
    assert not server.requests and "permit_settled" not in client.types


def test_rate_limit_is_reported_and_retry_needs_a_permit(rpc: Start, serve: Any) -> None:
    server = serve([BUSY, Say("done")])
    client = begun(rpc)
    client.ask("permit", request_id=asked(client)["request_id"], decision="go")
    settled = client.until("permit_settled")
    assert settled["outcome"] == "rate_limited" and settled["pause_s"] >= 1 and not settled.get("usd")
    second = asked(client)
    assert len(server.requests) == 1
    client.ask("permit", request_id=second["request_id"], decision="go")
    assert client.until("permit_settled")["usd"] > 0
    client.until("done")


def test_rate_limit_without_retry_is_reported(rpc: Start, serve: Any) -> None:
    serve([Refuse(429, {"error": {"message": "come back tomorrow"}}, {"retry-after": "4000"})])
    client = begun(rpc)
    client.ask("permit", request_id=asked(client)["request_id"], decision="go")
    settled = client.until("permit_settled")
    assert (settled["outcome"], settled["pause_s"]) == ("rate_limited", 4000)


def test_run_limit_applies_before_permit_request(rpc: Start, serve: Any) -> None:
    serve([CallTools([("bash", {"command": "true"})], usage=DEAR), Say("done")])
    client = begun(rpc, "--max-cost", "0.4")
    client.ask("permit", request_id=asked(client)["request_id"], decision="go")
    assert "cost limit of $0.4" in client.until("error")["message"]
    client.until("done")
    assert client.types.count("permit_request") == 1


def test_closed_stdin_permits_no_further_call(rpc: Start, serve: Any) -> None:
    server = serve([Say("never")])
    client = begun(rpc)
    asked(client)
    client.end_input()
    assert "the client disconnected" in client.until("error")["message"]
    assert client.exit_code() == 0 and not server.requests


def test_abort_ends_permit_wait_and_settles_open_calls(rpc: Start, serve: Any) -> None:
    serve([Slow(Say("word " * 600), 0.1), Say("x")], repeat=True)
    client = begun(rpc)
    client.ask("permit", request_id=asked(client)["request_id"], decision="go")
    client.until("text_delta")
    client.ask("abort")
    settled = client.until("permit_settled")
    assert settled["outcome"] == "failed" and settled["usd"] > 0  # its input was read
    client.until("done")
    client.send("prompt", message="again")
    waiting = asked(client)
    client.ask("abort")
    client.until("done")
    assert not client.ask("permit", request_id=waiting["request_id"], decision="go")["success"]


def test_client_without_permits_is_not_asked(rpc: Start, serve: Any) -> None:
    serve([Say("done")])
    client = rpc()
    client.prompt("hi")
    assert "permit_request" not in client.types
    assert "announce" in client.ask("permit", request_id="permit-1", decision="go")["error"]
