"""Elicitation over RPC: sent to a client that announced it, otherwise declined."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Zot, serve, zot
from tests.e2e.test_mcp import last_result, mine
from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient

__all__ = ["serve", "zot"]

LOOK = CallTools([("mcp_search", {"query": "ask"})])
ASK = CallTools([("mcp__fake__ask", {})])
OPEN = CallTools([("mcp__fake__ask", {"url": "https://login.example/x"})])


def client_of(zot: Zot, *capabilities: str) -> FakeRpcClient:
    client = FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)
    client.ask("hello", protocol_version=1, capabilities=list(capabilities))
    return client


def answer_of(server: Any) -> str:
    return last_result(server.requests[2]).replace("\\", "")


@pytest.mark.parametrize("era", ["modern", "classic"])
def test_client_answer_reaches_the_server(zot: Zot, serve: Any, era: str) -> None:
    mine(zot, fake=command(era=era))
    server = serve([LOOK, ASK, Say("done")])
    client = client_of(zot, "elicitation")
    client.send("prompt", message="hi")
    asked = client.until("elicitation_request")
    assert (asked["server"], asked["message"]) == ("fake", "Who are you?")
    assert asked["fields"] == [
        {"name": "name", "kind": "text", "title": "Your name", "required": True},
        {"name": "age", "kind": "integer"},
    ]
    number = asked["request_id"]
    wrong = client.ask("answer_elicitation", request_id=number, action="accept", content={"age": 3})
    assert not wrong["success"] and wrong["error"] == "missing fields: name"
    assert client.ask("answer_elicitation", request_id=number, action="accept", content={"name": "Ada", "x": 1})[
        "success"
    ]
    client.until("done")
    assert '"action": "accept", "content": {"name": "Ada"}' in answer_of(server)
    assert not client.ask("answer_elicitation", request_id=number, action="decline")["success"]


def test_an_address_is_shown_and_declined(zot: Zot, serve: Any) -> None:
    mine(zot)
    server = serve([LOOK, OPEN, Say("done")])
    client = client_of(zot, "elicitation")
    client.send("prompt", message="hi")
    asked = client.until("elicitation_request")
    assert asked["url"] == "https://login.example/x" and "fields" not in asked
    client.ask("answer_elicitation", request_id=asked["request_id"], action="decline")
    client.until("done")
    assert '"action": "decline"' in answer_of(server)


def test_client_without_elicitations_is_not_asked(zot: Zot, serve: Any) -> None:
    mine(zot)
    server = serve([LOOK, ASK, Say("done")])
    client = client_of(zot)
    client.prompt("hi")
    assert '"action": "cancel"' in answer_of(server)
    assert not client.ask("answer_elicitation", request_id="elicitation-1", action="accept")["success"]


@pytest.mark.parametrize("era", ["modern", "classic"])
def test_an_abort_ends_the_question(zot: Zot, serve: Any, era: str) -> None:
    mine(zot, fake=command(era=era))
    serve([LOOK, ASK, Say("done")])
    client = client_of(zot, "elicitation")
    client.send("prompt", message="hi")
    asked = client.until("elicitation_request")
    client.ask("abort")
    client.until("done")
    late = client.ask("answer_elicitation", request_id=asked["request_id"], action="decline")
    assert "is open" in late["error"]
