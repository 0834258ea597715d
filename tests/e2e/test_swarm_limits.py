"""Workers and the limits of the run that starts them, through real processes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_swarm_tools import asked, model, texts, tools_of
from tests.fakes.model_server import FakeModelServer, Say, SeenRequest, Silent
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.swarm_home import SwarmHome

OWN_KEY = "key-of-a-private-server-9876543210"
LIMITS = ("--no-ext", "--no-mcp", "--insecure", "--temperature", "0.5", "--permission-limit")


@pytest.fixture
def vendor() -> Iterator[FakeModelServer]:
    """Where a key goes that is not sent to ``--base-url``."""
    with FakeModelServer([model], repeat=True) as one:
        yield one


@pytest.fixture
def private() -> Iterator[FakeModelServer]:
    with FakeModelServer([model], repeat=True) as one:
        yield one


@pytest.fixture
def home(zot: Zot, vendor: FakeModelServer) -> Iterator[SwarmHome]:
    found = SwarmHome(zot, vendor.url)
    yield found
    found.close()


def rpc(home: SwarmHome, *flags: str) -> FakeRpcClient:
    return FakeRpcClient(home.zot.argv(["rpc", *flags]), home.zot.env(), home.zot.project)


def at_private(server: FakeModelServer) -> tuple[str, ...]:
    return ("--base-url", f"{server.url}/v1", "--api-key", OWN_KEY)


def of_agents(server: FakeModelServer) -> list[SeenRequest]:
    return [request for request in asked(server) if texts(request)[0].startswith("agent")]


def check_limits(home: SwarmHome, vendor: FakeModelServer, private: FakeModelServer, limit: str) -> None:
    """The only worker asked the private server with the private key, had one tool, and recorded no key."""
    (request,) = of_agents(private)
    assert request.headers["authorization"] == f"Bearer {OWN_KEY}"
    assert tools_of(request) == {"read"} and request.json["temperature"] == 0.5
    assert asked(vendor) == []
    (place,) = (home.home / "swarm" / "agents").iterdir()
    config = json.loads((place / "meta.json").read_text())["order"]["config"]
    assert config["insecure"] and not config["installed_extensions"] and not config["mcp"]
    assert config["permission_limit"] == limit
    assert config.get("permission_mode", "everything") == limit
    files = [path for path in place.rglob("*") if path.is_file()]
    assert not any(OWN_KEY.encode() in path.read_bytes() for path in files)


def test_worker_started_over_rpc_inherits_limits(
    home: SwarmHome, vendor: FakeModelServer, private: FakeModelServer
) -> None:
    client = rpc(home, *at_private(private), "--tools", "read", *LIMITS, "accept-edits")
    try:
        worker = client.ask("swarm_start", task="agent one", mode="shared", write=True, once=True)["data"]["worker"]
        assert home.until(worker["id"], "done", "failed")["status"] == "done"
    finally:
        client.kill()
    check_limits(home, vendor, private, "accept-edits")


def test_worker_started_by_model_inherits_limits(
    home: SwarmHome, vendor: FakeModelServer, private: FakeModelServer
) -> None:
    flags = ("--tools", "read,swarm", *LIMITS, "everything")
    ran = home.zot("-p", "wait", *at_private(private), *flags, model=False)
    assert ran.code == 0 and "did agent one" in ran.out, ran.err
    (worker,) = json.loads(home("list", "--all", "--json").out)["workers"]
    assert worker["status"] in ("done", "idle")
    check_limits(home, vendor, private, "everything")


def test_key_and_configuration_are_only_in_the_pipe(home: SwarmHome) -> None:
    with FakeModelServer([Silent(Say("never"), 0)], repeat=True) as slow:
        client = rpc(home, *at_private(slow), "--append-system-prompt", "p" * 100_000)
        try:
            worker = client.ask("swarm_start", task="agent one", mode="shared")["data"]["worker"]["id"]
            home.seen_at(worker, "turn_start")
            pid = home.record(worker)["pid"]
            for name in ("cmdline", "environ"):
                data = Path(f"/proc/{pid}/{name}").read_bytes()
                assert OWN_KEY.encode() not in data and b"p" * 100 not in data
            assert b"rpc\0--config-fd" in Path(f"/proc/{pid}/cmdline").read_bytes()
        finally:
            client.kill()
            home("stop", "--all")


@pytest.mark.parametrize(
    ("flags", "fields", "limit"),
    [
        (("--permission-mode", "plan"), {"permission_mode": "everything"}, "at most plan"),
        (("--tools", "read"), {"tools": ["read", "bash"], "write": True}, "--tools read"),
        (("--no-tools",), {"tools": ["read"]}, "--tools none"),
        (("--jail",), {"cwd": "/"}, "--jail"),
        (("--base-url", "http://127.0.0.1:9/v1"), {"provider": "openai"}, "--base-url"),
        (("--max-cost", "0.5"), {"max_cost": 1.0}, "--max-cost"),
    ],
)
def test_request_for_more_is_refused(
    home: SwarmHome, flags: tuple[str, ...], fields: dict[str, Any], limit: str
) -> None:
    client = rpc(home, *flags)
    try:
        refused = client.ask("swarm_start", task="agent one", mode="shared", **fields)
        assert not refused["success"] and limit in refused["error"], refused
        assert client.ask("swarm_list", all=True)["data"]["workers"] == []
    finally:
        client.kill()


def test_record_of_an_older_version_resumes(home: SwarmHome, vendor: FakeModelServer) -> None:
    """Older versions recorded flags one by one."""
    worker = home.start("agent one", "--shared", "--once", "--tools", "read")
    home.until(worker, "done")
    home.until_nothing_runs()
    record = home.record(worker)
    config = record["order"].pop("config")
    record["order"] |= {"provider": config["provider"], "model": config["model"], "tools": config["tools"]}
    (home.place(worker) / "meta.json").write_text(json.dumps(record))
    ran = home("resume", worker)
    assert ran.code == 0, ran.err
    assert home("send", worker, "agent two").code == 0
    home.until(worker, "idle", "done")
    last = of_agents(vendor)[-1]
    assert texts(last)[-1] == "agent two" and tools_of(last) == {"read"}
    assert os.path.exists(home.place(worker) / "session.json")
