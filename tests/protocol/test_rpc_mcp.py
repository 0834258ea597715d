"""MCP servers over RPC: listed without starting them, and events for state changes."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.conftest import Zot, serve, zot
from tests.e2e.test_mcp import ECHO, FIND, configure, mine
from tests.fakes.mcp_server import command
from tests.fakes.model_server import CallTools, Say
from tests.fakes.rpc_client import FakeRpcClient

__all__ = ["serve", "zot"]


def rpc(zot: Zot) -> FakeRpcClient:
    return FakeRpcClient(zot.argv(["rpc", *zot.endpoint(True)]), zot.env(), zot.project)


def servers(client: FakeRpcClient) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in client.ask("get_mcp_servers")["data"]["servers"]}


def test_servers_are_listed_without_starting_them(zot: Zot, serve: Any) -> None:
    journal = zot.home / "journal"
    mine(zot, fake=command(journal=str(journal)))
    configure(zot.project / ".mcp.json", theirs=command())
    zot("mcp", "test", "fake", model=False)
    before = journal.read_text()
    serve([])
    rows = servers(rpc(zot))
    assert rows["theirs"]["state"] == "not trusted" and rows["theirs"]["origin"] == "project"
    fake = rows["fake"]
    assert fake["state"] == "off" and fake["tools"] == 20 and fake["tokens"] > 100 and fake["known"]
    assert "mcp_server.py" in fake["shown"] and journal.read_text() == before


def test_a_run_without_servers_has_none(zot: Zot, serve: Any) -> None:
    serve([])
    assert servers(rpc(zot)) == {}


def test_server_start_failure_and_exit_are_reported(zot: Zot, serve: Any) -> None:
    mine(zot, fake=command(), broken={"command": "no-such-program"})
    die = CallTools([("mcp__fake__die", {})])
    serve([CallTools([("mcp_search", {"query": "echo,die"})]), ECHO, die, Say("done")])
    client = rpc(zot)
    seen: dict[str, list[str]] = {}
    for event in client.prompt("hi"):
        if event["type"] == "mcp_state":
            server = event["server"]
            seen.setdefault(server["name"], []).append(server["state"])
    assert seen["fake"][:2] == ["starting", "ready"] and seen["broken"] == ["starting", "failed"]
    assert seen["fake"][-1] == "off"
    rows = servers(client)
    assert rows["broken"]["state"] == "failed" and "not found on PATH: 'no-such-program'" in rows["broken"]["error"]
    assert rows["fake"]["state"] == "off" and "exited" in rows["fake"]["error"]


def test_json_mode_has_server_events(zot: Zot, serve: Any) -> None:
    mine(zot)
    serve([FIND, ECHO, Say("done")])
    ran = zot("--json", "hi")
    told = [event["server"] for event in map(json.loads, ran.out.splitlines()) if event["type"] == "mcp_state"]
    assert [row["state"] for row in told][:2] == ["starting", "ready"] and told[-1]["tools"] == 20
    assert ran.events[-1]["type"] == "done"
