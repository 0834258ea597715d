"""Workers and the limits of the run that starts them, through real processes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attack.workers import DENIES
from tests.e2e.conftest import Zot
from tests.e2e.test_swarm_tools import asked, model, texts, tools_of
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, FakeModelServer, Say, SeenRequest, Silent, Turn
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.swarm_home import SwarmHome
from tests.unit.swarm.repositories import git

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


def make_repository(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")


def check_limits(home: SwarmHome, vendor: FakeModelServer, private: FakeModelServer, limit: str) -> None:
    """The only worker used the private server and key, had one tool, and recorded no key."""
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


# --- who controls a worker


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "swarm_send", "text": "agent two"},
        {"command": "swarm_resume"},
        {"command": "swarm_stop"},
        {"command": "swarm_get"},
        {"command": "swarm_diff"},
        {"command": "swarm_merge"},
        {"command": "swarm_remove", "force": True},
        {"command": "swarm_subscribe", "past": True},
        {"command": "swarm_approve", "request_id": "1", "decision": "all"},
    ],
    ids=lambda fields: fields["command"],
)
def test_client_cannot_reach_worker_of_another_run(
    home: SwarmHome, vendor: FakeModelServer, fields: dict[str, Any]
) -> None:
    worker = home.start("agent one", "--shared")
    home.until(worker, "idle")
    client = rpc(home)
    try:
        rest = {name: value for name, value in fields.items() if name != "command"}
        refused = client.ask(fields["command"], worker=worker, **rest)
        assert not refused["success"] and "did not start it" in refused["error"], refused
        assert "--all-workers" in refused["error"]
        assert [row["id"] for row in client.ask("swarm_list")["data"]["workers"]] == [worker]
        stopped = client.ask("swarm_stop", all=True)["data"]["workers"]
        assert stopped == [] and home.record(worker)["status"] == "idle"
    finally:
        client.kill()
        home("stop", "--all")


def test_flag_allows_client_to_reach_every_worker(home: SwarmHome, vendor: FakeModelServer) -> None:
    worker = home.start("agent one", "--shared")
    home.until(worker, "idle")
    client = rpc(home, "--all-workers")
    try:
        assert client.ask("swarm_get", worker=worker)["success"]
        assert client.ask("swarm_send", worker=worker, text="agent two")["success"]
        home.until(worker, "idle")
    finally:
        client.kill()
        home("stop", "--all")
    assert texts(of_agents(vendor)[-1])[-1] == "agent two"


@pytest.mark.parametrize(
    ("flags", "limit"),
    [
        (("--permission-mode", "plan", "--permission-limit", "plan"), "--permission-mode"),
        (("--permission-mode", "ask"), "--permission-mode"),
        (("--tools", "read"), "--tools read"),
        (("--no-tools",), "--tools none"),
        (("--jail",), "--jail"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_client_cannot_direct_worker_with_more_rights(home: SwarmHome, flags: tuple[str, ...], limit: str) -> None:
    worker = home.start("agent one", "--shared", "--write")
    home.until(worker, "idle")
    client = rpc(home, "--all-workers", *flags)
    try:
        for command, fields in (("swarm_send", {"text": "agent two"}), ("swarm_resume", {})):
            refused = client.ask(command, worker=worker, **fields)
            assert not refused["success"] and limit in refused["error"], refused
    finally:
        client.kill()
        home("stop", "--all")


# --- money


def test_budget_of_another_run_cannot_be_changed(home: SwarmHome) -> None:
    first = rpc(home)
    second = rpc(home)
    try:
        assert first.ask("swarm_budget", swarm="mine", max_cost=1.0)["success"]
        started = first.ask("swarm_start", task="agent one", mode="shared", swarm="mine", once=True)
        assert started["success"], started
        refused = second.ask("swarm_budget", swarm="mine", max_cost=100.0)
        assert not refused["success"] and "did not make it" in refused["error"]
        refused = second.ask("swarm_start", task="agent two", mode="shared", swarm="mine")
        assert not refused["success"] and "did not make it" in refused["error"]
    finally:
        first.kill()
        second.kill()
        home("stop", "--all")


@pytest.mark.parametrize("amount", [-5, -0.01])
def test_negative_budget_is_refused(home: SwarmHome, amount: float) -> None:
    client = rpc(home)
    try:
        refused = client.ask("swarm_budget", swarm="mine", max_cost=amount)
        assert not refused["success"] and "cannot be negative" in refused["error"]
    finally:
        client.kill()


def test_workers_of_a_limited_run_share_its_limit(home: SwarmHome) -> None:
    client = rpc(home, "--max-cost", "0.5")
    try:
        for fields in ({"command": "swarm_budget", "swarm": "other"}, {"command": "swarm_start", "swarm": "other"}):
            command = str(fields.pop("command"))
            refused = client.ask(command, **({"task": "agent one"} if command == "swarm_start" else {}), **fields)
            assert not refused["success"] and "cost limit" in refused["error"], refused
        started = client.ask("swarm_start", task="agent one", mode="shared", once=True)["data"]["worker"]
        assert started["swarm"].startswith("chat-")
    finally:
        client.kill()
        home("stop", "--all")


# --- merging


@pytest.mark.parametrize(
    ("flags", "fields", "text"),
    [
        (("--permission-mode", "plan"), {}, "cannot merge"),
        (("--tools", "read"), {}, "--tools read"),
        (("--permission-mode", "accept-edits"), {"check": "true"}, "cannot run the check"),
        (("--tools", "read,write"), {"check": "true"}, "cannot run the check"),
    ],
    ids=["plan", "tools", "check in accept-edits", "check without bash"],
)
def test_merge_respects_run_limits(home: SwarmHome, flags: tuple[str, ...], fields: dict[str, Any], text: str) -> None:
    make_repository(home.zot.project)
    worker = home.start("agent one", "--worktree", "--once")
    home.until(worker, "done")
    client = rpc(home, "--all-workers", *flags)
    try:
        refused = client.ask("swarm_merge", worker=worker, **fields)
        assert not refused["success"] and text in refused["error"], refused
    finally:
        client.kill()


def test_check_runs_in_the_jail(home: SwarmHome, tmp_path: Path) -> None:
    make_repository(home.zot.project)
    outside = tmp_path / "outside"
    worker = home.start("agent one", "--worktree", "--once")
    home.until(worker, "done")
    tree = Path(home.record(worker)["tree"]["path"])
    (tree / "new.txt").write_text("made by the worker\n")
    failed = home("merge", worker, "--check", f"test -f new.txt && echo escaped > {outside} && false")
    assert failed.code == 1 and "check failed" in failed.out + failed.err
    assert not outside.exists()
    assert home("merge", worker, "--check", "test -f new.txt").code == 0


# --- guards


def acting(request: SeenRequest) -> Turn:
    """``spawn`` starts an agent; an agent runs one command and returns its result."""
    said = texts(request)
    if said[-1] == "spawn":
        return CallTools([("swarm_spawn", {"task": "agent one", "mode": "worktree"})])
    if said[-1].startswith("agent"):
        return CallTools([("bash", {"command": "echo it ran"})])
    return Say("result: " + said[-1])


@pytest.fixture
def actor(home: SwarmHome) -> Iterator[FakeModelServer]:
    with FakeModelServer([acting], repeat=True) as one:
        yield one


def spawned(home: SwarmHome, actor: FakeModelServer, *flags: str) -> str:
    """The result of the command of an agent that the model started."""
    ran = home.zot("-p", "spawn", "--base-url", f"{actor.url}/v1", "--api-key", OWN_KEY, *flags, model=False)
    assert ran.code == 0, ran.err
    return texts(of_agents(actor)[-1])[-1]


def test_worker_of_a_model_runs_without_guards_if_there_are_none(home: SwarmHome, actor: FakeModelServer) -> None:
    make_repository(home.zot.project)
    assert "it ran" in spawned(home, actor, "--tools", "bash,swarm")


def test_explicit_guard_applies_to_workers(home: SwarmHome, actor: FakeModelServer, tmp_path: Path) -> None:
    make_repository(home.zot.project)
    guard = write_extension(tmp_path / "ext", "guard", DENIES, guard=True)
    assert "the guard said no" in spawned(home, actor, "--tools", "bash,swarm", "--ext", str(guard))


def test_trusted_project_guard_applies_to_workers(home: SwarmHome, actor: FakeModelServer) -> None:
    """It is not committed: the worker's tree does not have it."""
    make_repository(home.zot.project)
    write_extension(home.zot.project / ".zot" / "extensions", "guard", DENIES, guard=True)
    assert home.zot("ext", "trust", model=False).code == 0
    assert "the guard said no" in spawned(home, actor, "--tools", "bash,swarm")


