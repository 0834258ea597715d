"""Agents that a model starts: real workers, a scripted model that calls the tools."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Turn
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.swarm_home import SwarmHome

TASKS = ("agent one", "agent two")


def texts(request: SeenRequest) -> list[str]:
    """Messages and tool results, oldest first."""
    found: list[str] = []
    for message in request.json["messages"]:
        content = message.get("content") or ""
        if message["role"] in ("user", "tool"):
            found.append(content if isinstance(content, str) else "".join(part.get("text", "") for part in content))
    return found


def model(request: SeenRequest) -> Turn:
    """``spawn`` starts two agents; ``bad`` one that cannot be; ``wait`` starts one and waits; an agent answers."""
    said = texts(request)
    if said[-1].startswith("agent"):
        return Say(f"did {said[-1]}")
    if said[-1] == "spawn":
        return CallTools([("swarm_spawn", {"task": task, "mode": "shared"}) for task in TASKS])
    if said[-1] == "mixed":
        bad = {"task": "agent bad", "provider": "nowhere"}
        return CallTools([("swarm_spawn", bad), ("swarm_spawn", {"task": TASKS[0], "mode": "shared"})])
    if said[-1] == "wait":
        return CallTools([("swarm_spawn", {"task": TASKS[0], "name": "first", "mode": "shared"})])
    if "wait" in said and "its id is" in said[-1]:
        return CallTools([("agent_wait", {"ids": ["first"]})])
    return Say("all told: " + said[-1])


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer([model], repeat=True) as one:
        yield one


@pytest.fixture
def home(zot: Zot, server: FakeModelServer) -> Iterator[SwarmHome]:
    found = SwarmHome(zot, server.url)
    yield found
    found.close()


def asked(server: FakeModelServer) -> list[SeenRequest]:
    return [request for request in server.requests if request.method == "POST"]


def tools_of(request: SeenRequest) -> set[str]:
    return {tool["function"]["name"] for tool in request.json.get("tools", ())}


def updates(server: FakeModelServer) -> list[str]:
    """The messages about agents that the conversation got, each once."""
    return [text for text in texts(asked(server)[-1]) if text.startswith("[auto-swarm update]")]


def test_swarm_tools_are_off_by_default_and_in_workers(home: SwarmHome, server: FakeModelServer) -> None:
    """iface-270: workers cannot start workers by default."""
    assert home.zot("-p", "hello", model=False).code == 0
    assert not {"swarm_spawn", "agent_wait"} & tools_of(asked(server)[-1])
    ran = home.zot("-p", "spawn", "--tools", "read,swarm", model=False)
    assert ran.code == 0, ran.err
    mine = [tools_of(request) for request in asked(server) if texts(request)[0] == "spawn"]
    theirs = [tools_of(request) for request in asked(server) if texts(request)[0].startswith("agent")]
    assert mine and all("swarm_spawn" in tools for tools in mine)
    assert theirs and not any("swarm_spawn" in tools for tools in theirs)


def test_two_agents_lead_to_one_message_after_both_have_ended(home: SwarmHome, server: FakeModelServer) -> None:
    """iface-301: two `swarm_spawn` calls lead to exactly one `[auto-swarm update]` after both ended."""
    ran = home.zot("-p", "spawn", "--tools", "swarm", model=False)
    assert ran.code == 0, ran.err
    (update,) = updates(server)
    assert update.count("status: completed") == 2 and all(f"did {task}" in update for task in TASKS)
    assert ran.out.startswith("all told: [auto-swarm update]")


def test_also_when_one_failed_at_its_start(home: SwarmHome, server: FakeModelServer) -> None:
    """iface-301: … also when one failed at start."""
    ran = home.zot("-p", "mixed", "--tools", "swarm", model=False)
    assert ran.code == 0, ran.err
    (update,) = updates(server)
    assert "did agent one" in update
    assert any("nowhere" in text for text in texts(asked(server)[-1]))


def test_awaited_worker_is_not_reported_again(home: SwarmHome, server: FakeModelServer) -> None:
    ran = home.zot("-p", "wait", "--tools", "swarm", model=False)
    assert ran.code == 0 and "final response:\ndid agent one" in ran.out, ran.err
    assert updates(server) == []


def test_no_worker_starts_when_approval_has_no_user(home: SwarmHome) -> None:
    """Every start passes the gate."""
    home.zot("-p", "spawn", "--tools", "swarm", "--permission-mode", "ask", model=False)
    assert json.loads(home("list", "--all", "--json").out)["workers"] == []


def test_disabling_auto_swarm_removes_tools_from_next_request(home: SwarmHome, server: FakeModelServer) -> None:
    """iface-302: switching auto-swarm off removes `swarm_spawn` from the next request."""
    settings = home.home / "config.json"
    values = json.loads(settings.read_text())
    settings.write_text(json.dumps({**values, "model_can_start_agents": True}))
    assert home.zot("-p", "hello", model=False).code == 0
    assert "swarm_spawn" in tools_of(asked(server)[-1])
    settings.write_text(json.dumps(values))
    assert home.zot("-p", "hello", model=False).code == 0
    assert "swarm_spawn" not in tools_of(asked(server)[-1])


def test_model_waits_for_workers_over_rpc(home: SwarmHome, server: FakeModelServer) -> None:
    client = FakeRpcClient(home.zot.argv(["rpc", "--tools", "swarm"]), home.zot.env(), home.zot.project)
    try:
        events = client.prompt("wait")
        assert any("did agent one" in str(event) for event in events if event["type"] == "tool_result")
        assert client.close() == 0
    finally:
        client.kill()