def test_guard_that_cannot_run_in_a_worker_denies(home: SwarmHome, actor: FakeModelServer) -> None:
    write_extension(home.home / "extensions", "guard", DENIES, guard=True)
    client = rpc(home, *at_private(actor))
    try:
        fields = {"mode": "shared", "write": True, "once": True, "extensions": False}
        worker = client.ask("swarm_start", task="agent one", **fields)["data"]["worker"]["id"]
        home.until(worker, "done", "failed")
    finally:
        client.kill()
    assert "this guard of the session that started the worker cannot run here" in texts(of_agents(actor)[-1])[-1]


@pytest.mark.parametrize("command", [".claude/deny.sh", "$CLAUDE_PROJECT_DIR/.claude/deny.sh", "sh .claude/deny.sh"])
def test_trusted_project_hooks_apply_to_workers(home: SwarmHome, actor: FakeModelServer, command: str) -> None:
    project = home.zot.project
    make_repository(project)
    (project / ".claude").mkdir()
    (project / ".claude" / "deny.sh").write_text("#!/bin/sh\necho the hook said no >&2\nexit 2\n")
    (project / ".claude" / "deny.sh").chmod(0o755)
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}
    (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    assert home.zot("hooks", "trust", model=False).code == 0
    assert "the hook said no" in spawned(home, actor, "--tools", "bash,swarm")


def test_hooks_that_cannot_run_in_a_worker_deny(home: SwarmHome, actor: FakeModelServer) -> None:
    """The file is gone when the worker is continued."""
    hooks = {"PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": "exit 0"}]}]}
    (home.home / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    client = rpc(home, *at_private(actor))
    try:
        fields = {"mode": "shared", "write": True, "once": True}
        worker = client.ask("swarm_start", task="agent one", **fields)["data"]["worker"]["id"]
        home.until(worker, "done")
        assert "it ran" in texts(of_agents(actor)[-1])[-1]
        (home.home / "hooks.json").unlink()
        assert client.ask("swarm_resume", worker=worker)["success"]
        assert client.ask("swarm_send", worker=worker, text="agent two")["success"]
        home.until(worker, "idle", "done")
    finally:
        client.kill()
        home("stop", "--all")
    assert "hooks of $ZOT_HOME/hooks.json run in the session" in texts(of_agents(actor)[-1])[-1]
